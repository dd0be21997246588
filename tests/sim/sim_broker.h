// SPDX-License-Identifier: Apache-2.0
// SimBroker: the other side of the wire. A group with members, generations, session time-outs,
// eager and cooperative assignment, and the committed offsets. Like the real one it judges a commit
// by membership and generation, not by partition. Calls take effect at once; the network around
// them belongs to the caller.
//
// Thread safety: none.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "config.h"
#include "event_loop.h"
#include "history.h"
#include "log.h"
#include "oncemq/framework/assignment.h"
#include "rng.h"

namespace oncemq::sim {

using MemberId = uint32_t;  // 0: none yet

struct Joined {
  MemberId member = 0;
  uint32_t generation = 0;
  std::vector<int32_t> partitions;
  std::vector<uint32_t> terms;  // of each: how often it has been assigned so far
};

enum class Beat : uint8_t { kFine, kRebalance, kUnknownMember };

struct CommitCall {
  ActorId process = kWorld;
  MemberId member = 0;
  uint32_t generation = 0;
  int32_t partition = 0;
  uint32_t epoch = 0;
  int64_t number = 0;  // in the history
};

class SimBroker {
 public:
  SimBroker(const Config& config, const Log& log, EventLoop& loop, History& history);

  // Answers when the group is complete, or at once with member 0 if that member is unknown. `owned`
  // is what it keeps; what it had besides is free from now on.
  using JoinAnswer = std::function<void(const Joined&)>;
  void Join(MemberId member, ActorId process, const std::vector<int32_t>& owned, JoinAnswer answer);
  void Leave(MemberId member);
  Beat Heartbeat(MemberId member, uint32_t generation);
  bool Commit(const CommitCall& call);  // false: refused
  CommittedPosition Committed(int32_t partition) const { return committed_[Index(partition)]; }
  LogBounds Bounds(int32_t partition, Micros now) const;
  int64_t LogStart(int32_t partition) const { return starts_[Index(partition)]; }
  // Whether compaction and retention have left the record.
  bool Has(int32_t partition, int64_t offset) const {
    return offset >= LogStart(partition) && !compacted_away_[Index(partition)].contains(offset);
  }

  // An operator's acts.
  void Reshuffle();
  void Reset(int32_t partition, int64_t offset, bool unknown_below);
  void Expire(int32_t partition);  // nobody has committed for too long
  bool Empty() const { return members_.empty(); }
  // What the log's own policies do, to what was handled only: the rest is another rule's business.
  // False: nothing went.
  bool Compact(int32_t partition);
  bool Retain(int32_t partition, int64_t thousandths);

  ActorId owner(int32_t partition) const { return owners_[Index(partition)]; }
  bool AllOwned() const;

 private:
  struct Member {
    ActorId process = kWorld;
    uint32_t generation = 0;
    Micros last_heard = 0;
    bool joined = false;  // waits for the group to be complete
    JoinAnswer answer;
  };

  static size_t Index(int32_t partition) { return static_cast<size_t>(partition); }
  void Touch(MemberId member);
  void Clean(int32_t partition, const LogRecord& record);
  int64_t HandledTo(int32_t partition) const;
  void Remove(MemberId member);
  void SetOwner(int32_t partition, MemberId member);
  void StartRebalance();
  void CompleteSoon();
  void Complete();
  std::vector<MemberId> Target();
  MemberId OneOf(const std::vector<MemberId>& members);

  const Config& config_;
  const Log& log_;
  EventLoop& loop_;
  History& history_;
  Rng rng_;
  std::map<MemberId, Member> members_;
  std::vector<MemberId> owner_members_;
  std::vector<ActorId> owners_;
  std::vector<uint32_t> terms_;
  std::vector<CommittedPosition> committed_;
  std::vector<int64_t> starts_;
  std::vector<std::set<int64_t>> compacted_away_;
  MemberId next_member_ = 1;
  uint32_t generation_ = 0;
  uint64_t round_ = 0;
  bool preparing_ = false;
  bool reshuffle_ = false;
};

}  // namespace oncemq::sim
