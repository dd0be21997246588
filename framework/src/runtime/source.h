// SPDX-License-Identifier: Apache-2.0
// What the poll loop needs from a log with consumer groups. Kafka is one (framework/src/kafka), a
// scripted one serves the tests.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "oncemq/framework/assignment.h"
#include "oncemq/framework/core.h"
#include "oncemq/framework/handler.h"
#include "oncemq/framework/runtime.h"

namespace oncemq {

struct PartitionName {
  std::string topic;
  int32_t partition = 0;
};

// A partition that the group has given to this member, and that has not begun yet.
struct NotBegun {
  PartitionName name;
  std::string why;
  bool stopped = false;  // it will not begin before it is assigned anew
  Holder holder = Holder::kBroker;
};

// How the client reads a partition.
struct FetchSight {
  std::string state;  // of ClientReport
  std::optional<BootTime> record_at = {};
  std::optional<BootTime> answer_at = {};
};

// How far the log of a partition is known; -1: not yet.
struct LogSight {
  int64_t end = -1;      // of the log, as the broker said it last
  int64_t read_to = -1;  // the end that reading has come to last: below it nothing is left to read
  FetchSight fetch = {};
};

// Shows the source's messages to a handler, one at a time. One for each thread that handles.
class MessageView {
 public:
  virtual ~MessageView() = default;
  // Valid until the next call.
  virtual const Message& Show(void* message) = 0;
};

// What the source has to tell. Called on the poll thread, from Serve() and Read() only.
class SourceEvents {
 public:
  // The group has assigned partitions to this member, perhaps none.
  virtual void Joined() {}
  // The partition may be read from now on; what arrives is admitted once the core gives credit.
  virtual void Assigned(PartitionId partition, const AssignFacts& facts) = 0;
  // To be drained; the source keeps it until GiveBack().
  virtual void Revoked(PartitionId partition) = 0;
  // Gone already, perhaps to somebody else.
  virtual void Lost(PartitionId partition) = 0;
  virtual void CommitAnswered(PartitionId partition, uint64_t number, CommitReply reply) = 0;
  // An incident: this partition is not read any further, for a reason that only a person can judge.
  // Partition -1: none of the group or topic of that name.
  virtual void Incident(const PartitionName& partition, int64_t offset, const std::string& why) = 0;
  // Before Assigned(): settles from where to read, by what the window knows of the partition.
  // Nothing: the window has not answered yet; again after RetryPrepare(). Errors as of the broker:
  // transient ones are tried again later, others are incidents.
  virtual std::optional<Status> Prepare(PartitionId partition, const PartitionName& name,
                                        Assignment& assignment) = 0;
  // What lies in [from, to), below the start of the assignment, is gone from the log: the window
  // never learns of it. Whether reading goes on, at `to`.
  virtual bool CatchUpGap(PartitionId partition, int64_t from, int64_t to) = 0;
  // Whether everything of the partition that was read has its outcome.
  virtual bool Finished(PartitionId partition) const = 0;
  // The source can't go on.
  virtual void Failed(const std::string& why) = 0;

 protected:
  ~SourceEvents() = default;
};

// The park topics of all readable partitions.
class ParkedSource {
 public:
  // The messages in its topic, before anything of a partition is admitted under this ownership.
  // Their offsets from `from` on, and from `frontier` on those done with another body. kUnavailable
  // while the topic is being read.
  virtual Result<ParkedMessages> Begin(PartitionId partition, OwnerEpoch owner, int64_t from,
                                       int64_t frontier) = 0;
  // Appends at most `most` messages to be run now. They are released like others. finished(offset)
  // tells whether the message's own delivery is over.
  virtual void Read(PartitionId partition, uint32_t most,
                    const std::function<bool(int64_t)>& finished,
                    std::vector<RedrivenArrival>& arrivals) = 0;
  // Begin() has to be asked anew.
  virtual void End(PartitionId partition) = 0;
  // The number of messages in its topic, once it is read.
  virtual std::optional<int64_t> Count(PartitionId /*partition*/) { return std::nullopt; }

 protected:
  ~ParkedSource() = default;
};

// Thread safety: one thread at a time, except NewView() and the views, which any thread may use.
class Source {
 public:
  virtual ~Source() = default;

  // Tells what has happened since the last call. Blocks only to ask where a new assignment starts,
  // bounded.
  virtual void Serve(SourceEvents& events) = 0;
  // Partitions that may be read now.
  virtual std::span<const PartitionId> readable() const = 0;
  // Appends at most `most` arrivals; how many. Never blocks. An arrival's memory is valid until
  // Release().
  virtual uint32_t Read(PartitionId partition, uint32_t most, std::vector<Arrival>& arrivals,
                        SourceEvents& events) = 0;
  virtual void Release(std::span<void* const> messages) = 0;
  // Copies each message out of the memory that it shares with others, and releases that memory.
  // From now on the message is the one that its entry says, and Release() takes that one.
  // Precondition: no view of ours shows it. By itself: nothing is shared.
  virtual void Detach(std::span<LeftBehind> /*messages*/) {}
  // One request for all of them; each is answered by CommitAnswered, perhaps within this call's
  // Serve().
  virtual void Commit(std::span<const CommitAction> commits) = 0;
  // The end of Revoked(), or of our own wish to stop.
  virtual void GiveBack(PartitionId partition) = 0;
  // The partition stays ours and begins anew, by Prepare() and Assigned(), at the commit that the
  // group has stored by then. Nothing more is read or committed before; the end of a commit that is
  // under way comes first. Precondition: the core has let go of it, as of a lost one.
  virtual void AssignAnew(PartitionId partition) = 0;

  // nullptr where refused messages are not parked in topics.
  virtual ParkedSource* parked() { return nullptr; }

  // Partitions that wait for Prepare() are asked about again by the next Serve().
  virtual void RetryPrepare() {}
  // Takes no new assignment from now on.
  virtual void Refuse() = 0;
  // Leaves the group and joins it again as a new member. Precondition: everything is given back.
  virtual void Rejoin() = 0;
  // Leaves the group for good, asynchronously: serve until closed() says so.
  virtual void Close() = 0;
  virtual bool closed() const = 0;
  // Where no broker answers, and why; empty: one does.
  virtual std::string Unreached() const = 0;
  // For how long none has; 0 where one does.
  virtual milliseconds UnreachedFor() const { return milliseconds(0); }
  // Those of the topics that no broker knows, as far as that was found out.
  virtual std::vector<MissingTopic> Missing() const { return {}; }
  // The end of what this assignment has given out by Read(): below it no other message will come.
  // It passes records that are no messages. -1: the partition may not be read.
  virtual int64_t ReadTo(PartitionId /*partition*/) const { return -1; }
  // Of a partition that may be read, from memory: never blocks.
  virtual LogSight LogOf(PartitionId /*partition*/) const { return {}; }
  // Valid until the next call that is not const.
  virtual const std::map<PartitionId, NotBegun>& not_begun() const = 0;

  virtual std::unique_ptr<MessageView> NewView() const = 0;
  virtual PartitionName Name(PartitionId partition) const = 0;
};

}  // namespace oncemq
