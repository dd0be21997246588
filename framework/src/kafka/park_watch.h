// SPDX-License-Identifier: Apache-2.0
// ParkWatch: reads the park topics of the partitions that this member owns, on a thread of its own.
// So an owner knows its parked keys before it handles anything, hears commands whichever host they
// come from, and has the messages of a redrive at hand.
//
//   watch.Begin(id, name, owner_epoch);   // until it answers
//   watch.Take(id, 100, finished, redriven);
//   watch.TakeBack(name, offset);         // the delivery of one is over
//   watch.End(id);
//
// **Promise:** Begin() answers once the record of this owner has been read back, so with all that
// was there before. Messages of a key are handed out in the order of their parking, each once until
// it is taken back.
//
// **Failure:** a broker that does not answer is asked again; Begin() says why it waits.
//
// **Limits:** kHeld messages of a partition at a time, and the books.
//
// **Thread safety:** any thread.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "oncemq/base/mutex.h"
#include "oncemq/framework/core.h"
#include "park_book.h"
#include "park_topic.h"
#include "rdkafka_ptr.h"
#include "source.h"

namespace oncemq {

class ParkWatch {
 public:
  static constexpr size_t kHeld = 256;

  struct Redriven {
    RecordPtr record;
    int64_t offset = 0;
    bool drop = false;
    bool first = false;
    bool called = false;  // a handler may have had its effect
  };

  // All outlive it. `wake` is rung when there is something to take.
  ParkWatch(const RuntimeOptions& options, ParkTopic& topic, int wake);
  ~ParkWatch();
  ParkWatch(const ParkWatch&) = delete;
  ParkWatch& operator=(const ParkWatch&) = delete;

  // See Source::Parked().
  Result<ParkedMessages> Begin(PartitionId id, const PartitionName& name, OwnerEpoch owner,
                               int64_t frontier);
  void End(PartitionId id);

  // Appends what is to be run now; of it nothing whose own delivery goes on.
  void Take(PartitionId id, size_t most, const std::function<bool(int64_t)>& finished,
            std::vector<Redriven>& redriven);
  void TakeBack(const PartitionName& name, int64_t offset);

 private:
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
  };

  void Work();
  bool TailNew() REQUIRES(mutex_);
  void BeginNew();
  void ReadTail();
  void Apply(const rd_kafka_message_t& record) REQUIRES(mutex_);
  bool Scan() REQUIRES(mutex_);
  void ScanPartition(Partition& partition) REQUIRES(mutex_);
  void StopScan(Partition& partition) REQUIRES(mutex_);
  bool OpenClients() REQUIRES(mutex_);
  // Whether the book has all that was written here.
  bool Knows(const Partition& partition) const;
  Partition* Find(std::string_view topic, int32_t partition) REQUIRES(mutex_);

  const RuntimeOptions options_;
  ParkTopic& topic_;
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
