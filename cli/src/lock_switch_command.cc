// SPDX-License-Identifier: Apache-2.0
// `oncemq lock switch`: where a switch stands, and how one begins or is called off.
#include <iostream>
#include <optional>
#include <utility>

#include "audit.h"
#include "exit_code.h"
#include "lock_target.h"
#include "oncemq/base/clock.h"
#include "oncemq/locks/switched_locks.h"
#include "switch_target.h"
#include "switch_text.h"

namespace oncemq {
namespace {

constexpr milliseconds kPollInterval{1'000};  // of a watch

Result<std::shared_ptr<SwitchedLocks>> OpenSwitched(const LockArguments& arguments) {
  auto target = SwitchTargetOf(arguments);
  return target ? OpenBegun(*std::move(target), WithoutVote()) : target.error();
}

// False: the output is closed.
bool PrintSwitch(const LockSwitch& state, const LockArguments& arguments) {
  std::cout << (arguments.json ? SwitchJson(state) : SwitchText(state, arguments.watch))
            << std::flush;
  return std::cout.good();
}

// `first`: the state that a change has left; none: a look.
void ReportSwitch(SwitchedLocks& locks, std::optional<LockSwitch> first,
                  const LockArguments& arguments) {
  const auto read = [&] { return first ? *std::exchange(first, std::nullopt) : locks.Progress(); };
  if (!arguments.watch) {
    PrintSwitch(read(), arguments);
    return;
  }
  WatchSwitch(
      read, [] { SleepFor(kPollInterval); },
      [&](const LockSwitch& state) { return PrintSwitch(state, arguments); });
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
  if (arguments.watch && arguments.first_epoch > 0) {
    std::cerr << "oncemq: --watch follows a switch, and --first-epoch begins none\n";
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
    ReportSwitch(**locks, std::nullopt, arguments);
    return kExitDone;
  }
  const std::string what = to ? arguments.name : arguments.next ? "next" : "call off";
  const auto unless = arguments.planned_only ? UnlessPlanned::kRefuse : UnlessPlanned::kDrain;
  const auto change = [&] {
    return to               ? (*locks)->SwitchTo(arguments.name, arguments.why, unless)
           : arguments.next ? (*locks)->SwitchToNext(arguments.why, unless)
                            : (*locks)->CallOff(arguments.why);
  };
  const auto state = Audited("lock switch", what, "", change, [](const auto& done) {
    return done ? "epoch " + std::to_string(done->epoch) : ToString(done.error());
  });
  if (!state) {
    return LockFailed(state.error());
  }
  ReportSwitch(**locks, *state, arguments);
  return kExitDone;
}

}  // namespace oncemq
