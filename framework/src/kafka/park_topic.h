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

#include <cstdint>
#include <memory>

#include "oncemq/base/mutex.h"
#include "oncemq/framework/runtime.h"
#include "outcome_log.h"
#include "rdkafka_ptr.h"

namespace oncemq {

// The delivery reports of one Record. Late reports of an earlier one do not count.
class RecordReports {
 public:
  explicit RecordReports(uintptr_t record) : record_(record) {}

  // Each message of the Record has it.
  void* opaque() const { return reinterpret_cast<void*>(record_); }
  void Expect() { missing_++; }
  void Add(const rd_kafka_message_t& report);

  bool complete() const { return missing_ == 0; }
  const Status& worst() const { return worst_; }

 private:
  const uintptr_t record_;
  size_t missing_ = 0;
  Status worst_;
};

class ParkTopic final : public OutcomeLog {
 public:
  static Result<std::unique_ptr<ParkTopic>> Open(const RuntimeOptions& options);

  void Name(uint32_t /*source*/, const std::string& /*topic*/) override {}
  // kNotFound: a topic is not there. kInvalid: it has another number of partitions, or forgets.
  Status Check() override;
  Result<uint64_t> Record(std::span<const JournalEntry> entries, MessageView& view) override;

 private:
  ParkTopic(const RuntimeOptions& options, ClientPtr producer);

  Status Send(const JournalEntry& entry, const Message& message, RecordReports& reports)
      REQUIRES(mutex_);
  // Waits for all, and returns the worst.
  Status AwaitReports(RecordReports& reports) REQUIRES(mutex_);

  const RuntimeOptions options_;
  Mutex mutex_;
  ClientPtr producer_ GUARDED_BY(mutex_);
  QueuePtr reports_ GUARDED_BY(mutex_);
  uintptr_t records_ GUARDED_BY(mutex_) = 0;
};

}  // namespace oncemq
