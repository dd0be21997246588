// SPDX-License-Identifier: Apache-2.0
// Whether topics are compacted. Compaction takes records away within the log, and nothing shows
// which, so that no catch-up can complete a window from such a topic (rule 6).
//
// Thread safety: none; belongs to the poll thread.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "rdkafka_ptr.h"

namespace oncemq {

class CleanupPolicies {
 public:
  // Asks for the topics' cleanup.policy. The answer is an event DESCRIBECONFIGS_RESULT on
  // `replies`, within 5 s, also where no broker answers. Never blocks.
  void Query(rd_kafka_t* client, const std::vector<std::string>& topics, rd_kafka_queue_t* replies);
  // Says in the log what the answer means for a window that is completed from these topics.
  void Answered(rd_kafka_event_t* event);

  // Asked, and the answer is still to come.
  bool pending() const { return pending_; }
  // False too where the answer did not tell it.
  bool Compacted(const std::string& topic) const { return compacted_.contains(topic); }

 private:
  bool pending_ = false;
  std::set<std::string> compacted_;
};

}  // namespace oncemq
