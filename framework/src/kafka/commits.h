// SPDX-License-Identifier: Apache-2.0
// Commits: sends a member's commits and tells what became of them.
//
// Before each one it looks whether the last acknowledged one is still there. A broker forgets a
// group's offsets when a topic is deleted. If a new topic has the old name, librdkafka reads on in
// it as if nothing had happened, and its next commit would wipe out the only trace: so the trace is
// looked for before it is wiped out. A round trip to the coordinator a commit, none a message.
//
// A commit that was handed to librdkafka can't land after its assignment was lost and the member
// has joined again: librdkafka counts it until the final answer (wait_commit_cnt), also while it
// waits for a coordinator; our unassign call travels behind it in the same queue; and no member
// joins before an unassign with count 0 is done (rd_kafka_assignment_serve). A static member is the
// exception, so there are none (docs/guarantees.md). The member adds a belt: it does not even call
// unassign before the answer is there.
//
// Thread safety: none; belongs to the poll thread.
#pragma once

#include <map>
#include <set>
#include <span>
#include <vector>

#include "commit_reply.h"
#include "committed_reader.h"
#include "partition_table.h"
#include "rdkafka_ptr.h"
#include "source.h"

namespace oncemq {

class Commits {
 public:
  // Answers come to `replies`, and by `committed_reader`, which outlives it.
  Commits(rd_kafka_t* client, rd_kafka_queue_t* replies, CommittedReader& committed_reader,
          bool cooperative, const PartitionTable& table);

  void Send(std::span<const CommitAction> commits);
  // The assignment is over. A commit that still waits for its look is never sent: under the next
  // generation the broker would take it, and throw back whoever owns the partition then.
  void Forget(PartitionId partition);
  // A commit was sent that names one of them and is not answered yet.
  bool Awaits(std::span<const PartitionId> partitions) const;
  // The group waits for partitions that we drain, or does not any more.
  void InRevocation(bool revoking);

  void OnCommitted(rd_kafka_event_t* event, SourceEvents& events);
  // Sends what has waited for this look. Returns the partitions whose commit has vanished; they
  // were told as incidents.
  std::vector<PartitionId> OnCommittedRead(const CommittedReader::Answer& answer,
                                           SourceEvents& events);
  // What could not even be asked.
  void Serve(SourceEvents& events);

 private:
  using Batch = std::vector<CommitAction>;

  bool ReadCommitted(uint64_t number, const Batch& batch);
  void OnCommittedRead(uint64_t number, const CommittedReader::Answer& answer,
                       std::vector<PartitionId>& vanished, SourceEvents& events);
  void Dispatch(uint64_t number, const Batch& batch);
  void CountRefusal(const Batch& batch, const CommitAnswers& answers);
  CommitReply Judge(rd_kafka_resp_err_t code) const;
  static void Answer(const Batch& batch, CommitReply reply, SourceEvents& events);

  rd_kafka_t* const client_;
  rd_kafka_queue_t* const replies_;
  CommittedReader& committed_reader_;
  const bool cooperative_;
  const PartitionTable& table_;
  std::set<PartitionId> acknowledged_;  // the broker holds a commit of this assignment
  bool revoking_ = false;
  uint32_t refusals_ = 0;  // answers in this revocation that said: the group rebalances
  uint64_t next_ = 1;
  // By request number, and not by address: what a late answer names may be gone.
  std::map<uint64_t, Batch> reading_;
  std::map<uint64_t, Batch> sent_;
  std::vector<uint64_t> failed_;  // of sent_
};

}  // namespace oncemq
