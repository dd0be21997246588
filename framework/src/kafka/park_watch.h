// SPDX-License-Identifier: Apache-2.0
// ParkWatch: reads the park topics of this member's partitions, on a thread of its own. So an owner
// knows its parked keys before the first message. It hears the commands of all hosts, and has the
// messages of a redrive at hand.
//
// **Promise:** Begin() answers after the own record of this owner was read back. So all records
// before it are known. Messages of a key are handed out in the order of their parking. Each comes
// once until it is taken back.
//
// **Failure:** a broker that does not answer is asked again; Begin() says why it waits.
//
// **Limits:** the books, and kHeld messages of each partition, but no more after kHeldBytes.
//
// **Thread safety:** belongs to the poll thread.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "kafka_message.h"
#include "oncemq/base/mutex.h"
#include "park_book.h"
#include "park_topic.h"
#include "partition_table.h"
#include "rdkafka_ptr.h"
#include "source.h"

namespace oncemq {

class ParkWatch final : public ParkedSource {
 public:
  static constexpr size_t kHeld = 256;
  static constexpr size_t kHeldBytes = 4 << 20;

  // All outlive it. `wake` is rung when there is something to take.
  ParkWatch(const RuntimeOptions& options, ParkTopic& topic, MessageReader& reader,
            PartitionTable& table, int wake);
  ~ParkWatch();
  ParkWatch(const ParkWatch&) = delete;
  ParkWatch& operator=(const ParkWatch&) = delete;

  Result<ParkedMessages> Begin(PartitionId id, OwnerEpoch owner, int64_t from,
                               int64_t frontier) override;
  void Read(PartitionId id, uint32_t most, const std::function<bool(int64_t)>& finished,
            std::vector<RedrivenArrival>& arrivals) override;
  void End(PartitionId id) override;
  std::optional<int64_t> Count(PartitionId id) override;
  // The delivery of a redriven message is over.
  void TakeBack(const DetachedMessage& message);

 private:
  struct Redriven {
    RecordPtr record;
    int64_t offset = 0;
    bool drop = false;
    bool first = false;
    bool called = false;  // a handler may have had its effect
    bool begun = false;   // maybe by an earlier owner
  };
  struct Partition {
    PartitionName name;
    OwnerEpoch owner = 0;
    bool begun = false;  // its record is written
    bool ready = false;  // and read
    Error waits_for;
    ParkBook book;
    bool tailed = false;
    QueuePtr scan;  // nullptr: nothing is read for a redrive
    int64_t scan_at = 0;
    std::deque<Redriven> held;
    std::set<const DetachedMessage*> given;  // to the core, in this assignment
    size_t held_bytes = 0;
    bool full() const { return held.size() >= kHeld || held_bytes >= kHeldBytes; }
  };

  void Work();
  bool TailNew() REQUIRES(mutex_);
  void BeginNew();
  void Apply(const rd_kafka_message_t& record) REQUIRES(mutex_);
  static void DropUnwanted(Partition& partition);
  bool Scan() REQUIRES(mutex_);
  void ScanPartition(Partition& partition) REQUIRES(mutex_);
  void StopScan(Partition& partition) REQUIRES(mutex_);
  bool OpenClients() REQUIRES(mutex_);
  // Whether the book has all that was written here.
  bool Knows(const Partition& partition) const;
  Partition* Find(std::string_view topic, int32_t partition) REQUIRES(mutex_);

  const RuntimeOptions options_;
  ParkTopic& topic_;
  MessageReader& reader_;  // of the poll thread, like the next
  PartitionTable& table_;
  const int wake_;
  Mutex mutex_;
  ConditionVariable changed_;
  ClientPtr tail_ GUARDED_BY(mutex_);     // follows the topics
  ClientPtr scanner_ GUARDED_BY(mutex_);  // reads messages to redrive
  QueuePtr records_;                      // of the tail
  std::map<PartitionId, Partition> partitions_ GUARDED_BY(mutex_);
  bool ending_ GUARDED_BY(mutex_) = false;
  std::optional<std::thread> thread_;
};

}  // namespace oncemq
