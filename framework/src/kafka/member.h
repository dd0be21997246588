// SPDX-License-Identifier: Apache-2.0
// Member: one librdkafka client as one member of the group, from subscribing to leaving.
//
// Each partition is read from a queue of its own, so a partition without credit costs nothing and
// is never paused. What the group asks for is taken as events, not callbacks: a revocation is
// answered only when its partitions have been drained, which librdkafka allows (it sends heartbeats
// while it waits for the unassign call).
//
// Thread safety: none; belongs to the poll thread.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "broker_contact.h"
#include "cleanup_policy.h"
#include "commits.h"
#include "committed_reader.h"
#include "kafka_message.h"
#include "missing_topics.h"
#include "partition_starts.h"
#include "partition_table.h"
#include "rdkafka_ptr.h"
#include "source.h"

namespace oncemq {

class Member {
 public:
  // `wake` is rung when there is something to serve or to read.
  Member(const RuntimeOptions& options, ClientPtr client, bool cooperative, int wake,
         MessageReader& reader, PartitionTable& table, GroupBeginning& beginning,
         BrokerContact& contact, CleanupPolicies& policies, const Clock& clock);
  ~Member();
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;

  // Before Subscribe(). Blocks: 6 s at most.
  Status QueryBeginning(GroupBeginning& beginning) {
    Status queried = beginning.Query(client_.get(), options_.kafka.topics);
    contact_.Check(client_.get());
    return queried;
  }
  // Whether the topics are compacted is said in the log, later.
  void QueryCleanupPolicies() {
    policies_.Query(client_.get(), options_.kafka.topics, queue_.get());
  }
  Status Subscribe();
  void Serve(SourceEvents& events);
  std::span<const PartitionId> readable() const { return readable_; }
  uint32_t Read(PartitionId id, uint32_t most, std::vector<Arrival>& arrivals,
                SourceEvents& events);
  void Commit(std::span<const CommitAction> commits) { commits_->Send(commits); }
  void GiveBack(PartitionId id);
  void AssignAnew(PartitionId id);
  void Refuse();
  void RetryPrepare() { resolve_at_ = clock_.Boot(); }
  void Close();
  bool closed() const;
  // What the group has given and has not begun; Source::not_begun().
  const std::map<PartitionId, NotBegun>& not_begun() const { return not_begun_; }
  // Source::Missing(), Source::ReadTo(), Source::LogOf().
  std::vector<MissingTopic> Missing() const { return missing_.Missing(); }
  int64_t ReadTo(PartitionId id) const;
  LogSight LogOf(PartitionId id) const;

  // Messages that were handed out and not released yet. The client must not be destroyed before
  // they are.
  size_t held() const { return held_; }
  // True: it was one of ours, and is released.
  bool Owns(const rd_kafka_message_t* message) const;
  void Released() { held_--; }
  // The client is never destroyed: messages of it are in use for ever.
  void Keep() { static_cast<void>(client_.release()); }

 private:
  struct Reader {
    QueuePtr queue;
    int64_t next = 0;        // as Source::ReadTo(); to read from, where it has to be assigned anew
    int64_t begun = 0;       // where it was started last
    int64_t start = 0;       // what is read below it only completes the window
    bool stopped = false;    // by an incident, or until it is assigned anew
    int64_t broken_at = -1;  // where the last range error was, which the log does not explain
    int unexplained = 0;     // so many there
    int64_t log_end = -1;    // when it was assigned
    int64_t read_to = -1;    // as in LogSight
    FetchSight fetch;
  };
  // The calls due to the group, and those made before its words were read.
  struct GroupState {
    bool must_answer = false;          // it waits for our assign call
    bool lost = false;                 // perhaps by a revocation not read yet
    bool revoking = false;             // it waits for our unassign call
    std::vector<PartitionId> revoked;  // what that call will name
    std::set<PartitionId> draining;    // of these, not given back yet
    bool refusing = false;
    std::set<PartitionId> taken_out;  // ours by the group, but not in librdkafka's assignment
    bool answered_early = false;      // perhaps a revocation that was not read yet
  };

  // member.cc
  std::vector<EventPtr> TakeEvents();
  void OnEvent(rd_kafka_event_t* event, SourceEvents& events);
  void OnDescribed(rd_kafka_event_t* event);
  void OnError(rd_kafka_event_t* event, SourceEvents& events);
  void TakeCommittedReads(SourceEvents& events);
  bool Broken(PartitionId id, const rd_kafka_message_t* message, SourceEvents& events);

  // member_overtaken.cc
  bool GoesOnAtLogStart(const Reader& reader) const;
  void FollowLog(SourceEvents& events);
  bool TakeOut();
  bool IsOut(PartitionId id) const;
  void FindLogStart(PartitionId id, SourceEvents& events);
  void GoOnThere(PartitionId id, const LogBounds& log, SourceEvents& events);
  void GoOnAt(PartitionId id, int64_t next);
  void StopOvertaken(PartitionId id, const std::string& why, SourceEvents& events);
  void BeginAnew(PartitionId id, SourceEvents& events);

  // member_assignment.cc
  void OnAssign(const rd_kafka_topic_partition_list_t& list, SourceEvents& events);
  void OnRevoke(const rd_kafka_topic_partition_list_t& list, SourceEvents& events);
  void NoteLoss();
  std::vector<PartitionId> Numbers(const rd_kafka_topic_partition_list_t& list);
  void Resolve(SourceEvents& events);
  std::vector<Result<Assignment>> Query(std::span<const PartitionName> names);
  bool MayAnswerLater(PartitionId id, const Error& error);
  void Start(PartitionId id, int64_t read_from, int64_t start);
  // Where it fails, none of `fresh` is read.
  Status ApplyAssignment(std::span<const PartitionId> fresh, bool first);
  void PutBack(PartitionId id, const PartitionName& name, const Error& error);
  void UnassignWhenDrained();
  void Unassign();
  void AwaitStopped();
  void Drop(PartitionId id);
  void ListReadable();
  PartitionListPtr ListOf(std::span<const PartitionId> ids) const;

  const RuntimeOptions& options_;
  const bool cooperative_;
  const int wake_;
  MessageReader& reader_;
  PartitionTable& table_;
  BrokerContact& contact_;
  CleanupPolicies& policies_;
  const Clock& clock_;

  ClientPtr client_;
  CommittedReader committed_reader_;
  PartitionStarts starts_;
  MissingTopics missing_;
  QueuePtr queue_;        // the group's, and everything else that is no message
  QueuePtr close_queue_;  // from Close() on
  std::optional<Commits> commits_;
  std::map<PartitionId, Reader> readers_;  // librdkafka's assignment, and incidents in it
  std::vector<PartitionId> readable_;
  std::vector<rd_kafka_message_t*> batch_;
  std::set<const rd_kafka_topic_t*> topics_;  // of messages that were handed out
  size_t held_ = 0;

  std::vector<PartitionId> unresolved_;  // assigned by the group; their start is not known yet
  std::map<PartitionId, NotBegun> not_begun_;  // these, and those that may not start
  BootTime resolve_at_{};
  std::map<PartitionId, BootTime> unknown_since_;  // of these and overtaken_: no broker knows them
  std::set<std::string> denied_;                   // told as incidents
  GroupState group_;

  struct Overtaken {
    std::string why;     // librdkafka's words
    bool known = false;  // that its records are gone; it waits for those that were read
  };
  std::map<PartitionId, Overtaken> overtaken_;  // by retention, or to be assigned anew anyway
  BootTime follow_at_{};
  std::set<PartitionId> anew_;  // are drained by our own wish, and then assigned anew
};

}  // namespace oncemq
