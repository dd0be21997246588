// SPDX-License-Identifier: Apache-2.0
// Behind each call that takes partitions out of a client's assignment.
//
// librdkafka stops them only after that call. Another one that takes them out meanwhile stops them
// again, and its assertion ends the process (librdkafka #5573, up to 2.15). Its thread does one
// thing after the other: before the answer to a question the stops have been sent, and before the
// answer to the next one they have been answered.
//
// Thread safety: any thread. Blocks: as long as the client's own thread is busy; for ever if the
// consumer's end comes in between.
#pragma once

#include <librdkafka/rdkafka.h>

namespace oncemq {

inline void AwaitStops(rd_kafka_t* client) {
  constexpr int kQuestions = 2;
  for (int i = 0; i < kQuestions; i++) {
    rd_kafka_topic_partition_list_t* assigned = nullptr;
    if (rd_kafka_assignment(client, &assigned) == RD_KAFKA_RESP_ERR_NO_ERROR) {
      rd_kafka_topic_partition_list_destroy(assigned);
    }
  }
}

}  // namespace oncemq
