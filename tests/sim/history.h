// SPDX-License-Identifier: Apache-2.0
// History: everything that happened, as flat records in the order of time. Checkers read nothing
// else.
//
// A call is kInvoke where it was sent, kOk or kFail where the other side carried it out or refused
// it (at that moment, whatever became of the reply). kInfo is a plain statement.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config.h"  // before kNone, which would be shadowed there
#include "event_loop.h"
#include "oncemq/base/token.h"
#include "oncemq/framework/commit_metadata.h"
#include "oncemq/framework/core.h"

namespace oncemq::sim {

enum class Op : uint8_t {
  kStart,    // a process begins
  kCrash,    // a process is gone; `flag`: without a word
  kOwner,    // the group: `process` owns the partition from now on (0: nobody), `value` counts
             // assignments
  kReset,    // an operator commits `offset`, or (-1) the commit is gone; `flag`: nothing was known
             // below it
  kAssign,   // the core takes a partition over at `offset`; `value`: number of the commit it starts
             // from; `term`
  kRaise,    // an owner epoch
  kCommit,   // `offset`, `value`: number in commits; invoke: `aux` when the core asked for it
  kAnswer,   // the core hears what became of a commit: `value` CommitReply
  kAdmit,    // a delivery
  kBounds,   // after admission: `value` unfinished, `aux` bytes, without messages that waited
             // before it; with `flag`: `value` waited in the partition
  kTake,     // a delivery goes to a worker: `value` names the run, `aux` Stage
  kClaim,    // invoke: token; ok: `value` ClaimVerdict, `flag` uncertain
  kRelease,  // ok: `value` MarkerChange; likewise the next ones
  kComplete,
  kPark,
  kRestore,
  kRenew,
  kHandle,   // invoke: `flag` told that it is uncertain; ok: `value` 0 done, 1 retry, 2 reject
  kEffect,   // at the target: `value` 0 accepted, 1 already done, 2 refused for its fence
  kJournal,  // a refusal is on record; in a park topic: `value` ParkKind, fail: it is void
  kSettle,   // `value` DeliveryFate, `aux` bits, see below, `flag` uncertain
  kGone,     // the core gave the message back
  kRevoke,   // `value`: deadline
  kLost,
  kGiveBack,    // `flag` leaves the group
  kStop,        // a policy stopped the partition at `offset`
  kCounts,      // `value`: number in counts
  kHealed,      // no more faults from here on
  kDrained,     // everything was finished
  kOpenClaim,   // at the end: a claim that nobody ended
  kRefused,     // an assignment that must not start: an incident, for a person
  kPower,       // a host went down, `value`: it lost something that was written
  kMoved,       // an operator took a partition's stores away or put older ones back
  kCleaned,     // the record at `offset` went from the log
  kNotRead,     // a catch-up goes on without what lies in [`offset`, `value`)
  kParkRecord,  // as kJournal, of what is no entry
};

enum class Phase : uint8_t { kInvoke, kOk, kFail, kInfo };

inline constexpr uint32_t kNone = ~uint32_t{0};

// The rest of a settlement, in Record::aux.
inline constexpr int64_t kStageMask = 15;
inline constexpr int64_t kHandledBit = 16;
inline constexpr int64_t kSameDeliveryBit = 32;
inline constexpr int64_t kAttachedBit = 64;
inline constexpr int64_t kConflictBit = 128;
inline constexpr int64_t kUnprotectedBit = 256;
inline constexpr int64_t kAloneBit = 512;

struct Record {
  Micros time = 0;
  ActorId process = kWorld;
  Op op = Op::kStart;
  Phase phase = Phase::kInfo;
  bool flag = false;
  int32_t partition = -1;
  uint32_t epoch = 0;
  uint32_t term = 0;
  int64_t offset = -1;
  uint32_t delivery = kNone;
  uint32_t id = kNone;
  Token token;
  uint64_t owner_epoch = 0;
  int64_t value = 0;
  int64_t aux = 0;
};

// One arrival of a message in a process. Its number is its index.
struct DeliveryFacts {
  ActorId process = kWorld;
  int32_t partition = -1;
  uint32_t epoch = 0;
  int64_t offset = -1;
  uint32_t id = kNone;
  int32_t key = -1;
  uint32_t bytes = 0;
  uint32_t payload = 0;
  bool redriven = false;  // from the park topic
  bool dropped = false;   // and given up
};

struct CommitFacts {
  int64_t offset = 0;
  CommitMetadata metadata;
  std::string text;  // as sent; empty for an operator's commit
};

// Thread safety: none.
class History {
 public:
  void Append(const Record& record);
  uint32_t AddDelivery(const DeliveryFacts& facts);
  int64_t AddCommit(CommitFacts facts);
  int64_t AddCounts(const DeliveryCounts& counts);

  const std::vector<Record>& records() const { return records_; }
  const DeliveryFacts& delivery(uint32_t number) const { return deliveries_[number]; }
  const std::vector<DeliveryFacts>& deliveries() const { return deliveries_; }
  const CommitFacts& commit(int64_t number) const { return commits_[static_cast<size_t>(number)]; }
  const DeliveryCounts& counts(int64_t number) const {
    return counts_[static_cast<size_t>(number)];
  }
  // Equal traces have equal hashes; different ones, in all likelihood, different ones.
  uint64_t hash() const { return hash_; }

 private:
  std::vector<Record> records_;
  std::vector<DeliveryFacts> deliveries_;
  std::vector<CommitFacts> commits_;
  std::vector<DeliveryCounts> counts_;
  uint64_t hash_ = 0;
};

// Who handles without ownership reads beside the group.
inline bool IsReplay(const Record& record) {
  return (record.op == Op::kHandle || record.op == Op::kEffect) && record.owner_epoch == 0;
}
// A settled delivery does not come again.
bool IsFinal(const Record& settle);
inline DeliveryFate FateOf(const Record& settle) {
  return static_cast<DeliveryFate>(settle.value);
}
inline Stage StageOf(const Record& settle) {
  return static_cast<Stage>(settle.aux & kStageMask);
}

std::string_view ToString(Op op);
std::string_view ToString(DeliveryFate fate);
std::string ToString(const Record& record, const History& history);

}  // namespace oncemq::sim
