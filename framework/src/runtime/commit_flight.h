// SPDX-License-Identifier: Apache-2.0
// CommitFlight: what happens to a commit between settle and committed. Rule 27: no commit is sent
// before the store of its partition has it.
//
//   the commit is      next
//   asked for by the   Send(): with the store; ready, where no store is open; dropped, where its
//   core               partition goes first
//   with the store     Announced(): ready; or the core asks again, where the store fails; dropped,
//                      where its assignment has ended
//   ready              Source::Commit() looks for the last commit, and sends (commits.h)
//   sent               Answered(): the core counts it, and the store may forget what is below; or
//                      nobody knows, and it may still land
//
// A partition that goes while a commit may land is in doubt: it is not given back, and the member
// leaves the group instead (rule 21).
//
// Thread safety: none; belongs to the poll thread.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "oncemq/framework/core.h"
#include "window_desk.h"
#include "window_stores.h"

namespace oncemq {

class AssignedPartitions;
struct PollState;

class CommitFlight {
 public:
  // What lasts from one call to the next, for one partition.
  struct State {
    uint32_t announcing = 0;                   // commits with the desk, of any assignment
    std::optional<BootTime> with_store_since;  // nothing of this assignment's commit was sent
    bool unknown = false;   // an earlier commit has got no answer, and may still land
    bool in_doubt = false;  // drained, but a commit of it may still be under way

    void Begin() {
      with_store_since.reset();
      unknown = in_doubt = false;
    }
  };

  CommitFlight(PollState& poll, AssignedPartitions& partitions)
      : poll_(poll), partitions_(partitions) {}

  void Ask(CommitAction commit);
  // All that were asked for since the last call, and those that are announced.
  void Send();
  // The partition is given back. True: in doubt.
  bool End(const GiveBackAction& action);
  // An answer of the desk.
  void Announced(WindowDesk::Announce& job);
  void Answered(PartitionId partition, uint64_t number, CommitReply reply);

  // What has to be announced before the commit is sent; nothing: it may be sent. `known_to`: up to
  // where the window knows the partition by now.
  static std::optional<Announcement> Plan(WindowStores& stores, const CommitAction& commit,
                                          int64_t known_to);
  // The broker has it, so that the window may forget. Not where a later commit was announced.
  static void Acknowledged(WindowStores& stores, PartitionId partition, uint64_t number, Own own);

 private:
  bool Announce(CommitAction& commit);

  PollState& poll_;
  AssignedPartitions& partitions_;
  std::vector<CommitAction> asked_;
  std::vector<CommitAction> ready_;
};

}  // namespace oncemq
