// SPDX-License-Identifier: Apache-2.0
// CommitFlight: what happens to a commit between settle and committed.
//
//   state              next state
//   asked for by core  Send(): with the store, or ready without one. End(): dropped.
//   with the store     Announced(): ready. Where the store fails, the core asks again. Where the
//                      assignment has ended, it is dropped.
//   ready              Source::Commit() first looks for the last commit, then sends (commits.h).
//   sent               Answered(): the core counts it, and the store may forget what lies below.
//                      Without an answer it is unknown, and may land until the next answer.
//
// **Promise:** no commit is sent before its store has it (rule 27). A partition goes in doubt while
// a commit may still land. It is then not given back, and the member leaves the group (rule 21).
//
// **Thread safety:** none; belongs to the poll thread.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "history_thread.h"
#include "oncemq/framework/core.h"
#include "window_stores.h"

namespace oncemq {

class AssignedPartitions;
struct PollState;

class CommitFlight {
 public:
  // One for each partition.
  struct State {
    uint32_t announcing = 0;                   // commits with the history thread, of any assignment
    std::optional<BootTime> with_store_since;  // nothing of this assignment's commit was sent
    uint64_t requested = 0;                    // the number of the last commit
    BootTime requested_at{};
    bool unknown = false;   // an earlier commit has got no answer, and may still land
    bool in_doubt = false;  // drained, but a commit of it may still be under way
  };

  CommitFlight(PollState& poll, AssignedPartitions& partitions)
      : poll_(poll), partitions_(partitions) {}

  void Request(CommitAction commit);
  // The commits asked for or announced since the last call.
  void Send();
  // The partition is given back. True: in doubt.
  bool End(const GiveBackAction& action);
  // An answer of the history thread.
  void Announced(HistoryThread::Announce& job);
  void Answered(PartitionId partition, uint64_t number, CommitReply reply);

  // The announcement due before the commit is sent, if any. The window knows the partition below
  // `known_to` by now.
  static std::optional<Announcement> Plan(WindowStores& stores, const CommitAction& commit,
                                          int64_t known_to);
  // The broker has it, so the window may forget, unless a later commit was announced.
  static void Acknowledged(WindowStores& stores, PartitionId partition, uint64_t number,
                           OwnerEpoch owner_epoch);

 private:
  bool Announce(CommitAction& commit);

  PollState& poll_;
  AssignedPartitions& partitions_;
  std::vector<CommitAction> requested_;
  std::vector<CommitAction> ready_;
};

}  // namespace oncemq
