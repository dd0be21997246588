// SPDX-License-Identifier: Apache-2.0
// A look at the group of a service from outside, also while no member runs. It joins no group,
// commits nothing and makes no topic.
//
//   const auto group = QueryGroup(options, seconds(10));
//   for (const GroupPartition& partition : group->partitions) { Show(partition.lag()); }
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "oncemq/base/clock.h"
#include "oncemq/base/result.h"
#include "oncemq/framework/commit_metadata.h"
#include "oncemq/framework/runtime.h"

namespace oncemq {

struct GroupMember {
  std::string id;  // the broker gives it
  std::string client_id;
  std::string host;
};

struct GroupPartition {
  std::string topic;
  int32_t partition = 0;
  std::optional<GroupMember> member;
  // Nothing while its leader does not answer.
  std::optional<int64_t> log_start;
  std::optional<int64_t> log_end;  // including an open transaction
  std::optional<int64_t> committed;
  std::optional<CommitMetadata> commit;
  std::optional<Error> unread;  // of DecodeCommit(), for a commit that is not ours
  // Without a commit. False where KafkaOptions::start begins elsewhere.
  bool begins_at_log_start = false;

  std::optional<int64_t> lag() const {
    const auto from = !committed && begins_at_log_start ? log_start : committed;
    return from && log_end ? std::optional(*log_end - *from) : std::nullopt;
  }
};

struct GroupStatus {
  // The broker's word: Stable, PreparingRebalance, CompletingRebalance, Empty, or Dead for a group
  // without commits.
  std::string state;
  std::vector<GroupMember> members;
  std::vector<GroupPartition> partitions;  // topic by topic as in the options
  std::vector<std::string> missing_topics;
  std::string ends_unknown;  // the reason for logs without their offsets, if there are any
};

// **Failure:** kUnavailable and kTimeout where no broker answers. kInvalid for a property of the
// client, and without the right to describe topics and group.
//
// **Thread safety:** any thread. It blocks for six times `within` at most, with one topic.
Result<GroupStatus> QueryGroup(const RuntimeOptions& options, milliseconds within);

}  // namespace oncemq
