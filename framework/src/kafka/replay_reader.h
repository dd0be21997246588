// SPDX-License-Identifier: Apache-2.0
// ReplayReader: the records of one range of a replay, in order.
//
//   auto client = OpenReplayClient(options);
//   ReplayReader reader(client->get(), range, range.from);
//   while (!reader.ended() && reader.Read(500, milliseconds(100), records)) { ... }
//
// **Promise:** committed records of the range alone. A broker that does not answer is asked again,
// and Read() appends nothing meanwhile.
//
// **Failure:** kNotFound: the log has lost records of the range. Other errors are for a person.
//
// **Thread safety:** none.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "oncemq/framework/replay.h"
#include "rdkafka_ptr.h"

namespace oncemq {

class ReplayReader {
 public:
  // Reads from offset `next` on. The client outlives it, and reads the partition nowhere else.
  ReplayReader(rd_kafka_t* client, const ReplayRange& range, int64_t next);
  ~ReplayReader();
  ReplayReader(const ReplayReader&) = delete;
  ReplayReader& operator=(const ReplayReader&) = delete;

  // Appends at most `most` records, and waits for them.
  Status Read(size_t most, milliseconds within, std::vector<RecordPtr>& records);

  // No other record of the range comes below it.
  int64_t next() const { return next_; }
  bool ended() const { return next_ >= to_; }

 private:
  Status Begin();
  Status Take(RecordPtr record, std::vector<RecordPtr>& records);
  Error Failed(rd_kafka_resp_err_t code) const;

  const std::string name_;
  const TopicPtr topic_;
  const int32_t partition_;
  const int64_t to_;
  const QueuePtr queue_;
  int64_t next_;
  bool begun_ = false;
  std::vector<rd_kafka_message_t*> batch_;
};

}  // namespace oncemq
