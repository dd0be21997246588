// SPDX-License-Identifier: Apache-2.0
#include "drive.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "oncemq/base/check.h"
#include "oncemq/base/log.h"

namespace oncemq {
namespace {

std::string_view TraceIdOf(const void* message) {
  return TraceOf(*static_cast<const Message*>(message)).id();
}

Retry RetryThrown(const Message& message, const Context& context, std::string_view what) {
  const std::string_view kept = what.substr(0, kLongestRetryReason);
  Log(LogLevel::kWarn, "handler", "the handler threw; the message is retried",
      {{"id", context.id()},
       {"attempt", context.attempt()},
       {"topic", message.topic()},
       {"partition", message.partition()},
       {"offset", message.offset()},
       {"what", kept}});
  return {.why = std::string(kept)};
}

// The effect has happened, so nothing is repeated for it; but duplicates will not get this result.
void LogDropped(const Message& message, size_t most) {
  Log(LogLevel::kError, "handler",
      "the handler's result is longer than the window keeps; the message is done without it",
      {{"topic", message.topic()},
       {"partition", message.partition()},
       {"offset", message.offset()},
       {"most_bytes", most}});
}

// The id stands in the text, or the lines of many calls would be alike, and most be left out.
void LogUncertain(const Message& message, const Grant& grant) {
  const std::string text =
      "this call may repeat an effect of an earlier attempt: " + std::string(grant.item->id);
  Log(LogLevel::kWarn, "handler", text,
      {{"id", grant.item->id},
       {"attempt", grant.attempt},
       {"topic", message.topic()},
       {"partition", message.partition()},
       {"offset", message.offset()}});
}

Outcome CallHandler(const Handler& handler, const Message& message, Context& context) {
  try {
    return handler(message, context);
  } catch (const std::exception& error) {
    return RetryThrown(message, context, error.what());
  } catch (...) {
    return RetryThrown(message, context, "something that is no std::exception");
  }
}

// What window or journal said of a call for this batch: a failure is what its partition waits for.
Status Keep(Job& job, Status status) {
  if (!status) [[unlikely]] {
    job.failed = status.error();
  }
  return status;
}

// The EffectBatch that the batch's handlers write into; false: there is none, though there should
// be.
bool OpenEffects(Job& job, const BatchItem& item, const DriveTools& tools) {
  if (!job.machine.Atomic() || job.effects != nullptr) {
    return true;
  }
  std::vector<ClaimRequest> granted;
  const std::span<ClaimAnswer> answers = job.machine.claim_answers();
  for (size_t i = 0; i < job.machine.claims().size(); i++) {
    if (answers[i].answer == ClaimVerdict::kGranted) {
      granted.push_back(job.machine.claims()[i]);
    }
  }
  auto effects = tools.errors->Window(StoreCall::kNewEffects, 1, [&] {
    return tools.window->NewEffects(item.at.source, item.at.partition, granted);
  });
  if (!effects) {
    return Keep(job, effects.error()).has_value();
  }
  job.effects = *std::move(effects);
  return true;
}

// An answer that was found under a lease that is lost stands for nothing.
Outcome CallUnderLocks(Job& job, const Handler& handler, const Message& message, Context& context) {
  Outcome outcome = CallHandler(handler, message, context);
  if (job.locks.any() && !job.locks.AllMine()) [[unlikely]] {
    Log(LogLevel::kWarn, "handler", "a lease of the handler was lost; the message is retried",
        {{"topic", message.topic()},
         {"partition", message.partition()},
         {"offset", message.offset()}});
    outcome = Retry{.why = "a lease of the handler was lost"};
  }
  return outcome;
}

Outcome HandleOne(Job& job, const Handler& handler, const Message& message, Context& context) {
  EffectBatch* const effects = job.effects.get();
  if (effects == nullptr) {
    return CallUnderLocks(job, handler, message, context);
  }
  effects->BeginMessage(context.id(), context.attempt());
  Outcome outcome = CallUnderLocks(job, handler, message, context);
  if (!std::holds_alternative<Done>(outcome)) {
    // A message that waits says why, also where its handler does not.
    if (auto* const retry = std::get_if<Retry>(&outcome); retry != nullptr && retry->why.empty()) {
      retry->why = effects->refusal().substr(0, kLongestRetryReason);
    }
    effects->Undo();
    return outcome;
  }
  if (const Status kept = effects->Keep(); !kept) {
    return Retry{.why = kept.error().message.substr(0, kLongestRetryReason)};
  }
  return outcome;
}

// At the level atomic the effects of a message that is done are still to be written, so its names
// are kept until then, and no other message is handled meanwhile: it might want one that is kept.
void GiveNamesBack(Job& job, bool done) {
  if (!job.locks.any()) {
    return;
  }
  if (done && job.machine.Atomic()) {
    job.machine.StopHandling();
  } else {
    job.locks.Release();
  }
}

// Calls the handler for everything granted. False: abandoned meanwhile.
bool HandleAll(Job& job, const Handler& handler, const DriveTools& tools) {
  BatchMachine& machine = job.machine;
  int64_t tick = tools.clock->Tick();
  BootTime now = tools.clock->Boot();
  job.calls.Begin(now);
  job.watch.BeginHandling(machine, now);
  // Looked at before each call: a process that was stopped between two of them starts none past
  // safe_until, nor past the end of its claims.
  const auto read_clock = [&] {
    if (const int64_t present = tools.clock->Tick(); present != tick) {
      tick = present;
      now = tools.clock->Boot();
      job.calls.SeeTime(now);
    }
    return now;
  };
  const auto next = [&] {
    const BootTime present = read_clock();
    if (job.claims_end.Reached(present)) [[unlikely]] {
      machine.StopHandling();
    }
    return machine.Next(present);
  };
  while (const Grant* grant = next()) {
    const BatchItem& item = *grant->item;
    if (!OpenEffects(job, item, tools)) {
      machine.StopHandling();
      continue;
    }
    const Message& message = job.view->Show(item.message);
    const LogScope traced("trace_id", TraceIdOf, &message);
    if (grant->uncertain && machine.policy().level == Level::kOpaque) [[unlikely]] {
      LogUncertain(message, *grant);
    }
    Context context(item.id, grant->token, item.owner_epoch, grant->attempt, grant->uncertain,
                    job.watch.stop(), job.effects.get(), &job.locks, &message);
    job.locks.Begin(tools.locks, message, item.owner_epoch);
    job.facts.called.store(item.at.offset, std::memory_order_relaxed);
    job.watch.Enter();
    Outcome outcome = HandleOne(job, handler, message, context);
    const bool done = std::holds_alternative<Done>(outcome);
    job.watch.Leave();
    job.calls.Returned();
    if (!machine.Handled(std::move(outcome))) [[unlikely]] {
      LogDropped(message, machine.policy().max_result_bytes);
    }
    GiveNamesBack(job, done);
    const bool full = job.effects != nullptr && job.effects->Full();
    if (job.watch.stop_handling() || full) [[unlikely]] {
      machine.StopHandling();
    }
  }
  if (job.watch.EndHandling() != BatchWatch::Ended::kOurs) {
    return false;
  }
  job.calls.SeeTime(tools.clock->Boot());
  return true;
}

// Below the level opaque the target knows of a later claim itself.
void Claim(Job& job, const DriveTools& tools) {
  BatchMachine& machine = job.machine;
  const BootTime sent = tools.clock->Boot();
  const Status claimed = tools.errors->Window(StoreCall::kClaim, machine.claims().size(), [&] {
    return tools.window->Claim(machine.claims(), machine.claim_answers());
  });
  if (claimed && machine.policy().level == Level::kOpaque) {
    job.claims_end.Claimed(sent, tools.window->capabilities().times);
  }
  machine.Claimed(Keep(job, claimed));
}

// The markers of what is done; at the level atomic with the effects, for all or for none. Whether
// the leases still hold is asked once more then: the last handler may have returned long ago.
Status Complete(Job& job, const DriveTools& tools) {
  const std::span<const CompleteRequest> requests = job.machine.completions();
  const std::span<MarkerChange> changes = job.machine.changes();
  if (!job.machine.Atomic()) {
    return tools.window->Complete(requests, changes);
  }
  if (!job.locks.AllMine()) [[unlikely]] {
    Log(LogLevel::kWarn, "handler",
        "a lease was lost before the effects under it were written; the messages are retried",
        {{"partition", job.partition}, {"messages", requests.size()}});
    std::fill_n(changes.begin(), requests.size(), MarkerChange::kFenced);
    return {};
  }
  return tools.window->CompleteWith(*job.effects, requests, changes);
}

// Before the end of a message is on record, its marker survives (rule 39).
Status PersistEnds(std::span<const JournalEntry> entries, const DriveTools& tools) {
  const auto ended = std::find_if(entries.begin(), entries.end(), [](const JournalEntry& entry) {
    return entry.kind == RecordKind::kEnded;
  });
  if (ended == entries.end() || tools.window == nullptr) {
    return {};
  }
  const Coordinates& at = ended->item->at;
  const Announcement kept{.source = at.source, .partition = at.partition, .commits = false};
  return tools.errors->Window(StoreCall::kAnnounce, 1, [&] {
    return tools.window->Announce({&kept, 1});
  });
}

void Record(Job& job, const DriveTools& tools) {
  const std::span<const JournalEntry> entries = job.machine.journal_entries();
  if (const Status kept = PersistEnds(entries, tools); !kept) {
    return job.machine.Journaled(Keep(job, kept), 0);
  }
  const auto first = tools.journal->Record(entries, *job.view);
  const Status status = first ? Status() : Status(first.error());
  job.machine.Journaled(Keep(job, tools.errors->Journal(entries.size(), status)),
                        first.value_or(0));
}

Holder HolderOfStep(BatchStep step) {
  switch (step) {
    case BatchStep::kHandle:
      return Holder::kHandler;
    case BatchStep::kSettled:
      return Holder::kTurn;
    case BatchStep::kRestore:
    case BatchStep::kClaim:
    case BatchStep::kRelease:
    case BatchStep::kRecord:
    case BatchStep::kComplete:
    case BatchStep::kJournal:
    case BatchStep::kPark:
      break;
  }
  return Holder::kStore;
}

}  // namespace

Driven DriveBatch(Job& job, const Handler& handler, const DriveTools& tools) {
  BatchMachine& machine = job.machine;
  Window* const window = tools.window;
  const auto asked = [&](StoreCall call, size_t requests, auto make) {
    return Keep(job, tools.errors->Window(call, requests, make));
  };
  machine.Start(job.batch);
  job.effects.reset();
  job.failed.reset();
  job.calls.Reset();
  job.claims_end.Begin();
  for (;;) {
    const std::span<MarkerChange> changes = machine.changes();
    job.facts.at.store(HolderOfStep(machine.step()), std::memory_order_relaxed);
    switch (machine.step()) {
      case BatchStep::kRestore:
        machine.Restored(asked(StoreCall::kRestore, machine.restores().size(),
                               [&] { return window->Restore(machine.restores(), changes); }));
        break;
      case BatchStep::kClaim:
        Claim(job, tools);
        break;
      case BatchStep::kRelease:
        job.effects.reset();  // before handlers there are none, after them nothing was done
        machine.Released(asked(StoreCall::kRelease, machine.releases().size(),
                               [&] { return window->Release(machine.releases(), changes); }));
        break;
      case BatchStep::kRecord:
        machine.Recorded(window == nullptr
                             ? Status()
                             : asked(StoreCall::kRecordUncertain, machine.uncertain().size(),
                                     [&] { return window->RecordUncertain(machine.uncertain()); }));
        break;
      case BatchStep::kHandle:
        if (!HandleAll(job, handler, tools)) {
          job.locks.Release();
          return Driven::kAbandoned;
        }
        break;
      case BatchStep::kComplete: {
        job.watch.BeginCompleting(machine);
        const Status completed = asked(StoreCall::kComplete, machine.completions().size(),
                                       [&] { return Complete(job, tools); });
        job.watch.EndCompleting();
        machine.Completed(completed);
        job.effects.reset();
        job.locks.Release();
        break;
      }
      case BatchStep::kJournal:
        job.effects.reset();
        Record(job, tools);
        break;
      case BatchStep::kPark:
        job.effects.reset();
        machine.Parked(asked(StoreCall::kPark, machine.parks().size(),
                             [&] { return window->Park(machine.parks(), changes); }));
        break;
      case BatchStep::kSettled:
        job.effects.reset();
        job.locks.Release();
        job.watch.End();
        return Driven::kSettled;
    }
  }
}

}  // namespace oncemq
