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
#include <set>

#include "oncemq/base/mutex.h"
#include "oncemq/framework/runtime.h"
#include "outcome_log.h"
#include "park_record.h"
#include "rdkafka_ptr.h"
#include "source.h"

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
  // kFull: so many messages of the partition are parked as the options allow.
  Result<uint64_t> Record(std::span<const JournalEntry> entries, MessageView& view) override;

  // A record of a tool, with the key of its message.
  struct Command {
    PartitionName name;
    std::optional<std::string_view> key;
    ParkRecord record;
  };
  Status RecordCommands(std::span<const Command> commands);
  // Its place. The message is the edited one.
  Result<int64_t> RecordEdit(const Message& message, const ParkRecord& record);
  // An owner begins. From here on the records of earlier owners count for nothing. Within the
  // assignment, records under its later ownerships name this one.
  Status RecordOwner(const PartitionName& name, OwnerEpoch owner);
  // The place of our last record in the partition, or -1.
  int64_t LastPlace(const PartitionName& name) const;
  // So many messages of the partition are parked by now.
  void NoteParked(const PartitionName& name, size_t messages);

 private:
  ParkTopic(const RuntimeOptions& options, ClientPtr producer);

  struct Partition {
    std::set<OwnerEpoch> owners;  // the latest ones to begin here
    int64_t last_place = -1;
    size_t parked = 0;
  };
  struct Body {
    std::optional<std::string_view> key;
    std::optional<std::string_view> value;
    int64_t timestamp_ms = 0;
  };

  Status Ready() REQUIRES(mutex_);
  Status Send(const JournalEntry& entry, const Message& message, RecordReports& reports)
      REQUIRES(mutex_);
  Status Send(const PartitionName& name, const Body& body, HeadersPtr headers,
              RecordReports& reports) REQUIRES(mutex_);
  // Waits for all, and returns the worst.
  Status AwaitReports(RecordReports& reports) REQUIRES(mutex_);
  OwnerEpoch BegunAs(const PartitionName& name, OwnerEpoch owner) const;

  const RuntimeOptions options_;
  Mutex mutex_;
  ClientPtr producer_ GUARDED_BY(mutex_);
  QueuePtr reports_ GUARDED_BY(mutex_);
  uintptr_t records_ GUARDED_BY(mutex_) = 0;
  mutable Mutex partitions_mutex_;  // the other one is held while a broker is waited for
  std::map<std::pair<std::string, int32_t>, Partition> partitions_ GUARDED_BY(partitions_mutex_);
};

}  // namespace oncemq
