// SPDX-License-Identifier: Apache-2.0
#include "oncemq/framework/batch_machine.h"

#include <algorithm>
#include <utility>

#include "oncemq/base/check.h"

namespace oncemq {

void BatchMachine::Start(MessageBatch& batch) {
  ONCEMQ_CHECK(step_ == BatchStep::kSettled, "one batch at a time");
  items_.swap(batch.items);
  batch.items.clear();
  safe_until_ = batch.safe_until;
  spoiled_ = false;
  at_ = 0;
  progress_.assign(items_.size(), Progress{});
  settlements_.clear();
  for (size_t i = 0; i < items_.size(); i++) {
    Settlement& settlement = settlements_.emplace_back();
    settlement.slot = items_[i].slot;
    settlement.ticket = items_[i].ticket;
    settlement.carried() = items_[i].carried();
    settlement.text = items_[i].text;
    settlement.attempts = items_[i].attempts;
    progress_[i].part = Plan(i);
  }
  ReleaseEarlier();
}

void BatchMachine::ReleaseEarlier() {
  round_ = ReleaseRound::kEarlier;
  CollectReleases(Part::kRelease);
  releases_.empty() ? RestoreCarried() : void(step_ = BatchStep::kRelease);
}

void BatchMachine::CollectReleases(Part part) {
  releases_.clear();
  for (size_t i = 0; i < items_.size(); i++) {
    if (progress_[i].part == part) {
      // A release that is repeated is as uncertain as the first one was.
      const bool called = settlements_[i].handled || items_[i].stage == Stage::kRecorded;
      const bool touched =
          part == Part::kRelease ? items_[i].touched : settlements_[i].touched && called;
      const bool uncertain = touched && policy_.level == Level::kOpaque;
      const bool failed = part == Part::kRelease ? touched : progress_[i].failed;
      progress_[i].request = static_cast<uint32_t>(releases_.size());
      releases_.push_back({items_[i].id, items_[i].token, uncertain, items_[i].at, failed,
                           items_[i].redriven ? ParkTopicEntry(items_[i].at) : 0});
    }
  }
  changes_.resize(std::max(changes_.size(), releases_.size()));
}

void BatchMachine::Released(const Status& status) {
  ONCEMQ_CHECK(step_ == BatchStep::kRelease, "an answer follows its step");
  const Part part = round_ == ReleaseRound::kEarlier ? Part::kRelease : Part::kUndo;
  for (size_t i = 0; i < items_.size(); i++) {
    if (progress_[i].part != part) {
      continue;
    }
    if (!status) {
      if (part == Part::kRelease) {
        Unanswered(i, Stage::kReleasing);
      } else {
        // The settlement stands; only the release has to be repeated before the next claim.
        settlements_[i].stage = Stage::kReleasing;
        settlements_[i].token = items_[i].token;
        progress_[i].part = Part::kSettled;
        progress_[i].claimed = false;  // perhaps; a renewal would only be told that it is gone
      }
      continue;
    }
    progress_[i].claimed = false;
    if (part == Part::kRelease) {
      items_[i].token = tokens_.Next();  // a token is never used for a second grant (rule 53)
      progress_[i].part = items_[i].follows ? Part::kJournal : Part::kClaim;
    } else {
      progress_[i].part = Part::kSettled;
    }
  }
  switch (round_) {
    case ReleaseRound::kEarlier:
      return RestoreCarried();
    case ReleaseRound::kPrefix:
      return RecordUncertain();
    case ReleaseRound::kLast:
      return FollowOriginals();
  }
}

void BatchMachine::RestoreCarried() {
  restores_.clear();
  for (size_t i = 0; i < items_.size(); i++) {
    if (progress_[i].part == Part::kRestore) {
      progress_[i].request = static_cast<uint32_t>(restores_.size());
      restores_.push_back({items_[i].id, items_[i].at, items_[i].owner_epoch, items_[i].time,
                           items_[i].fingerprint});
    }
  }
  changes_.resize(std::max(changes_.size(), restores_.size()));
  restores_.empty() ? ClaimAll() : void(step_ = BatchStep::kRestore);
}

void BatchMachine::Restored(const Status& status) {
  ONCEMQ_CHECK(step_ == BatchStep::kRestore, "an answer follows its step");
  for (size_t i = 0; i < items_.size(); i++) {
    if (progress_[i].part != Part::kRestore) {
      continue;
    }
    if (!status) {
      Unanswered(i, Stage::kCarried);
      continue;
    }
    const MarkerChange change = changes_[progress_[i].request];
    if (change == MarkerChange::kMade) {
      Settle(i, DeliveryFate::kRestored);
      continue;
    }
    const bool fenced = change == MarkerChange::kFenced;
    // Another's claim ends in time; a lost ownership has to be raised again.
    fenced ? Settle(i, DeliveryFate::kOwnershipLost)
           : Settle(i, DeliveryFate::kWait, policy_.store_retry);
    settlements_[i].stage = Stage::kCarried;
    if (fenced) {
      settlements_[i].fenced = FencePlace::kRestore;
    }
  }
  ClaimAll();
}

void BatchMachine::ClaimAll() {
  claims_.clear();
  for (size_t i = 0; i < items_.size(); i++) {
    if (progress_[i].part == Part::kClaim) {
      progress_[i].request = static_cast<uint32_t>(claims_.size());
      ClaimRequest& claim = claims_.emplace_back();
      claim.id = items_[i].id;
      claim.token = items_[i].token;
      claim.at = items_[i].at;
      claim.owner_epoch = items_[i].owner_epoch;
      claim.fingerprint = items_[i].fingerprint;
      claim.time = items_[i].time;
      claim.first = items_[i].first;
      claim.copies_until = items_[i].copies_until;
      claim.parked_entry = items_[i].redriven ? ParkTopicEntry(items_[i].at) : 0;
    }
  }
  if (answers_.size() < claims_.size()) {
    answers_.resize(claims_.size());
  }
  claims_.empty() ? JudgeAll() : void(step_ = BatchStep::kClaim);
}

void BatchMachine::Claimed(const Status& status) {
  ONCEMQ_CHECK(step_ == BatchStep::kClaim, "an answer follows its step");
  if (!status) {
    for (size_t i = 0; i < items_.size(); i++) {
      if (progress_[i].part == Part::kClaim) {
        Unanswered(i, Stage::kClaiming);
      }
    }
  }
  JudgeAll();
}

void BatchMachine::JudgeAll() {
  for (size_t begin = 0; begin < items_.size();) {
    const size_t end = LaneEnd(begin);
    JudgeLane(begin, end);
    begin = end;
  }
  round_ = ReleaseRound::kPrefix;
  CollectReleases(Part::kUndo);
  releases_.empty() ? RecordUncertain() : void(step_ = BatchStep::kRelease);
}

void BatchMachine::RecordUncertain() {
  uncertain_.clear();
  for (size_t i = 0; i < items_.size() && policy_.level == Level::kOpaque; i++) {
    if (progress_[i].part == Part::kRun && IsUncertain(i)) {
      uncertain_.push_back({items_[i].id, items_[i].at, AttemptOf(i)});
    }
  }
  step_ = uncertain_.empty() ? BatchStep::kHandle : BatchStep::kRecord;
}

void BatchMachine::Recorded(const Status& status) {
  ONCEMQ_CHECK(step_ == BatchStep::kRecord, "an answer follows its step");
  step_ = BatchStep::kHandle;
  for (size_t i = 0; i < items_.size() && !status; i++) {
    if (progress_[i].part == Part::kRun && IsUncertain(i)) {
      progress_[i].claimed ? GiveUpClaim(i, DeliveryFate::kPending, policy_.store_retry)
                           : Settle(i, DeliveryFate::kPending, policy_.store_retry);
      WithdrawFrom(i + 1, LaneEnd(i));
    }
  }
}

// A window may forget a claim that was released; the delivery remembers its own calls. The window
// knows of earlier owners. The higher count is right, and either may have doubts.
uint32_t BatchMachine::AttemptOf(size_t i) const {
  const uint32_t own = items_[i].attempts.made + 1u;
  return std::max(progress_[i].attempt, own);
}

bool BatchMachine::IsUncertain(size_t i) const {
  return progress_[i].uncertain || items_[i].touched;
}

const Grant* BatchMachine::Next(BootTime now) {
  while (at_ < items_.size() && progress_[at_].part != Part::kRun) {
    at_++;
  }
  if (at_ < items_.size() && now >= safe_until_) {
    StopHandling();
  }
  if (at_ == items_.size()) {
    CompleteDone();
    return nullptr;
  }
  const BatchItem& item = items_[at_];
  grant_.item = &item;
  grant_.token = item.token;
  grant_.attempt = AttemptOf(at_);
  grant_.uncertain = IsUncertain(at_);
  grant_.called = now;
  return &grant_;
}

void BatchMachine::StopHandling() {
  while (at_ < items_.size()) {
    const size_t end = LaneEnd(at_);
    WithdrawFrom(at_, end);
    at_ = end;
  }
}

bool BatchMachine::Handled(Outcome&& outcome) {
  ONCEMQ_CHECK(step_ == BatchStep::kHandle && at_ < items_.size(), "an outcome follows its Next()");
  const size_t i = at_++;
  settlements_[i].handled = true;
  bool goes_on = true;
  bool kept = true;
  if (spoiled_) {
    LoseEffect(i, microseconds(0));
    settlements_[i].alone = true;  // so that it cannot happen again
    return true;
  }
  if (auto* done = std::get_if<Done>(&outcome)) {
    if (WithoutId(i)) {
      Pass(i);
    } else if (policy_.window) {
      progress_[i].part = Part::kComplete;
      kept = done->result.size() <= policy_.max_result_bytes;
      if (kept) {
        settlements_[i].text = std::move(done->result);
      } else {
        DropResult(i);
      }
    } else {
      Settle(i, DeliveryFate::kApplied);
    }
  } else if (const auto* retry = std::get_if<Retry>(&outcome)) {
    goes_on = Failed(i, *retry);
  } else {
    goes_on = Refuse(i, std::move(std::get<Reject>(outcome).why), policy_.reject);
  }
  if (!goes_on) {
    WithdrawFrom(i + 1, LaneEnd(i));
  }
  return kept;
}

void BatchMachine::SettleOthers(std::vector<Settlement>& settled) {
  ONCEMQ_CHECK(step_ == BatchStep::kHandle && at_ < items_.size(), "a handler is being called");
  const size_t kept = at_;
  // At the level atomic its effects stand on those of the messages before it, which go now.
  spoiled_ =
      Atomic() && std::any_of(progress_.begin(), progress_.end(), [](const Progress& progress) {
        return progress.part == Part::kComplete || progress.part == Part::kJournal;
      });
  for (size_t i = 0; i < items_.size(); i++) {
    if (i != kept) {
      SetAside(i);
      settled.push_back(std::move(settlements_[i]));
    }
  }
  std::swap(items_[0], items_[kept]);
  std::swap(progress_[0], progress_[kept]);
  std::swap(settlements_[0], settlements_[kept]);
  items_.resize(1);
  progress_.resize(1);
  settlements_.resize(1);
  at_ = 0;
}

void BatchMachine::ReleaseUndone() {
  round_ = ReleaseRound::kLast;
  CollectReleases(Part::kUndo);
  releases_.empty() ? FollowOriginals() : void(step_ = BatchStep::kRelease);
}

// A copy in the same batch ends as its original did, now that this is on record (rule 18).
void BatchMachine::FollowOriginals() {
  for (size_t i = 0; i < items_.size(); i++) {
    if (progress_[i].part != Part::kCopy) {
      continue;
    }
    switch (settlements_[progress_[i].original].fate) {
      case DeliveryFate::kApplied:
      case DeliveryFate::kSuppressed:
      case DeliveryFate::kRestored:
        Settle(i, DeliveryFate::kSuppressed);
        settlements_[i].same_delivery = items_[i].at == items_[progress_[i].original].at;
        break;
      case DeliveryFate::kRejected:
        Settle(i, DeliveryFate::kRejected);
        settlements_[i].attached = true;
        break;
      default:  // a copy of a parked message has a record of its own
        Settle(i, DeliveryFate::kWithdrawn);
        break;
    }
  }
  step_ = BatchStep::kSettled;
}

std::vector<RenewRequest> BatchMachine::ClaimsToRenew() const {
  std::vector<RenewRequest> held;
  for (size_t i = 0; i < items_.size(); i++) {
    if (progress_[i].claimed) {
      held.push_back({items_[i].id, items_[i].token, items_[i].at});
    }
  }
  return held;
}

}  // namespace oncemq
