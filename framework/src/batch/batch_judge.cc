// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "oncemq/base/hash.h"
#include "oncemq/framework/batch_machine.h"

namespace oncemq {
namespace {

bool OtherPayload(const BatchItem& one, const BatchItem& other) {
  return one.fingerprint != 0 && other.fingerprint != 0 && one.fingerprint != other.fingerprint;
}

// From the id, so the next owner draws the same.
uint64_t JitterSeed(const BatchItem& item) {
  return item.id.empty() ? MixBits(static_cast<uint64_t>(item.at.offset)) : StableHash(item.id);
}

constexpr std::string_view kFollows = "an earlier message of its key is parked";

// A former owner has parked it, and recorded it after the next one had begun. The window is not
// asked about a message on record (rule 40).
bool LacksItsRecord(const ClaimAnswer& answer, const BatchItem& item) {
  return answer.attached == MarkerState::kParked && answer.entry == ParkTopicEntry(item.at);
}

// The window lets it not run, and it is not done.
bool IsRefusal(const ClaimAnswer& answer, const BatchItem& item) {
  return answer.answer == ClaimVerdict::kConflict ||
         answer.answer == ClaimVerdict::kOutsideWindow ||
         answer.answer == ClaimVerdict::kIncomplete ||
         (answer.answer == ClaimVerdict::kAttached &&
          (item.redriven || LacksItsRecord(answer, item)));
}

std::string GaveUp(uint32_t attempts, std::string_view why) {
  std::string text = "gave up after " + std::to_string(attempts);
  text += attempts == 1 ? " attempt" : " attempts";
  return why.empty() ? text : text.append(": ").append(why);
}

}  // namespace

BatchMachine::Part BatchMachine::Plan(size_t i) {
  BatchItem& item = items_[i];
  Token& token = item.token;
  token.process = token.attempt != 0 ? tokens_.process() : 0;
  const bool asks = item.stage == Stage::kClaiming || item.stage == Stage::kReleasing;
  if (item.follows && (item.stage == Stage::kFresh || asks)) {
    settlements_[i].text = kFollows;
    return asks ? Part::kRelease : Part::kJournal;
  }
  switch (item.stage) {
    case Stage::kApplied:
      if (WithoutId(i)) {
        settlements_[i].unprotected = true;
        return Part::kPassed;  // with the reason that it had
      }
      progress_[i].claimed = true;
      return Part::kComplete;
    case Stage::kRejecting:
      progress_[i].claimed = !token.empty();
      if (policy_.reject == RejectPolicy::kStop) {  // refused before it was ever claimed
        Settle(i, DeliveryFate::kStop);
        return Part::kSettled;
      }
      return Part::kJournal;
    case Stage::kRecorded:
      progress_[i].claimed = true;
      progress_[i].entry = item.entry;
      return Part::kPark;
    case Stage::kReleasing:
      return Part::kRelease;
    case Stage::kCarried:
      if (policy_.window && !item.id.empty()) {
        return Part::kRestore;
      }
      Settle(i, DeliveryFate::kRestored);
      return Part::kSettled;
    case Stage::kNotDone:
      Settle(i, FateOnRecord(policy_.reject));
      settlements_[i].attached = true;  // follows the record of that owner
      return Part::kSettled;
    case Stage::kEnded:
      Settle(i, DeliveryFate::kSuppressed);
      settlements_[i].same_delivery = true;
      return Part::kEnd;
    case Stage::kClaiming:
      return Part::kClaim;
    case Stage::kFresh:
      break;
  }
  if (item.drop) {
    Settle(i, DeliveryFate::kSuppressed);
    return Part::kEnd;
  }
  if (!policy_.window || item.id.empty()) {
    if (item.text.empty()) {
      return Part::kRun;
    }
    if (policy_.reject != RejectPolicy::kStop) {
      return Part::kJournal;
    }
    settlements_[i].text = item.text;
    Settle(i, DeliveryFate::kStop);
    return Part::kSettled;
  }
  if (item.copy && FollowsEarlier(i)) {
    return Part::kCopy;
  }
  token = tokens_.Next();
  return Part::kClaim;
}

// The core marks copies by hash; only equal bytes are copies. One with another payload asks the
// window, after its original in the same batch: which of the two is the conflict depends on what
// the window knows (rule 18). So does a copy of what an earlier owner finished: the window knows
// with which payload, or what became of the id since. Of one that follows, the window learns the
// time: the id must not age before its last copy (rule 26).
bool BatchMachine::FollowsEarlier(size_t i) {
  for (size_t j = i; j-- > 0 && items_[j].lane == items_[i].lane;) {
    const bool carried = items_[j].stage == Stage::kCarried || items_[j].stage == Stage::kNotDone;
    const bool same_id = items_[j].id == items_[i].id;
    if (!carried && same_id && !OtherPayload(items_[j], items_[i])) {
      const size_t original = progress_[j].part == Part::kCopy ? progress_[j].original : j;
      progress_[i].original = static_cast<uint32_t>(original);
      LogTime& until = items_[original].copies_until;
      until = std::max(until, items_[i].time);
      return true;
    }
  }
  return false;
}

size_t BatchMachine::LaneEnd(size_t i) const {
  const uint32_t lane = items_[i].lane;
  while (i < items_.size() && items_[i].lane == lane) {
    i++;
  }
  return i;
}

void BatchMachine::JudgeLane(size_t begin, size_t end) {
  for (size_t i = begin; i < end; i++) {
    bool goes_on = true;
    const bool claims = progress_[i].part == Part::kClaim;
    if (claims && policy_.reject == RejectPolicy::kPark && i > begin &&
        IsRefusal(answers_[progress_[i].request], items_[i])) {
      // Parked now, it would go before an earlier one of its key. At the head it asks again.
      Settle(i, DeliveryFate::kWithdrawn);
      goes_on = false;
    } else if (claims) {
      goes_on = Judge(i);
    } else if (progress_[i].part == Part::kSettled) {
      const DeliveryFate fate = settlements_[i].fate;
      goes_on = fate == DeliveryFate::kRestored || fate == DeliveryFate::kSuppressed ||
                fate == FateOnRecord(policy_.reject);
    } else if (progress_[i].part == Part::kJournal && !items_[i].follows) {
      goes_on = policy_.reject != RejectPolicy::kPark;
    }
    if (!goes_on) {
      WithdrawFrom(i + 1, end);
      return;
    }
  }
}

bool BatchMachine::Judge(size_t i) {
  const ClaimAnswer& answer = answers_[progress_[i].request];
  switch (answer.answer) {
    case ClaimVerdict::kGranted:
      progress_[i].part = Part::kRun;
      progress_[i].claimed = true;
      progress_[i].attempt = answer.attempt;
      progress_[i].uncertain = answer.uncertain;
      return items_[i].text.empty() || Refuse(i, std::string(items_[i].text), policy_.reject);
    case ClaimVerdict::kDuplicate:
      Settle(i, DeliveryFate::kSuppressed);
      settlements_[i].same_delivery = answer.same_delivery;
      settlements_[i].text = answer.result;
      return true;
    case ClaimVerdict::kAttached:
      if (items_[i].redriven) {
        return Refuse(i, "its id is parked with another message", policy_.reject);
      }
      if (policy_.reject == RejectPolicy::kPark && LacksItsRecord(answer, items_[i])) {
        return Refuse(i, "refused by an owner whose record came too late", policy_.reject);
      }
      if (policy_.reject == RejectPolicy::kPark) {
        progress_[i].part = Part::kAttached;
        return true;
      }
      Settle(i, FateOnRecord(policy_.reject));
      settlements_[i].attached = true;
      return true;
    case ClaimVerdict::kInFlight:
      Settle(i, DeliveryFate::kWait, std::max(answer.wait, policy_.store_retry));
      return false;
    case ClaimVerdict::kConflict:
      settlements_[i].conflict = true;
      return Refuse(i, "conflict: its id came before with another payload", policy_.reject);
    case ClaimVerdict::kOutsideWindow:
      return Refuse(i, "older than the window: nobody can know whether its effect has happened",
                    policy_.reject);
    case ClaimVerdict::kIncomplete:
      return Refuse(i, "the window is not complete for the range of this id", policy_.reject);
    case ClaimVerdict::kFenced:
      SettleFenced(i, DeliveryFate::kOwnershipLost);
      return false;
  }
  return false;
}

// Puts [begin, end) back: these messages did not start. One lane only.
void BatchMachine::WithdrawFrom(size_t begin, size_t end) {
  for (size_t i = begin; i < end; i++) {
    switch (progress_[i].part) {
      case Part::kClaim:
        // Not judged yet: the answer tells whether there is something to release.
        if (answers_[progress_[i].request].answer == ClaimVerdict::kGranted) {
          GiveUpClaim(i, DeliveryFate::kWithdrawn);
        } else if (answers_[progress_[i].request].answer == ClaimVerdict::kFenced) {
          SettleFenced(i, DeliveryFate::kWithdrawn);
        } else {
          Settle(i, DeliveryFate::kWithdrawn);
        }
        break;
      case Part::kRun:
        progress_[i].claimed ? GiveUpClaim(i, DeliveryFate::kWithdrawn)
                             : Settle(i, DeliveryFate::kWithdrawn);
        break;
      case Part::kCopy:
        Settle(i, DeliveryFate::kWithdrawn);
        break;
      case Part::kJournal:
        if (policy_.reject == RejectPolicy::kPark) {
          // The topic has the messages of a key in their order, so none before an earlier one.
          if (items_[i].stage == Stage::kRejecting) {
            Unanswered(i, Stage::kRejecting);
            break;
          }
          settlements_[i].text.clear();
          settlements_[i].conflict = false;
          progress_[i].claimed ? GiveUpClaim(i, DeliveryFate::kWithdrawn)
                               : Settle(i, DeliveryFate::kWithdrawn);
        }
        break;
      default:
        break;
    }
  }
}

// Its handler is through, and no marker will ever say so. What a marker can't tell is on record
// before the frontier passes it, where there is a record (rule 4).
void BatchMachine::Pass(size_t i) {
  settlements_[i].unprotected = true;
  if (policy_.reject != RejectPolicy::kStop && !items_[i].redriven) {
    settlements_[i].text = "it has no id";
    progress_[i].part = Part::kPassed;
  } else {
    Settle(i, DeliveryFate::kApplied);
  }
}

// The window counts the failures of earlier owners, the delivery its own. A redriven message begins
// anew, and ends where it was.
bool BatchMachine::Failed(size_t i, const Retry& retry) {
  const RetryPolicy& policy = policy_.retry;
  Attempts& attempts = settlements_[i].attempts;
  const bool redriven = items_[i].redriven;
  const uint32_t earlier = redriven ? 0 : progress_[i].attempt - 1;
  attempts.failed =
      static_cast<uint16_t>(std::min(std::max<uint32_t>(attempts.failed, earlier), 0xffffu));
  settlements_[i].touched |= !retry.not_done;
  settlements_[i].not_done = retry.not_done;
  progress_[i].failed = !retry.not_done;
  settlements_[i].text = retry.why.substr(0, kLongestRetryReason);
  milliseconds most = kLongestRetry;
  if (!retry.not_done) {
    const auto left = CountFailure(policy, grant_.called, attempts);
    if (!left) {
      return Refuse(
          i, GaveUp(attempts.failed, settlements_[i].text),
          redriven || policy.at_end == AtEnd::kPark ? policy_.reject : RejectPolicy::kStop);
    }
    most = *left;
  }
  const uint32_t pauses = retry.not_done ? attempts.made + 1u : attempts.failed;
  const milliseconds asked =
      retry.after.value_or(PauseAfter(policy, pauses, JitterSeed(items_[i])));
  const microseconds wait =
      std::max(microseconds(1), microseconds(std::clamp(asked, milliseconds(0), most)));
  progress_[i].claimed ? GiveUpClaim(i, DeliveryFate::kRetry, wait)
                       : Settle(i, DeliveryFate::kRetry, wait);
  return false;
}

bool BatchMachine::Refuse(size_t i, std::string why, RejectPolicy policy) {
  settlements_[i].text = std::move(why);
  if (policy != RejectPolicy::kStop) {
    progress_[i].part = Part::kJournal;
    return policy != RejectPolicy::kPark;  // the later ones of its key follow it there
  }
  progress_[i].claimed ? GiveUpClaim(i, DeliveryFate::kStop) : Settle(i, DeliveryFate::kStop);
  return false;
}

// What another batch needs to go on where this one leaves the message.
void BatchMachine::SetAside(size_t i) {
  const Part part = progress_[i].part;
  const bool claimed = progress_[i].claimed;
  switch (part) {
    case Part::kComplete:
      Atomic() ? LoseEffect(i, microseconds(0)) : Unanswered(i, Stage::kApplied);
      break;
    case Part::kPassed:
      Unanswered(i, Stage::kApplied);
      break;
    case Part::kJournal:
      Atomic() && claimed ? LoseEffect(i, microseconds(0)) : Unanswered(i, Stage::kRejecting);
      break;
    case Part::kEnd:
      Unanswered(i, Stage::kEnded);
      break;
    case Part::kPark:  // while handlers run, only refusals that an earlier batch has recorded
      Unanswered(i, Stage::kRecorded);
      break;
    case Part::kUndo:
      if (Atomic() && WasRefused(i)) {
        LoseEffect(i, microseconds(0));
      }
      break;
    case Part::kRun:
    case Part::kCopy:
    case Part::kAttached:
      Settle(i, DeliveryFate::kWithdrawn);
      break;
    default:
      break;
  }
  if (part == Part::kUndo || (part == Part::kRun && claimed)) {
    settlements_[i].stage = Stage::kReleasing;  // before anybody claims it again
    settlements_[i].token = items_[i].token;
  }
  if (part == Part::kComplete || part == Part::kJournal || part == Part::kPassed ||
      part == Part::kPark || part == Part::kEnd) {
    settlements_[i].wait = microseconds(0);  // the window is there: nothing to wait for
  }
}

// Decides the settlement and has the claim released; a waiting message holds none (rule 17).
void BatchMachine::GiveUpClaim(size_t i, DeliveryFate fate, microseconds wait) {
  Settle(i, fate, wait);
  progress_[i].part = Part::kUndo;
}

void BatchMachine::Settle(size_t i, DeliveryFate fate, microseconds wait) {
  Settlement& settlement = settlements_[i];
  settlement.fate = fate;
  settlement.stage = Stage::kFresh;
  settlement.wait = wait;
  settlement.token = Token{};
  settlement.uncertain =
      policy_.level == Level::kOpaque && (items_[i].touched || progress_[i].uncertain);
  const bool done = fate == DeliveryFate::kApplied || fate == DeliveryFate::kSuppressed;
  progress_[i].part = done && items_[i].redriven ? Part::kEnd : Part::kSettled;
}

// A fenced claim opens nothing, but an earlier, unanswered one of the same token may have: that has
// to be released, or the message would wait behind itself (rule 17).
void BatchMachine::SettleFenced(size_t i, DeliveryFate fate) {
  Settle(i, fate);
  settlements_[i].fenced = FencePlace::kClaim;
  if (items_[i].stage == Stage::kClaiming) {
    settlements_[i].stage = Stage::kReleasing;
    settlements_[i].token = items_[i].token;
  }
}

// The call may have been carried out. The delivery keeps its stage and its token, and the next
// batch asks again.
void BatchMachine::Unanswered(size_t i, Stage stage) {
  Settle(i, DeliveryFate::kPending, policy_.store_retry);
  // The window will not tell it again: the claim's doubt has to live on in the delivery.
  settlements_[i].touched |= progress_[i].uncertain;
  settlements_[i].stage = stage;
  settlements_[i].entry = progress_[i].entry;
  const bool never_claimed = stage == Stage::kRejecting && !progress_[i].claimed;
  settlements_[i].token = never_claimed ? Token{} : items_[i].token;
}

}  // namespace oncemq
