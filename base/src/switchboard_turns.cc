// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "oncemq/base/log.h"
#include "oncemq/base/wait_until.h"
#include "switchboard_parts.h"

namespace oncemq {
namespace {

// In a configuration lease: often enough that two questions in a row may be lost.
constexpr int kReadsPerLease = 4;
constexpr milliseconds kAfterFailure{50};
// In the shortest lease that is held, while its hold moves.
constexpr int kQuestions = 6;
constexpr milliseconds kBetweenQuestions{250};

}  // namespace

void Switchboard::Parts::Run() {
  while (!Ended()) {
    Turn();
    Wait();
  }
}

void Switchboard::Parts::Turn() {
  if (const Status read = Read(); !read) {
    if (!Ended()) {
      Log(LogLevel::kWarn, "switchboard", "the record cannot be read",
          {{"error", ToString(read.error())}});
    }
    return;
  }
  const BootTime now = clock.Boot();
  EndWhatIsDue(now);
  ProbeTarget();
  if (options.automatic) {
    if (options.stores.size() > 1) {
      ProbeInForce();
    }
    Vote(now);
  }
}

// Everybody may whom the target answers, so the switch ends though whoever began it is gone. The
// others leave it to those for a configuration lease; then nobody is, and it is called off.
void Switchboard::Parts::EndWhatIsDue(BootTime now) {
  SwitchRecord meant;
  bool dead = false;
  {
    MutexLock lock(mutex);
    if (!copy.may_end_at() || now < *copy.may_end_at() || !Knows(copy.record().to)) {
      return;
    }
    meant = copy.record();
    dead = now >= *copy.may_end_at() + meant.config_lease && in_vain == meant.epoch;
  }
  const bool answers = !options.probe || FirstToAnswer(meant, {meant.to});
  if (!answers && !dead) {
    return;
  }
  const auto end = [](const SwitchRecord& at) { return EndSwitch(at, "the wait is over"); };
  auto ended = answers ? ChangeFrom(meant, end)
                       : CallOff(meant, "the store " + meant.to + " does not answer");
  if (!ended && ended.error().code == Code::kInvalid) {
    ended = ChangeFrom(meant, end);  // what cannot be called off; it can be switched on from there
  }
  if (!ended && ended.error().code != Code::kFenced && !Ended()) {
    Log(LogLevel::kWarn, "switchboard", "a switch could not be ended",
        {{"error", ToString(ended.error())}});
  }
}

// V5. By the probe, aside, once for each turn in which nothing was reported of it.
void Switchboard::Parts::ProbeInForce() {
  std::string name;
  {
    MutexLock lock(mutex);
    name = copy.record().from;
    if (std::exchange(in_use, false) || probe_under_way || !Knows(name) ||
        copy.record().mode != SwitchMode::kSingle) {
      return;
    }
    probe_under_way = true;
  }
  RunAside([this, name] {
    if (Lets(name)) {
      Report(name, options.probe(name).has_value());
    }
    MutexLock lock(mutex);
    probe_under_way = false;
    in_use = false;  // that was nobody's call
  });
}

// By the probe, aside, once for each turn in which nothing was reported of it. Only a process that
// holds something asks: calling the switch off protects only its own holds.
void Switchboard::Parts::ProbeTarget() {
  if (!options.probe || !ShortestHeld()) {
    return;
  }
  SwitchRecord record;
  {
    MutexLock lock(mutex);
    record = copy.record();
    if (record.mode != SwitchMode::kBoth || std::exchange(in_use, false) || probe_under_way ||
        !Knows(record.to)) {
      return;
    }
    probe_under_way = true;
  }
  RunAside([this, record] {
    if (Lets(record.to)) {
      const BootTime requested_at = clock.Boot();
      const Status said = options.probe(record.to);
      Report(record.to, said.has_value());
      TargetSaid(TargetWatch::By::kQuestion, record, requested_at, said);
    }
    MutexLock lock(mutex);
    probe_under_way = false;
    in_use = false;  // that was nobody's call
  });
}

void Switchboard::Parts::TargetSaid(TargetWatch::By by, const SwitchRecord& record,
                                    BootTime sent_at, const Status& said) {
  const auto held = ShortestHeld();
  if (record.mode != SwitchMode::kBoth || (!held && by == TargetWatch::By::kQuestion)) {
    return;
  }
  const milliseconds shortest = std::min(record.longest, held.value_or(record.longest));
  const BootTime now = clock.Boot();
  {
    MutexLock lock(mutex);
    if (said) {
      target.Took(by, now);
      return;
    }
    if (!target.Failed(by, record.epoch, sent_at, now, TargetWatch::Patience(shortest))) {
      return;
    }
  }
  const auto off = CallOff(record, "the store " + record.to + " fails: " + said.error().message);
  if (!off && off.error().code != Code::kFenced && !Ended()) {
    Log(LogLevel::kWarn, "switchboard", "a switch to a store that fails could not be called off",
        {{"store", record.to}, {"error", ToString(off.error())}});
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
  // In order, from the one behind the store in force.
  std::vector<std::string> others;
  std::string name = record.from;
  while (others.size() + 1 < options.stores.size()) {
    others.push_back(name = After(name));
  }
  const auto to = FirstToAnswer(record, others);
  if (!to) {
    return;
  }
  const auto begun = ChangeFrom(record, [&](const SwitchRecord& at) {
    return BeginSwitch(at, *to, SwitchMode::kDrain, "voted by a quorum");
  });
  if (!begun && Ended()) {
    return;
  }
  Log(LogLevel::kWarn, "switchboard", "a quorum leaves the store",
      {{"store", record.from}, {"for", *to}, {"error", begun ? "" : ToString(begun.error())}});
}

// V4. The stores are asked aside; an answer wakes this thread.
std::optional<std::string> Switchboard::Parts::FirstToAnswer(
    const SwitchRecord& record, const std::vector<std::string>& names) {
  if (auto answers = TakeFound(record)) {
    return answers;
  }
  {
    MutexLock lock(mutex);
    if (probing) {
      return std::nullopt;
    }
    probing = true;
  }
  RunAside([this, record, names] { ProbeStores(record, names); });
  return TakeFound(record);
}

// Each answer counts once, and as long as a copy of the record.
std::optional<std::string> Switchboard::Parts::TakeFound(const SwitchRecord& record) {
  MutexLock lock(mutex);
  const auto answer = std::exchange(found, std::nullopt);
  if (!answer || answer->epoch != record.epoch ||
      clock.Boot() - answer->requested_at >= record.config_lease) {
    return std::nullopt;
  }
  return answer->store;
}

// One that keeps failing is asked now and then. An answer that comes too late to count is none:
// else a slow store would neither come into force nor be called off.
void Switchboard::Parts::ProbeStores(const SwitchRecord& record,
                                     const std::vector<std::string>& names) {
  std::optional<Found> answer;
  for (const std::string& name : names) {
    if (answer || !Lets(name)) {
      continue;
    }
    const BootTime requested_at = clock.Boot();
    const Status said = options.probe(name);
    Report(name, said.has_value());
    const bool late = clock.Boot() - requested_at >= record.config_lease;
    if (said && !late) {
      answer = Found{record.epoch, name, requested_at};
    }
  }
  if (!answer && !Ended()) {
    Log(LogLevel::kWarn, "switchboard", "no store answers that could come into force",
        {{"instead_of", record.from}});
  }
  MutexLock lock(mutex);
  probing = false;
  in_vain = answer ? 0 : record.epoch;
  found = answer;
  if (found) {
    nudge.request_stop();
  }
}

void Switchboard::Parts::Wait() {
  const auto held = ShortestHeld();
  BootTime until = clock.Boot();
  uint64_t known = 0;
  std::stop_token nudged;
  {
    MutexLock lock(mutex);
    if (Ended()) {
      return;
    }
    const milliseconds lease =
        copy.record().epoch == 0 ? options.config_lease : copy.record().config_lease;
    until += lease / kReadsPerLease;
    if (held && copy.record().mode == SwitchMode::kBoth) {
      until = std::min(until, clock.Boot() + std::max(*held / kQuestions, kBetweenQuestions));
    }
    if (copy.may_end_at() && *copy.may_end_at() > clock.Boot()) {
      until = std::min(until, *copy.may_end_at());
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
