// SPDX-License-Identifier: Apache-2.0
// ParkTopic: the record of refused messages in Kafka, in `<topic>.park` with the partitions of the
// source. An entry is the whole message with three dialects of headers (docs/formats.md).
//
// **Promise:** all replicas in sync have acknowledged an answered entry. Its identity is the place
// of the message in its source, so a copy is the same entry.
//
// **Failure:** without an answer within 5 s the batch repeats its entries.
//
// **Thread safety:** any thread, one record at a time.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "oncemq/base/mutex.h"
#include "oncemq/framework/runtime.h"
#include "outcome_log.h"
#include "rdkafka_ptr.h"

namespace oncemq {

// Adds the headers of an entry to the message's own.
void AddParkHeaders(const Message& message, const JournalEntry& entry, const std::string& group,
                    rd_kafka_headers_t* headers);

class ParkTopic final : public OutcomeLog {
 public:
  static Result<std::unique_ptr<ParkTopic>> Open(const RuntimeOptions& options);

  void Name(uint32_t /*source*/, const std::string& /*topic*/) override {}
  // kNotFound: a topic is not there. kInvalid: it has another number of partitions, or forgets.
  Status Check() override;
  Result<uint64_t> Record(std::span<const JournalEntry> entries, MessageView& view) override;

 private:
  ParkTopic(const RuntimeOptions& options, ClientPtr producer);

  Status Send(const JournalEntry& entry, const Message& message) REQUIRES(mutex_);
  // Waits for so many, and returns the worst.
  Status AwaitReports(size_t count) REQUIRES(mutex_);

  const RuntimeOptions options_;
  Mutex mutex_;
  ClientPtr producer_ GUARDED_BY(mutex_);
  QueuePtr reports_ GUARDED_BY(mutex_);
};

}  // namespace oncemq
