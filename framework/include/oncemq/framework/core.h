// SPDX-License-Identifier: Apache-2.0
// The core: everything that decides, without I/O, clock, thread or random. Events go in as calls
// with batches, actions come out of the Take* calls. The runtime's shell and the simulator drive
// the same object code.
//
//   at the start of an assignment (rule 9):
//     Assign -> RaiseOwnerEpoch -> OwnerEpochRaised -> Commit (confirm) -> CommitAnswered
//         -> admission opens
//   for each message:
//     Admit -> TakeBatch -> (batch machine, window, handler) -> Settle -> Commit
//   at the end of an assignment (rule 21):
//     Revoke -> running deliveries end or the deadline passes -> Commit (last) -> GiveBack
//
// Promise: one key runs in one place at a time, in order, also through retries and reassignment.
// One id runs in one place at a time. A commit never passes an unfinished delivery, and is one
// snapshot of offset, map and totals. A settlement of an earlier assignment changes nothing in
// them.
//
// Memory: deliveries, lanes and running ids have their places from construction on; other lists
// grow with use and are kept. So an applied message allocates nothing. Each commit does.
//
// Thread safety: none; one thread owns it.
#pragma once

#include <array>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "oncemq/framework/batch.h"
#include "oncemq/framework/commit_metadata.h"
#include "oncemq/ordering/frontier.h"

namespace oncemq {

enum class Order : uint8_t { kUnordered, kKey, kPartition };

// A second budget, for the messages of keys in a pause (rule 44). Its reason is a retry, another
// claim of the id, or a silent store. They leave in_flight, in_flight_bytes and partition_credit to
// other keys until the head of their key is through. Then they count there again, perhaps above the
// limit, and nothing is admitted until it is kept. At most in_flight + messages are open in all.
struct WaitingOptions {
  uint32_t messages = 65'536;  // of this process, to be raised where many keys fail for long
  uint64_t bytes = 256ull << 20;
  // Over the budget partitions with waiting messages admit nothing more. With `park` a message is
  // refused instead, of the key with the longest wait for a retry. One admission may exceed it.
  bool park = false;
  // A message that waits while so many bytes of later ones have finished is copied, so that it
  // keeps no response of the broker alive (Core::TakeLeftBehind).
  uint64_t left_behind_bytes = 32ull << 20;
};

struct RefusalOptions {
  // Refused messages go to a park topic, and the later ones of their key follow them.
  bool parks = false;
  // As in RetryPolicy.
  uint32_t deaths = 0;
};

// Stands in each commit.
struct CommitScope {
  uint64_t id = 0;
  uint32_t recipe = 1;
};

struct CoreOptions {
  Order order = Order::kKey;    // what must stay in order within a partition
  uint32_t in_flight = 32'768;  // unfinished messages in this process, without waiting ones
  // Their bytes. Nothing is admitted at the bound, and before it no more messages at once than
  // fit if they are as large as the last ones were. So one admission may exceed it, by as much as
  // its messages are larger than those before.
  uint64_t in_flight_bytes = 256ull << 20;
  WaitingOptions waiting;
  uint32_t partition_credit = 8'192;      // unfinished messages of one partition
  uint32_t span = 1'000'000;              // arrivals above the frontier of one partition
  uint32_t batch = 500;                   // messages handed to a worker at once
  uint32_t lane_batch = 128;              // of these, from one lane
  microseconds commit_interval{500'000};  // between commits of a partition that has moved
  microseconds session_timeout{
      45'000'000};  // after it the broker may give the partition to somebody else
  microseconds session_margin{5'000'000};  // no new effect starts in the last part of it (rule 10)
  microseconds store_retry{100'000};       // pause after the window or the broker did not answer
  // What another process is given again may find no marker: there is no window, or one that ends
  // with its process or stays behind on its host. Then only the commit's map says what is finished,
  // and nothing is admitted while that has no room left (rule 29).
  bool relies_on_map = false;
  // The level is opaque, and the next owner of a partition may find no marker of ours: commits say
  // how far handlers can have come, and none is called beyond that. A message that an owner before
  // us may have begun is told to the handler and counted as uncertain (rule 11).
  bool suspects = false;
  // The window knows an id within its partition: ids of different partitions never wait for each
  // other.
  bool partition_owned = false;
  RefusalOptions refusals;
  CommitScope scope;
};

struct Arrival {
  void* message = nullptr;  // the shell's; comes back by TakeReleased
  std::string_view id;      // valid until the message is released; empty where no window is used
  uint64_t id_hash = 0;     // ProcessHash(id), 0 for none
  uint64_t key_hash = 0;    // ProcessHash(key), 0 for a message without key: a lane of its own
  int64_t offset = 0;
  uint32_t fingerprint = 0;  // of the payload, the same in every process; 0: not taken
  uint32_t bytes = 0;
  LogTime time = kNoLogTime;  // of the record
  const char* refusal =
      nullptr;  // why it can't be handled at all; refused by policy, without claim or handler
};

// A message of a park topic, to be run.
struct RedrivenArrival : Arrival {
  bool drop = false;    // ends without a call
  bool first = false;   // as in ClaimRequest
  bool called = false;  // a handler may have had its effect
  bool begun = false;   // an earlier owner may have had it in hand
};

// The messages of a partition in its park topic.
struct ParkedMessages {
  std::vector<std::pair<uint64_t, uint32_t>> keys;  // hash as in Arrival, and number of messages
  // Parked, dropped, or copies of such messages. They are not done.
  std::vector<int64_t> offsets;
};

// A delivery whose message is to be copied, and then the copy.
struct LeftBehind {
  uint32_t slot = 0;
  void* message = nullptr;
  std::string_view id;  // the same bytes in the copy, perhaps elsewhere
  uint32_t bytes = 0;   // that the message counts for
};

// Where a partition starts, as found out by the source (assignment.h).
struct AssignFacts {
  uint32_t source = 0;  // number of the topic in the scope
  int32_t partition = 0;
  int64_t start = 0;  // first offset to admit
  int64_t read_from =
      0;  // at or below it: what lies between is finished and only completes the window
  CommitMetadata metadata;  // of the last commit, or the beginnings of a new history
  // With CoreOptions::suspects: the offsets that owners before may have begun, and that the commit
  // does not call finished. The handler is told of those below `reported_below`; of the others the
  // window knows, except messages without an id: they are always told.
  OffsetMap suspects;
  int64_t reported_below = std::numeric_limits<int64_t>::max();
  // Where the window has a store for the partition: the store's incarnation, which commits carry,
  // and the lowest offset from which on it knows what became of each, once what lies between
  // read_from and start is read.
  uint64_t incarnation = 0;
  int64_t known_from = 0;
  // No owner before has begun a message from there on.
  int64_t log_end = std::numeric_limits<int64_t>::max();
};

// How far an open message has come.
enum class OpenState : uint8_t {
  kQueued,    // for its turn: its key, its id, or its partition
  kRunning,   // it is with a worker
  kRetrying,  // its handler asked for another attempt
  kClaimed,   // another process, or an earlier batch, has the claim of its id
  kOwed,      // it is handled, and its marker or record is not written yet
  kStopped,   // it has stopped its partition
};
std::string_view ToString(OpenState state);

// The lowest message of a partition that has no outcome: commits stay below it.
struct OpenMessage {
  PartitionId partition = 0;
  int64_t offset = -1;        // -1: nothing is open
  std::string id;             // empty: none
  LogTime time = kNoLogTime;  // of the record
  OpenState state = OpenState::kQueued;
  // The handler's present call, or its last; 0: none. Calls of earlier owners count after the first
  // failure here.
  uint32_t attempt = 0;
  std::string why = {};                 // the handler's reason for its last retry
  std::optional<BootTime> next_try;     // kRetrying, kClaimed
  void* message = nullptr;              // as in Arrival, valid until the core releases it
  std::optional<std::string> key = {};  // its first bytes, from the shell, as is the next
  std::string trace_id = {};
};

struct RaiseOwnerEpochAction {
  PartitionId partition;
  uint32_t epoch;
  // above what the last commit says of its writer, whatever clock and store that had
  OwnerEpoch floor;
};
struct CommitAction {
  PartitionId partition;
  uint32_t epoch;
  uint64_t number;  // names this request in CommitAnswered
  int64_t offset;
  std::string metadata;
  // Log time at the offset, for what forgets by age: no record above it is older, but for the order
  // in which producers stamp them. kNoLogTime: not known.
  LogTime watermark;
};
struct GiveBackAction {
  PartitionId partition;
  uint32_t epoch;
  bool leave_group;  // a commit of ours may still be under way: only leaving the group makes it
                     // harmless
};
struct StopAction {
  PartitionId partition;
  int64_t offset;
  std::string why;
  std::optional<OpenMessage> message;  // the cause, if it is one
};
using Action = std::variant<RaiseOwnerEpochAction, CommitAction, GiveBackAction, StopAction>;

enum class CommitReply : uint8_t {
  kAcknowledged,
  kRefused,  // we are not the owner any more; the group will say so
  kUnknown,  // perhaps stored, or worth another try
  kNotSent,  // surely not stored, and worth another try
  kFenced,   // not sent: the window refused the ownership that it names
  // The broker will never store a commit of this partition, though we may own it for ever; nobody
  // but us will say so:
  kTooLarge,          // it takes less metadata than we need
  kNotAllowed,        // who we are may not commit for this group or topic
  kUnknownPartition,  // it does not know the partition
};

// The reason for a message in the park topic.
enum class ParkCause : uint8_t {
  kHandler,   // its handler has refused it, or its attempts have ended
  kFollows,   // an earlier message of its key is there
  kConflict,  // its id came before with another payload
  kAttached,  // a copy of a parked message
  kUncalled,  // no handler may have it, as it lacks an id or is too old
};
inline constexpr size_t kParkCauses = static_cast<size_t>(ParkCause::kUncalled) + 1;

// The end of a redriven message.
enum class RedriveEnd : uint8_t { kDone, kParked, kDropped };
inline constexpr size_t kRedriveEnds = static_cast<size_t>(RedriveEnd::kDropped) + 1;

// The troubles of messages, next to their outcomes.
struct TroubleCounts {
  int64_t retries = 0;                           // pauses after an attempt has failed
  int64_t retries_not_done = 0;                  // pauses without an attempt
  std::array<int64_t, kParkCauses> parked_by{};  // without redriven messages
  std::array<int64_t, kRedriveEnds> redriven{};
  std::array<int64_t, kFencePlaces> fenced{};
};

// Deliveries of this process by what became of them: deliveries = the sum of the others (rule 51).
struct DeliveryCounts : TroubleCounts {
  int64_t deliveries = 0;
  int64_t applied = 0;
  int64_t suppressed = 0;
  int64_t parked = 0;
  int64_t rejected = 0;
  int64_t handed_back = 0;
  int64_t open = 0;
  // Attributes of these, reported beside them.
  int64_t uncertain = 0;  // an upper bound: as many effects may have been made twice
  int64_t own_redelivery = 0;
  int64_t attached = 0;
  int64_t conflict = 0;
  int64_t result_dropped = 0;  // completed without a result that the window does not take
  int64_t unprotected = 0;     // applied beside the window, because they have no id
  int64_t repaired = 0;
  int64_t stale = 0;  // settled after their assignment had ended
  int64_t handler_calls = 0;
  DeliveryCounts& operator+=(const DeliveryCounts& more);
  bool Balanced() const {
    return deliveries == applied + suppressed + parked + rejected + handed_back + open;
  }
};

struct DurableTotals : Totals {
  int64_t surplus = 0;  // as of Frontier::Surplus(), now
};

enum class PartitionPhase : uint8_t { kNone, kRaising, kConfirming, kActive, kDraining, kStopped };
std::string_view ToString(PartitionPhase phase);

struct PartitionStatus {
  PartitionPhase phase = PartitionPhase::kNone;
  uint32_t epoch = 0;
  OwnerEpoch owner_epoch = 0;
  int64_t frontier = 0;     // lowest unfinished offset
  int64_t committed = -1;   // acknowledged by the broker; -1: nothing yet
  int64_t next_offset = 0;  // the lowest that may still be admitted
  bool map_full = false;    // nothing is admitted until the frontier moves (relies_on_map)
  int64_t suspect_to = -1;  // below it an earlier owner may have begun something; -1: nowhere
  // Below it unfinished messages run alone, after unclean ends. Nowhere if negative.
  int64_t cautious_to = -1;
  DurableTotals totals;   // of the last snapshot
  int64_t uncertain = 0;  // beside the totals, as of CommitMetadata
  DeliveryCounts counts;
  uint32_t retrying = 0;  // of the open ones: their handler asked for another attempt
  uint32_t waiting = 0;   // as of WaitingOptions
  uint64_t waiting_bytes = 0;
};

struct CoreLoad {
  uint32_t lanes = 0;
  uint32_t running = 0;     // messages with a worker
  uint32_t unfinished = 0;  // messages
  uint64_t bytes = 0;       // of these
};

class Core {
 public:
  explicit Core(const CoreOptions& options);
  ~Core();

  // --- assignment
  void Assign(PartitionId partition, const AssignFacts& facts, BootTime now);
  void OwnerEpochRaised(PartitionId partition, uint32_t epoch,
                        const Result<OwnerEpoch>& owner_epoch, BootTime now);
  void CommitAnswered(PartitionId partition, uint64_t number, CommitReply reply, BootTime now);
  // Hands queued deliveries back at once, waits for running ones until the deadline, then commits
  // and gives back.
  void Revoke(PartitionId partition, BootTime deadline, BootTime now);
  // Somebody else may own it already: no commit. Running deliveries end by their tokens.
  void Lost(PartitionId partition);

  // Nothing more of it is handled under this assignment; what is finished is still committed.
  void Halt(PartitionId partition, std::string why);

  // --- messages
  // How many messages of the partition may be admitted now.
  uint32_t Credit(PartitionId partition);
  // How many messages of the size that they have had lately fill CoreOptions::in_flight_bytes.
  uint64_t MessagesThatFit() const;
  void Admit(PartitionId partition, std::span<const Arrival> arrivals);
  // With RefusalOptions::parks, once in an assignment, before anything is admitted.
  void SetParked(PartitionId partition, const ParkedMessages& parked);
  // In the order of the topic for each key. They come before all messages of their key but those in
  // hand. After another refusal of one the others of its key leave unrun.
  void AdmitRedriven(PartitionId partition, std::span<const RedrivenArrival> arrivals);
  // Whether the message was admitted, and has its outcome.
  bool Finished(PartitionId partition, int64_t offset) const;
  // Every message below `end` is admitted. So the next commit passes what else lies there, once
  // these are finished: aborted messages, markers of transactions, gaps of compaction.
  void ReadTo(PartitionId partition, int64_t end);
  // Fills `batch` with the heads of ready lanes, at most `limit` messages (and CoreOptions::run);
  // false when nothing may run now. Applied messages whose marker is owed come first, in batches of
  // their own: so no completion waits for the claims and handlers of other messages.
  bool TakeBatch(MessageBatch& batch, BootTime now, uint32_t limit = UINT32_MAX);
  void Settle(std::span<Settlement> settlements, BootTime now);
  // Appends the claims of all deliveries that have an outcome and are not settled, for renewal
  // (rule 13): also of those in a batch. The process half of each token is left to the caller.
  void FindOwedClaims(std::vector<HeldClaim>& claims) const;
  // Appends the messages that have to be copied since the last look, each once. None of them is
  // with a worker, so nobody reads them until Replace(), which has to be the next call. Looks again
  // after each quarter of WaitingOptions::left_behind_bytes that was admitted.
  void TakeLeftBehind(std::vector<LeftBehind>& messages);
  void Replace(std::span<const LeftBehind> copies);

  // --- time and results
  void Tick(BootTime now);
  std::optional<BootTime> NextTimer() const;
  // Appends; both vectors are the caller's.
  void TakeActions(std::vector<Action>& actions);
  void TakeReleased(std::vector<void*>& messages);

  // --- views
  PartitionStatus Status(PartitionId partition) const;
  // Until when the partition is surely ours, by the last acknowledged commit of this assignment
  // (rule 10); BootTime{} before the first.
  BootTime SafeUntil(PartitionId partition) const;
  // Whether this core made that commit, in an assignment that it had confirmed. Then a window that
  // lives as long as the core knows the begun messages (WindowKnowsSuspects in assignment.h).
  bool Made(PartitionId partition, const CommitMetadata& commit) const;
  DeliveryCounts Counts() const;
  // Fills in the lowest open message of each `partition`, each named once, in rising order. With an
  // `id`, the lowest one with that id, also of a redrive. Walks over all unfinished messages, so it
  // is for now and then.
  void FindOldest(std::span<OpenMessage> messages) const;
  CoreLoad load() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace oncemq
