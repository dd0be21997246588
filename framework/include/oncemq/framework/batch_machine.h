// SPDX-License-Identifier: Apache-2.0
// BatchMachine: the way of one batch through window, handler and journal, as a state machine
// without I/O.
//
// The shell asks step(), does it with the public request lists, reports back, and asks again. The
// simulator does the same, and loses replies or dies between any two steps.
//
//   kRelease0 -> kRestore -> kClaim -> kRelease -> kRecord -> kHandle -> kComplete -> kJournal
//     -> kPark -> kRelease -> kSettled
//
// Promise: a lane keeps claims for a prefix only: behind the first message that may not run, claims
// are released at once (rule 17). A copy follows the outcome of its original (rule 18). After a
// message that did not finish, the rest of its lane is withdrawn. A completion that the window
// refuses is never counted as done: the delivery asks the window again (rule 16). A call without an
// answer leaves the token out, and the next batch repeats it with the same token.
//
// Memory: a machine is reused from batch to batch, so nothing is allocated per message.
//
// Thread safety: none; belongs to one worker.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "oncemq/base/check.h"
#include "oncemq/framework/batch.h"
#include "oncemq/framework/outcome.h"

namespace oncemq {

enum class RejectPolicy : uint8_t {
  kStop,
  kJournal,  // a file
  kPark,     // a topic, with the whole message
};

// The fate of a refused message with a record.
constexpr DeliveryFate FateOnRecord(RejectPolicy policy) {
  return policy == RejectPolicy::kPark ? DeliveryFate::kParked : DeliveryFate::kRejected;
}

// The number of a message's record in a park topic.
constexpr uint64_t ParkTopicEntry(const Coordinates& at) {
  return static_cast<uint64_t>(at.offset) + 1;
}

struct BatchPolicy {
  // What a failed attempt may have left behind. The runtime takes it from the window, which had to
  // be told; a batch machine with a window has to be told too.
  std::optional<Level> level;
  bool window = true;                         // false: no ids, every message is granted
  size_t max_result_bytes = 65'536;           // that the window keeps; the runtime asks it
  RejectPolicy reject = RejectPolicy::kStop;  // what Reject does to the partition
  microseconds store_retry{100'000};          // pause after a call without an answer
  RetryPolicy retry;
};

enum class BatchStep : uint8_t {
  kRestore,   // window.Restore(restores(), changes())   -> Restored(status)
  kClaim,     // window.Claim(claims(), claim_answers()) -> Claimed(status)
  kRelease,   // window.Release(releases(), changes())   -> Released(status)
  kRecord,    // window.RecordUncertain(uncertain())     -> Recorded(status)
  kHandle,    // call the handler for Next(now) until it is null; Handled(outcome) after each
  kComplete,  // window.Complete(completions(), changes()) -> Completed(status); one by one after
              // a kInvalid. At the level atomic window.CompleteWith(effects, ...), for all at once
  kJournal,   // put journal_entries() on record         -> Journaled(status, first_entry)
  kPark,      // window.Park(parks(), changes())         -> Parked(status)
  kSettled,   // core.Settle(settlements())
};

// What the handler's shell needs to know about the message it is about to handle.
struct Grant {
  const BatchItem* item = nullptr;
  Token token;
  uint32_t attempt = 1;    // of this delivery, and of earlier owners as far as the window knows
  bool uncertain = false;  // an earlier attempt may have had its effect
  BootTime called{};
};

enum class RecordKind : uint8_t {
  kRefused,
  kFollows,  // a parked message of its key
  kPassed,   // handled without an id
  // A copy of a parked message. The topic tells all offsets without a done id (rule 4).
  kAttached,
  // A redriven message has its record already:
  kRefusedAgain,
  kEnded,    // it is done
  kDropped,  // it is given up
};

struct JournalEntry {
  const BatchItem* item = nullptr;
  std::string_view why;
  RecordKind kind = RecordKind::kRefused;
  uint32_t attempts = 0;  // calls of its handler
};

// Issues tokens: one per claim attempt. Not shared between workers, so it needs no lock.
class TokenSource {
 public:
  explicit TokenSource(uint64_t process, uint64_t first = 1) : process_(process), next_(first) {}
  uint64_t process() const { return process_; }
  Token Next() { return {process_, next_++}; }

 private:
  uint64_t process_;
  uint64_t next_;
};

class BatchMachine {
 public:
  BatchMachine(const BatchPolicy& policy, TokenSource tokens) : policy_(policy), tokens_(tokens) {
    ONCEMQ_CHECK(policy.level || !policy.window, "a batch machine with a window needs its level");
  }

  // Takes over the batch's items (swapped, so that buffers are reused).
  void Start(MessageBatch& batch);
  BatchStep step() const { return step_; }
  // Of the batch: past it no new effect may start.
  BootTime safe_until() const { return safe_until_; }
  const BatchPolicy& policy() const { return policy_; }

  std::span<const RestoreRequest> restores() const { return restores_; }
  std::span<const ClaimRequest> claims() const { return claims_; }
  std::span<const ReleaseRequest> releases() const { return releases_; }
  // Calls of this batch that may repeat an effect; in the order of Next().
  std::span<const UncertainCall> uncertain() const { return uncertain_; }
  std::span<const CompleteRequest> completions() const { return completions_; }
  std::span<const JournalEntry> journal_entries() const { return journal_; }
  std::span<const ParkRequest> parks() const { return parks_; }
  std::span<ClaimAnswer> claim_answers() { return answers_; }
  std::span<MarkerChange> changes() { return changes_; }

  void Restored(const Status& status);
  void Claimed(const Status& status);
  void Released(const Status& status);
  // After an error none of uncertain() is called: nobody could list it.
  void Recorded(const Status& status);
  // The next message to handle, or nullptr: then the step has moved on. Past safe_until nothing
  // starts any more.
  const Grant* Next(BootTime now);
  // False: its result is longer than the window keeps. It is completed without one.
  bool Handled(Outcome&& outcome);
  // No more handler calls in this batch: what has not started is withdrawn.
  void StopHandling();
  // For a handler that does not return: settles everything but its message, as far as each has
  // come, so that the other keys go on elsewhere. The machine goes on with that one message.
  // Precondition: between Next() and Handled().
  void SettleOthers(std::vector<Settlement>& settled);
  void Completed(const Status& status);
  // Whether the batch's handlers write their effects into the window's store. One EffectBatch then
  // belongs to the batch, from its first handler to its completion.
  bool Atomic() const { return policy_.window && policy_.level == Level::kAtomic; }
  // Entries are numbered from `first_entry` on, in the order of journal_entries(). With kPark it is
  // ParkTopicEntry(). After kFull the partition stops.
  void Journaled(const Status& status, uint64_t first_entry);
  void Parked(const Status& status);

  std::span<Settlement> settlements() { return settlements_; }

  // Claims that a long handler needs renewed (rule 13), also for another thread: from the moment
  // that step() is kHandle until Next() has returned null, and during the call that kComplete asks
  // for. Reads only what handling does not write, so it may name claims whose handlers have ended,
  // but none that was given back before the first one.
  std::vector<RenewRequest> ClaimsToRenew() const;

 private:
  enum class Part : uint8_t {
    kRelease,  // an unanswered release from an earlier batch comes first
    kRestore,
    kClaim,
    kCopy,  // follows the item before it with the same id
    kRun,   // granted, waits for its handler
    kComplete,
    kJournal,
    kPassed,    // handled without an id, goes on record beside the refused ones
    kAttached,  // so does a copy of a parked message
    kEnd,       // redriven, and its decided settlement goes on record first
    kPark,
    kUndo,  // its claim has to be released; the settlement is decided
    kSettled,
  };
  enum class ReleaseRound : uint8_t { kEarlier, kPrefix, kLast };
  struct Progress {
    Part part = Part::kSettled;
    uint32_t request = 0;   // index in the list of its present step
    uint32_t original = 0;  // for kCopy: index of the item that it follows
    uint64_t entry = 0;     // for kPark: the number of its record
    uint32_t attempt = 1;
    bool uncertain = false;
    bool claimed = false;  // a claim of ours is in the window
    bool failed = false;   // its handler asks for another attempt, which the window counts
  };

  // The steps, in order; each collects its requests and passes on where there are none.
  // batch_machine.cc, and from CompleteDone() to Parked() batch_record.cc
  void ReleaseEarlier();
  void RestoreCarried();
  void ClaimAll();
  void JudgeAll();
  void RecordUncertain();
  void CompleteDone();
  void JournalRefused();
  void ParkRefused();
  void ReleaseUndone();
  void FollowOriginals();
  void CollectReleases(Part part);

  // batch_record.cc
  void AddCompletion(size_t i);
  void CompleteNext(size_t from);
  void CompletedTogether(const Status& status);
  bool WasRefused(size_t i) const;
  void LoseEffect(size_t i, microseconds wait);
  void CompletedOne(size_t i, const Status& status, MarkerChange change);
  void DropResult(size_t i);

  // What becomes of one item. batch_judge.cc
  Part Plan(size_t i);
  bool FollowsEarlier(size_t i);
  void JudgeLane(size_t begin, size_t end);
  bool Judge(size_t i);  // false: the lane stops here
  void WithdrawFrom(size_t begin, size_t end);
  uint32_t AttemptOf(size_t i) const;
  bool IsUncertain(size_t i) const;
  bool WithoutId(size_t i) const { return policy_.window && items_[i].id.empty(); }
  void Pass(size_t i);
  bool Failed(size_t i, const Retry& retry);  // false: the lane stops here
  // false: the partition stops here
  bool Refuse(size_t i, std::string why, RejectPolicy policy);
  void SetAside(size_t i);
  void GiveUpClaim(size_t i, DeliveryFate fate, microseconds wait = {});
  void Settle(size_t i, DeliveryFate fate, microseconds wait = {});
  void SettleFenced(size_t i, DeliveryFate fate);
  void Unanswered(size_t i, Stage stage);
  size_t LaneEnd(size_t i) const;

  const BatchPolicy policy_;
  TokenSource tokens_;
  BatchStep step_ = BatchStep::kSettled;
  ReleaseRound round_ = ReleaseRound::kEarlier;
  BootTime safe_until_;
  size_t at_ = 0;         // next item of the handle step
  bool spoiled_ = false;  // the effects of the present message stand on some that are lost
  bool singly_ = false;   // the window found something wrong with the completions as a batch
  size_t single_ = 0;     // then: the item that is completed now
  Grant grant_;
  std::vector<BatchItem> items_;
  std::vector<Progress> progress_;
  std::vector<Settlement> settlements_;
  std::vector<RestoreRequest> restores_;
  std::vector<ClaimRequest> claims_;
  std::vector<ClaimAnswer> answers_;
  std::vector<ReleaseRequest> releases_;
  std::vector<UncertainCall> uncertain_;
  std::vector<CompleteRequest> completions_;
  std::vector<JournalEntry> journal_;
  std::vector<ParkRequest> parks_;
  std::vector<MarkerChange> changes_;
};

}  // namespace oncemq
