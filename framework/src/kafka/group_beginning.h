// SPDX-License-Identifier: Apache-2.0
// GroupBeginning: what was there before this process joined the group. The start policy is for a
// group without commits. A partition that was added later has records that the group has missed, so
// it begins at the start of its log.
//
// Thread safety: none.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "oncemq/base/result.h"
#include "rdkafka_ptr.h"

namespace oncemq {

class GroupBeginning {
 public:
  // Asks for the topics' partitions and for any commit of the group. To be called before the member
  // joins: later, a commit may be that of a member that has begun a moment before us. Blocks: 6 s
  // at most.
  Status Query(rd_kafka_t* client, const std::vector<std::string>& topics);

  bool known() const { return known_; }
  // The group had no commit, and the partition was there.
  bool Covers(const std::string& topic, int32_t partition) const;
  // Of a partition without a commit: the topic got it after the group had begun with others.
  bool AddedLater(const std::string& topic, int32_t partition) const;
  // Of all topics together; 0: not known.
  int32_t partitions() const;

 private:
  std::map<std::string, int32_t> sizes_;
  bool known_ = false;
  bool has_commits_ = false;
  std::set<std::string> begun_;  // topics of which some partition has a commit
};

}  // namespace oncemq
