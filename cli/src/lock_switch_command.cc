// SPDX-License-Identifier: Apache-2.0
// `oncemq lock switch`: where a switch stands, and how one begins or is called off.
#include <iostream>
#include <nlohmann/json.hpp>
#include <utility>

#include "audit.h"
#include "exit_code.h"
#include "lock_place.h"
#include "oncemq/locks/switched_locks.h"
#include "safe_json.h"
#include "switch_place.h"

namespace oncemq {
namespace {

using nlohmann::ordered_json;

Result<std::shared_ptr<SwitchedLocks>> OpenSwitched(const LockArguments& arguments) {
  auto place = SwitchPlaceOf(arguments);
  return place ? OpenBegun(*std::move(place), WithoutVote()) : place.error();
}

void Print(const LockSwitch& told, bool json) {
  ordered_json out{{"in_force", told.in_force},
                   {"target", told.target},
                   {"phase", ToString(told.phase)},
                   {"epoch", told.epoch},
                   {"holds_left", nullptr},
                   {"left_ms", nullptr},
                   {"why", told.why}};
  if (told.holds_left) {
    out["holds_left"] = *told.holds_left;
  }
  if (told.left) {
    out["left_ms"] = told.left->count();
  }
  if (json) {
    std::cout << SafeJson(out) << "\n";
    return;
  }
  std::cout << told.in_force << " is in force, epoch " << told.epoch;
  if (told.phase != SwitchMode::kSingle) {
    std::cout << "; switching to " << told.target << " ("
              << (told.phase == SwitchMode::kBoth ? "planned: both grant"
                                                  : "drained: nothing is granted but to the fenced")
              << ")";
  }
  if (told.holds_left) {
    std::cout << ", " << *told.holds_left << " holds have not moved yet";
  }
  if (told.left) {
    std::cout << ", " << told.left->count() << " ms left at most, counted from this look";
  }
  if (!told.why.empty()) {
    std::cout << "; why: " << SafeText(told.why);
  }
  std::cout << "\n";
}

}  // namespace

int LockSwitchCommand(const LockArguments& arguments) {
  const bool to = !arguments.name.empty();
  if (static_cast<int>(to) + static_cast<int>(arguments.next) +
          static_cast<int>(arguments.call_off) + static_cast<int>(arguments.first_epoch > 0) >
      1) {
    std::cerr << "oncemq: a store, --next, --call-off or --first-epoch, one of them\n";
    return kExitUsage;
  }
  if (arguments.planned_only && !to && !arguments.next) {
    std::cerr << "oncemq: --planned-only is said with the store to switch to, or with --next\n";
    return kExitUsage;
  }
  if (arguments.first_epoch > 0) {
    return LockRaiseCommand(arguments);
  }
  const auto locks = OpenSwitched(arguments);
  if (!locks) {
    return LockFailed(locks.error());
  }
  if (!to && !arguments.next && !arguments.call_off) {
    Print((*locks)->Progress(), arguments.json);
    return kExitDone;
  }
  const std::string what = to ? arguments.name : arguments.next ? "next" : "call off";
  const auto unless = arguments.planned_only ? UnlessPlanned::kRefuse : UnlessPlanned::kDrain;
  const auto change = [&] {
    return to               ? (*locks)->SwitchEngine(arguments.name, arguments.why, unless)
           : arguments.next ? (*locks)->SwitchEngine(arguments.why, unless)
                            : (*locks)->CallOff(arguments.why);
  };
  const auto told = Audited("lock switch", what, "", change, [](const auto& done) {
    return done ? "epoch " + std::to_string(done->epoch) : ToString(done.error());
  });
  if (!told) {
    return LockFailed(told.error());
  }
  Print(*told, arguments.json);
  return kExitDone;
}

}  // namespace oncemq
