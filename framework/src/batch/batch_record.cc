// SPDX-License-Identifier: Apache-2.0
// The steps that put on record what came of a message: completion, journal, park.
#include <algorithm>

#include "oncemq/base/check.h"
#include "oncemq/framework/batch_machine.h"

namespace oncemq {

void BatchMachine::CompleteDone() {
  completions_.clear();
  for (size_t i = 0; i < items_.size(); i++) {
    if (progress_[i].part == Part::kComplete) {
      progress_[i].request = static_cast<uint32_t>(completions_.size());
      AddCompletion(i);
    }
  }
  singly_ = false;
  changes_.resize(std::max(changes_.size(), completions_.size()));
  completions_.empty() ? JournalRefused() : void(step_ = BatchStep::kComplete);
}

void BatchMachine::AddCompletion(size_t i) {
  CompleteRequest& completion = completions_.emplace_back();
  completion.id = items_[i].id;
  completion.token = items_[i].token;
  completion.at = items_[i].at;
  completion.result = settlements_[i].text;
  completion.time = std::max(items_[i].time, items_[i].copies_until);
}

void BatchMachine::Completed(const Status& status) {
  ONCEMQ_CHECK(step_ == BatchStep::kComplete, "an answer follows its step");
  if (Atomic()) {
    return CompletedTogether(status);
  }
  const bool invalid = !status && status.error().code == Code::kInvalid;
  if (singly_) {
    if (invalid && !settlements_[single_].text.empty()) {
      DropResult(single_);  // all else that is in the request was good enough for the claim
      completions_.clear();
      return AddCompletion(single_);
    }
    CompletedOne(single_, status, changes_[0]);
    return CompleteNext(single_ + 1);
  }
  // One request that the window does not take must not keep the others from their markers.
  if (invalid) {
    singly_ = true;
    return CompleteNext(0);
  }
  for (size_t i = 0; i < items_.size(); i++) {
    if (progress_[i].part == Part::kComplete) {
      CompletedOne(i, status, changes_[progress_[i].request]);
    }
  }
  JournalRefused();
}

// Effects and markers of the whole batch are there, or nothing is: then every message goes the
// whole way again, and whether its marker is there after all is for the window to say.
void BatchMachine::CompletedTogether(const Status& status) {
  const bool invalid = !status && status.error().code == Code::kInvalid;
  const bool lost = !status || (!completions_.empty() && changes_[0] != MarkerChange::kMade);
  for (size_t i = 0; i < items_.size(); i++) {
    if (lost && WasRefused(i)) {
      LoseEffect(i, microseconds(0));  // for what it saw, which is gone
    }
    if (progress_[i].part != Part::kComplete) {
      continue;
    }
    if (status && changes_[progress_[i].request] == MarkerChange::kMade) {
      Settle(i, DeliveryFate::kApplied);
    } else if (invalid && items_[i].alone) {
      settlements_[i].text = status.error().message;
      GiveUpClaim(i, DeliveryFate::kStop);
    } else if (invalid) {
      // Another one of the batch did it, or one of another batch that was written meanwhile.
      LoseEffect(i, microseconds(0));
      settlements_[i].alone = true;
    } else {
      if (status) {
        settlements_[i].fenced = FencePlace::kComplete;
      }
      LoseEffect(i, status ? microseconds(0) : policy_.store_retry);
    }
  }
  JournalRefused();
}

// Whether its handler has refused it, in a way that is not on record yet.
bool BatchMachine::WasRefused(size_t i) const {
  return (progress_[i].part == Part::kJournal && progress_[i].claimed) ||
         (progress_[i].part == Part::kUndo && settlements_[i].fate == DeliveryFate::kStop &&
          settlements_[i].handled);
}

// What the handler wrote is gone with its batch. The claim may be: it is released before the next.
void BatchMachine::LoseEffect(size_t i, microseconds wait) {
  Settle(i, wait > microseconds(0) ? DeliveryFate::kPending : DeliveryFate::kWithdrawn, wait);
  settlements_[i].text.clear();
  settlements_[i].result_dropped = false;
  settlements_[i].stage = Stage::kReleasing;
  settlements_[i].token = items_[i].token;
}

void BatchMachine::CompleteNext(size_t from) {
  completions_.clear();
  for (single_ = from; single_ < items_.size(); single_++) {
    if (progress_[single_].part == Part::kComplete) {
      return AddCompletion(single_);
    }
  }
  JournalRefused();
}

void BatchMachine::CompletedOne(size_t i, const Status& status, MarkerChange change) {
  if (!status) {
    Unanswered(i, Stage::kApplied);
  } else if (change == MarkerChange::kMade) {
    Settle(i, DeliveryFate::kApplied);
  } else {
    settlements_[i].fenced = FencePlace::kComplete;
    settlements_[i].touched = true;
    settlements_[i].result_dropped = false;
    // look again: the next claim says what became of it (rule 16)
    Settle(i, DeliveryFate::kWithdrawn);
  }
}

// The effect has happened and must be on record, with its result or without: handling it again
// would double it, and waiting would never end.
void BatchMachine::DropResult(size_t i) {
  settlements_[i].text.clear();
  settlements_[i].result_dropped = true;
}

void BatchMachine::JournalRefused() {
  journal_.clear();
  for (size_t i = 0; i < items_.size(); i++) {
    const Part part = progress_[i].part;
    if (part != Part::kJournal && part != Part::kPassed && part != Part::kAttached &&
        part != Part::kEnd) {
      continue;
    }
    const BatchItem& item = items_[i];
    RecordKind kind = item.follows ? RecordKind::kFollows : RecordKind::kRefused;
    if (part != Part::kJournal) {
      kind = part == Part::kPassed     ? RecordKind::kPassed
             : part == Part::kAttached ? RecordKind::kAttached
             : item.drop               ? RecordKind::kDropped
                                       : RecordKind::kEnded;
    } else if (item.redriven) {
      kind = RecordKind::kRefusedAgain;
    }
    progress_[i].request = static_cast<uint32_t>(journal_.size());
    const uint32_t attempts = item.attempts.made + (settlements_[i].handled ? 1 : 0);
    journal_.push_back({&item, settlements_[i].text, kind, attempts});
  }
  journal_.empty() ? ParkRefused() : void(step_ = BatchStep::kJournal);
}

void BatchMachine::Journaled(const Status& status, uint64_t first_entry) {
  ONCEMQ_CHECK(step_ == BatchStep::kJournal, "an answer follows its step");
  for (size_t i = 0; i < items_.size(); i++) {
    const Part part = progress_[i].part;
    const bool passed = part == Part::kPassed;
    if (part == Part::kEnd) {
      status ? void(progress_[i].part = Part::kSettled) : Unanswered(i, Stage::kEnded);
    } else if (part == Part::kAttached) {
      status ? Settle(i, DeliveryFate::kParked)
             : Settle(i, DeliveryFate::kPending, policy_.store_retry);
      settlements_[i].attached = status.has_value();
    } else if (part != Part::kJournal && !passed) {
      continue;
    } else if (!status && status.error().code == Code::kFull && !passed) {
      Refuse(i, status.error().message, RejectPolicy::kStop);
    } else if (!status) {
      Unanswered(i, passed ? Stage::kApplied : Stage::kRejecting);
    } else if (progress_[i].claimed) {
      progress_[i].part = Part::kPark;
      progress_[i].entry = policy_.reject == RejectPolicy::kPark
                               ? ParkTopicEntry(items_[i].at)
                               : first_entry + progress_[i].request;
    } else {
      Settle(i, passed ? DeliveryFate::kApplied : FateOnRecord(policy_.reject));
    }
  }
  ParkRefused();
}

void BatchMachine::ParkRefused() {
  parks_.clear();
  for (size_t i = 0; i < items_.size(); i++) {
    if (progress_[i].part == Part::kPark) {
      progress_[i].request = static_cast<uint32_t>(parks_.size());
      parks_.push_back(
          {items_[i].id, items_[i].token, progress_[i].entry, items_[i].at, items_[i].owner_epoch});
    }
  }
  changes_.resize(std::max(changes_.size(), parks_.size()));
  parks_.empty() ? ReleaseUndone() : void(step_ = BatchStep::kPark);
}

void BatchMachine::Parked(const Status& status) {
  ONCEMQ_CHECK(step_ == BatchStep::kPark, "an answer follows its step");
  for (size_t i = 0; i < items_.size(); i++) {
    if (progress_[i].part != Part::kPark) {
      continue;
    }
    if (!status && status.error().code == Code::kFull) {
      // Parked ids stay, so waiting does not help, and nothing is forgotten to make room.
      settlements_[i].text = status.error().message;
      GiveUpClaim(i, DeliveryFate::kStop);
    } else if (!status) {
      Unanswered(i, Stage::kRecorded);
    } else if (changes_[progress_[i].request] == MarkerChange::kMade) {
      Settle(i, FateOnRecord(policy_.reject));
    } else {
      settlements_[i].fenced = FencePlace::kPark;
      settlements_[i].touched = true;
      GiveUpClaim(i, DeliveryFate::kWithdrawn);
    }
  }
  ReleaseUndone();
}

}  // namespace oncemq
