// SPDX-License-Identifier: Apache-2.0
// `oncemq lock switch --first-epoch`: brings a record back into force that was lost or went back.
#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>

#include "audit.h"
#include "exit_code.h"
#include "lock_target.h"
#include "oncemq/base/raise_record.h"
#include "safe_json.h"
#include "switch_target.h"

namespace oncemq {
namespace {

using nlohmann::ordered_json;

// What is refused by one of the stores would not be in force. One that does not answer is named:
// it may know better.
Status AboveAllStores(const SwitchedPlan& target, uint32_t epoch) {
  for (const NamedLocks& store : target.stores) {
    if (!store.capabilities.seals) {
      continue;
    }
    const auto engine = store.open();
    const auto sealed = engine ? (*engine)->Seal(0) : Result<uint32_t>(engine.error());
    if (!sealed) {
      std::cerr << "the store " << store.name << " does not say which epoch it knows; if that is "
                << epoch << " or later, it refuses: " << SafeText(ToString(sealed.error())) << "\n";
    } else if (*sealed >= epoch) {
      return Error{Code::kInvalid, Effect::kNone,
                   "the store " + store.name + " knows the epoch " + std::to_string(*sealed) +
                       " already: say a --first-epoch above that"};
    }
  }
  return {};
}

bool CanBeSealed(const SwitchedPlan& target, std::string_view name) {
  return std::any_of(target.stores.begin(), target.stores.end(), [&](const NamedLocks& store) {
    return store.name == name && store.capabilities.seals;
  });
}

// Nothing is there, or what is there is lower: else there is nothing to ask the stores.
bool IsBelow(SwitchStore& record, uint32_t epoch) {
  const auto text = record.Read();
  const auto there = text ? ParseSwitchRecord(text->text) : Result<SwitchRecord>(text.error());
  return !there || there->epoch < epoch;
}

void Print(const RaisedRecord& raised, bool json) {
  const SwitchRecord& now = raised.now;
  if (json) {
    ordered_json out{{"in_force", now.from},        {"target", now.to},
                     {"phase", ToString(now.mode)}, {"epoch", now.epoch},
                     {"was_epoch", nullptr},        {"longest_lease_ms", now.longest.count()}};
    if (raised.before) {
      out["was_epoch"] = raised.before->epoch;
    }
    std::cout << SafeJson(out) << "\n";
    return;
  }
  std::cout << now.from << " is in force, epoch " << now.epoch << ": "
            << (!raised.before          ? "there was no record, and one was begun"
                : *raised.before == now ? "it was so already, and nothing was changed"
                                        : "raised from " + std::to_string(raised.before->epoch))
            << (now.mode == SwitchMode::kSingle ? "" : "; the switch to " + now.to + " goes on")
            << "; leases up to " << now.longest.count() << " ms\n";
}

}  // namespace

int LockRaiseCommand(const LockArguments& arguments) {
  const auto target = SwitchTargetOf(arguments);
  if (!target) {
    return LockFailed(target.error());
  }
  if (IsBelow(*target->record, arguments.first_epoch)) {
    if (const Status above = AboveAllStores(*target, arguments.first_epoch); !above) {
      return LockFailed(above.error());
    }
  }
  RaiseOptions least{.epoch = arguments.first_epoch,
                     .longest = {},
                     .from = target->stores.front().name,
                     .why = arguments.why.empty() ? "raised by an operator" : arguments.why,
                     .seals = [&](std::string_view name) { return CanBeSealed(*target, name); }};
  if (arguments.longest > 0) {
    least.longest = std::chrono::seconds(arguments.longest);
  }
  const auto raised = Audited(
      "lock switch", "first epoch " + std::to_string(arguments.first_epoch), "",
      [&] { return RaiseRecord(*target->record, least); },
      [](const auto& done) {
        return done ? "epoch " + std::to_string(done->now.epoch) : ToString(done.error());
      });
  if (!raised) {
    return LockFailed(raised.error());
  }
  Print(*raised, arguments.json);
  if (raised->before != raised->now) {
    const milliseconds wait = HowLongToEnd(raised->now);
    std::cerr << "whoever held a name before the record was lost may believe in it for up to "
              << wait.count() << " ms behind the loss\n";
  }
  return kExitDone;
}

}  // namespace oncemq
