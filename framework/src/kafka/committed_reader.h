// SPDX-License-Identifier: Apache-2.0
// CommittedReader: asks what a client's group has committed, on a thread of its own.
//
// By rd_kafka_committed(), the call of the consumer itself: it blocks, so it needs the thread. The
// admin call for the same question does not block, but it ends the whole process where its
// coordinator is away for longer than the call waits and then comes back (librdkafka 4605).
//
// Promise: each question is answered once, by Take(), after a ring of the wake; not after Stop().
// What has come while the thread was busy is asked together, so the questions are never more than
// two calls behind. An answer never comes from memory. Failure: an answer with an error.
//
// Thread safety: none; belongs to the poll thread. Blocks: the destructor, for a second at most.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "rdkafka_ptr.h"

namespace oncemq {

class CommittedReader {
 public:
  using Call = std::function<decltype(rd_kafka_committed)>;

  // `client` outlives it, and so does the wake's descriptor (none: -1). A call takes `within` at
  // most. Tests have a call of their own.
  CommittedReader(ClientPtr& client, int wake, milliseconds within, Call call = rd_kafka_committed);
  // Where a call is under way for too long, `client` is taken from its owner, and destroyed once
  // the call has returned.
  ~CommittedReader();
  CommittedReader(const CommittedReader&) = delete;
  CommittedReader& operator=(const CommittedReader&) = delete;

  struct Answer {
    std::vector<uint64_t> numbers;  // what was asked together
    rd_kafka_resp_err_t code = RD_KAFKA_RESP_ERR__FAIL;
    PartitionListPtr found;  // nothing in it is known where there is a code
  };
  // The number comes back with the answer.
  void Query(uint64_t number, PartitionListPtr partitions);
  std::vector<Answer> Take();
  // No call begins any more.
  void Stop();

 private:
  struct Shared;
  static void Work(Shared& shared);

  ClientPtr& client_;
  const std::shared_ptr<Shared> shared_;  // with a thread that was let go
  std::optional<std::thread> thread_;     // from the first question on
};

}  // namespace oncemq
