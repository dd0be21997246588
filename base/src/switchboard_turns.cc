// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "oncemq/base/log.h"
#include "oncemq/base/mutant.h"
#include "oncemq/base/wait_until.h"
#include "switchboard_parts.h"

namespace oncemq {
namespace {

// In a configuration lease: often enough that two questions in a row may be lost.
constexpr int kLooks = 4;
constexpr milliseconds kAfterFailure{50};

}  // namespace

void Switchboard::Parts::Run() {
  for (;;) {
    {
      MutexLock lock(mutex);
      if (ending) {
        return;
      }
    }
    Turn();
    Wait();
  }
}

void Switchboard::Parts::Turn() {
  if (const Status read = Read(); !read) {
    Log(LogLevel::kWarn, "switchboard", "the record cannot be read",
        {{"error", ToString(read.error())}});
    return;
  }
  const BootTime now = clock.Boot();
  EndWhatIsDue(now);
  if (options.automatic) {
    Vote(now);
  }
}

// Everybody may, so the switch ends though whoever began it is gone.
void Switchboard::Parts::EndWhatIsDue(BootTime now) {
  SwitchRecord meant;
  {
    MutexLock lock(mutex);
    if (!copy.may_end_at() || now < *copy.may_end_at()) {
      return;
    }
    meant = copy.record();
  }
  const auto ended = Change([&](const SwitchRecord& record) -> Result<SwitchRecord> {
    if (record != meant) {
      return Error{Code::kFenced, Effect::kNone, "somebody was quicker"};
    }
    return EndSwitch(record, "the wait is over");
  });
  if (!ended && ended.error().code != Code::kFenced) {
    Log(LogLevel::kWarn, "switchboard", "a switch could not be ended",
        {{"error", ToString(ended.error())}});
  }
}

// Whoever can reach the store in force keeps out of it, whatever the others vote.
void Switchboard::Parts::Vote(BootTime now) {
  SwitchRecord record;
  bool long_enough = false;
  bool leaves = false;
  {
    MutexLock lock(mutex);
    record = copy.record();
    long_enough = now - copy.seen_at() >= options.dwell;
    const auto breaker = breakers.find(record.from);
    leaves =
        record.mode == SwitchMode::kSingle && breaker != breakers.end() && breaker->second.open();
  }
  const auto quorum = ballot.Hold(record.epoch, leaves, record.config_lease, now);
  if (!quorum || !*quorum || !leaves || !long_enough || options.stores.size() < 2) {
    return;
  }
  const auto to = Target(record);
  if (!to) {
    return;
  }
  const auto begun = Change([&](const SwitchRecord& at) -> Result<SwitchRecord> {
    if (at != record) {
      return Error{Code::kFenced, Effect::kNone, "somebody was quicker"};
    }
    return BeginSwitch(at, *to, SwitchMode::kDrain, "voted by a quorum");
  });
  Log(LogLevel::kWarn, "switchboard", "a quorum leaves the store",
      {{"store", record.from}, {"for", *to}, {"error", begun ? "" : ToString(begun.error())}});
}

// V4. The stores are asked aside; an answer wakes this thread.
std::optional<std::string> Switchboard::Parts::Target(const SwitchRecord& record) {
  if (ONCEMQ_MUTANT("switches-to-the-unasked")) {
    return After(record.from);
  }
  if (auto answers = TakeFound(record)) {
    return answers;
  }
  {
    MutexLock lock(mutex);
    if (asking) {
      return std::nullopt;
    }
    asking = true;
  }
  RunAside([this, record] { AskAround(record); });
  return TakeFound(record);
}

// Each answer counts once, and as long as a copy of the record.
std::optional<std::string> Switchboard::Parts::TakeFound(const SwitchRecord& record) {
  MutexLock lock(mutex);
  const auto answer = std::exchange(found, std::nullopt);
  if (!answer || answer->epoch != record.epoch ||
      clock.Boot() - answer->asked_at >= record.config_lease) {
    return std::nullopt;
  }
  return answer->store;
}

// In order, from the one behind the store in force; one that keeps failing is asked now and then.
void Switchboard::Parts::AskAround(const SwitchRecord& record) {
  std::optional<Found> answer;
  std::string name = After(record.from);
  for (size_t i = 0; i < options.stores.size() && !answer; i++, name = After(name)) {
    if (name == record.from || !Lets(name)) {
      continue;
    }
    const BootTime asked_at = clock.Boot();
    const Status said = options.probe(name);
    Report(name, said.has_value());
    if (said) {
      answer = Found{record.epoch, name, asked_at};
    }
  }
  if (!answer) {
    Log(LogLevel::kWarn, "switchboard", "a quorum leaves the store, and no other one answers",
        {{"store", record.from}});
  }
  MutexLock lock(mutex);
  asking = false;
  found = answer;
  if (found) {
    nudge.request_stop();
  }
}

void Switchboard::Parts::Wait() {
  BootTime until = clock.Boot();
  uint64_t known = 0;
  std::stop_token nudged;
  {
    MutexLock lock(mutex);
    if (ending) {
      return;
    }
    const milliseconds lease =
        copy.record().epoch == 0 ? options.config_lease : copy.record().config_lease;
    until += lease / kLooks;
    if (copy.may_end_at()) {
      until = std::min(until, std::max(*copy.may_end_at(), clock.Boot()));
    }
    known = version;
    if (nudge.stop_requested()) {
      nudge = std::stop_source();
      return;
    }
    nudged = nudge.get_token();
  }
  if (!store->Await(known, until, nudged)) {
    const BootTime now = clock.Boot();
    WaitUntil(now + kAfterFailure, now, nudged);
  }
}

}  // namespace oncemq
