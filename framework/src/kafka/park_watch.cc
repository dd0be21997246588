// SPDX-License-Identifier: Apache-2.0
#include "park_watch.h"

#include <unistd.h>

#include <utility>

#include "broker_error.h"
#include "client_config.h"
#include "oncemq/base/outage.h"
#include "oncemq/base/start_thread.h"
#include "oncemq/framework/park.h"
#include "wake_ring.h"

namespace oncemq {
namespace {

constexpr milliseconds kIdle{100};
constexpr milliseconds kScanning{5};
constexpr milliseconds kRetryPause{500};

Error Waits(std::string why) {
  return {Code::kUnavailable, Effect::kNone, std::move(why)};
}

}  // namespace

ParkWatch::ParkWatch(const RuntimeOptions& options, ParkTopic& topic, MessageReader& reader,
                     PartitionTable& table, int wake)
    : options_(options), topic_(topic), reader_(reader), table_(table), wake_(wake) {}

ParkWatch::~ParkWatch() {
  {
    MutexLock lock(mutex_);
    ending_ = true;
    changed_.notify_all();
    if (records_ != nullptr) {
      rd_kafka_queue_yield(records_.get());
    }
  }
  if (thread_) {
    thread_->join();
  }
  MutexLock lock(mutex_);
  partitions_.clear();
  records_.reset();
}

Result<ParkedMessages> ParkWatch::Begin(PartitionId id, OwnerEpoch owner, int64_t from,
                                        int64_t frontier) {
  MutexLock lock(mutex_);
  if (!thread_) {
    thread_ = StartThread("oncemq-park", [this] { Work(); });
  }
  Partition& partition = partitions_[id];
  if (partition.owner == 0) {
    partition.name = table_.Name(id);
    partition.owner = owner;
    partition.book.KeepOver(from, frontier);
    partition.waits_for = Waits("its park topic is being read");
    changed_.notify_all();
    if (records_ != nullptr) {
      rd_kafka_queue_yield(records_.get());
    }
  }
  if (!partition.ready) {
    return partition.waits_for;
  }
  return partition.book.Parked(from);
}

void ParkWatch::End(PartitionId id) {
  MutexLock lock(mutex_);
  const auto found = partitions_.find(id);
  if (found == partitions_.end()) {
    return;
  }
  Partition& partition = found->second;
  StopScan(partition);
  if (partition.tailed) {
    const TopicPtr handle(
        rd_kafka_topic_new(tail_.get(), ParkTopicOf(partition.name.topic).c_str(), nullptr));
    rd_kafka_consume_stop(handle.get(), partition.name.partition);
  }
  partitions_.erase(found);
}

std::optional<int64_t> ParkWatch::Count(PartitionId id) {
  MutexLock lock(mutex_);
  const auto found = partitions_.find(id);
  const bool known = found != partitions_.end() && found->second.ready;
  return known ? std::optional(static_cast<int64_t>(found->second.book.entries().size()))
               : std::nullopt;
}

void ParkWatch::Read(PartitionId id, uint32_t most, const std::function<bool(int64_t)>& finished,
                     std::vector<RedrivenArrival>& arrivals) {
  MutexLock lock(mutex_);
  const auto found = partitions_.find(id);
  if (found == partitions_.end()) {
    return;
  }
  Partition& partition = found->second;
  std::deque<Redriven>& held = partition.held;
  for (; most > 0 && !held.empty() && Knows(partition); held.pop_front()) {
    const Redriven& one = held.front();
    if (!finished(one.offset)) {
      return;
    }
    partition.held_bytes -= one.record->len;
    RedrivenArrival& arrival = arrivals.emplace_back();
    reader_.ReadParked(one.record.get(), arrival);
    partition.given.insert(reader_.Redriven(arrival.message));
    arrival.drop = one.drop;
    arrival.first = one.first;
    arrival.called = one.called;
    arrival.begun = one.begun;
    most--;
  }
}

void ParkWatch::TakeBack(const DetachedMessage& message) {
  MutexLock lock(mutex_);
  Partition* const partition = Find(message.topic(), message.partition());
  // One of an earlier assignment may be in hand anew.
  if (partition != nullptr && partition->given.erase(&message) > 0) {
    partition->book.TakeBack(message.offset());
  }
}

// Before that, a message looks due after another refusal.
bool ParkWatch::Knows(const Partition& partition) const {
  return partition.ready && partition.book.next() > topic_.LastPlace(partition.name);
}

ParkWatch::Partition* ParkWatch::Find(std::string_view topic, int32_t number) {
  for (auto& [id, partition] : partitions_) {
    if (partition.name.partition == number && partition.name.topic == topic) {
      return &partition;
    }
  }
  return nullptr;
}

bool ParkWatch::OpenClients() {
  if (tail_ != nullptr) {
    return true;
  }
  auto tail = OpenObserver(options_);
  auto scanner = OpenObserver(options_);
  if (!tail || !scanner) {
    return false;
  }
  tail_ = *std::move(tail);
  scanner_ = *std::move(scanner);
  records_.reset(rd_kafka_queue_new(tail_.get()));
  return true;
}

// False: nothing is followed.
bool ParkWatch::TailNew() {
  if (partitions_.empty() || !OpenClients()) {
    return false;
  }
  for (auto& [id, partition] : partitions_) {
    if (partition.tailed) {
      continue;
    }
    const TopicPtr handle(
        rd_kafka_topic_new(tail_.get(), ParkTopicOf(partition.name.topic).c_str(), nullptr));
    partition.tailed = rd_kafka_consume_start_queue(handle.get(), partition.name.partition,
                                                    RD_KAFKA_OFFSET_BEGINNING, records_.get()) == 0;
    if (!partition.tailed) {
      partition.waits_for = BrokerError(rd_kafka_last_error(), "its park topic can't be read");
    }
  }
  return true;
}

// Not under the mutex, since the broker answers in its own time.
void ParkWatch::BeginNew() {
  std::vector<std::pair<PartitionName, OwnerEpoch>> owners;
  {
    MutexLock lock(mutex_);
    for (const auto& [id, partition] : partitions_) {
      if (partition.tailed && !partition.begun) {
        owners.emplace_back(partition.name, partition.owner);
      }
    }
  }
  for (const auto& [name, owner] : owners) {
    const Status begun = topic_.RecordOwner(name, owner);
    MutexLock lock(mutex_);
    Partition* const partition = Find(name.topic, name.partition);
    if (partition != nullptr && partition->owner == owner) {
      partition->begun = begun.has_value();
      partition->waits_for = begun ? Waits("its park topic is being read") : begun.error();
      if (!begun && MayPass(begun.error())) {
        partition->waits_for.code = Code::kUnavailable;
      }
    }
  }
}

void ParkWatch::Work() {
  for (;;) {
    bool scanning = false;
    {
      MutexLock lock(mutex_);
      if (!ending_ && !TailNew()) {
        changed_.wait_for(mutex_, kRetryPause);
      }
      if (ending_) {
        return;
      }
      if (tail_ == nullptr) {
        continue;
      }
      scanning = Scan();
    }
    BeginNew();
    const EventPtr event(rd_kafka_queue_poll(records_.get(), Millis(scanning ? kScanning : kIdle)));
    if (event == nullptr || rd_kafka_event_type(event.get()) != RD_KAFKA_EVENT_FETCH) {
      continue;
    }
    MutexLock lock(mutex_);
    while (const rd_kafka_message_t* const record = rd_kafka_event_message_next(event.get())) {
      Apply(*record);
    }
  }
}

void ParkWatch::Apply(const rd_kafka_message_t& record) {
  std::string_view topic = rd_kafka_topic_name(record.rkt);
  topic.remove_suffix(kParkSuffix.size());
  Partition* const partition = Find(topic, record.partition);
  if (partition == nullptr || !partition->tailed) {
    return;
  }
  if (record.err != RD_KAFKA_RESP_ERR_NO_ERROR) {
    if (record.err != RD_KAFKA_RESP_ERR__PARTITION_EOF && !partition->ready) {
      partition->waits_for = Waits(BrokerError(record.err, "its park topic can't be read").message);
    }
    return;
  }
  if (record.offset < partition->book.next()) {
    return;  // of an earlier reading
  }
  const auto read = partition->book.Apply(record, options_.null_key);
  if (read && (read->kind == ParkKind::kAgain || read->kind == ParkKind::kCancel)) {
    DropUnwanted(*partition);
  }
  topic_.NoteParked(partition->name, partition->book.entries().size());
  if (!partition->ready && read && read->kind == ParkKind::kOwner &&
      read->owner == partition->owner) {
    // What is recorded under a lower number than the topic has counts for nothing.
    partition->ready = partition->book.owner() == partition->owner;
    partition->waits_for = Waits("a later owner has begun in its park topic");
    (void)!write(wake_, &kWakeRing, sizeof kWakeRing);
  }
}

// The next command for their key begins with its head again.
void ParkWatch::DropUnwanted(Partition& partition) {
  std::erase_if(partition.held, [&](const Redriven& one) {
    const bool wanted = partition.book.Wants(one.offset);
    if (!wanted) {
      partition.held_bytes -= one.record->len;
      partition.book.TakeBack(one.offset);
    }
    return !wanted;
  });
}

// True: there is something to read for a redrive.
bool ParkWatch::Scan() {
  bool any = false;
  for (auto& [id, partition] : partitions_) {
    const auto due = partition.book.FirstDue();
    if (!Knows(partition) || partition.full()) {
      any |= partition.scan != nullptr;
    } else if (!due) {
      StopScan(partition);
    } else {
      any = true;
      if (partition.scan == nullptr || *due < partition.scan_at) {
        StopScan(partition);
        const TopicPtr handle(
            rd_kafka_topic_new(scanner_.get(), ParkTopicOf(partition.name.topic).c_str(), nullptr));
        partition.scan.reset(rd_kafka_queue_new(scanner_.get()));
        partition.scan_at = *due;
        if (rd_kafka_consume_start_queue(handle.get(), partition.name.partition, *due,
                                         partition.scan.get()) != 0) {
          partition.scan.reset();
          continue;
        }
      }
      ScanPartition(partition);
    }
  }
  return any;
}

void ParkWatch::ScanPartition(Partition& partition) {
  bool found = false;
  while (!partition.full()) {
    RecordPtr record(rd_kafka_consume_queue(partition.scan.get(), 0));
    if (record == nullptr) {
      break;
    }
    if (record->err != RD_KAFKA_RESP_ERR_NO_ERROR) {
      continue;
    }
    partition.scan_at = record->offset + 1;
    const auto due = partition.book.DueAt(record->offset);
    if (!due) {
      continue;
    }
    const ParkBook::Entry& entry = partition.book.entries().at(due->offset);
    partition.held_bytes += record->len;
    partition.held.push_back({.record = std::move(record),
                              .offset = due->offset,
                              .drop = due->drop,
                              .first = entry.first && !entry.Called(),
                              .called = entry.Called(),
                              .begun = entry.begun});
    partition.book.HandOut(due->offset);
    found = true;
  }
  if (found) {
    (void)!write(wake_, &kWakeRing, sizeof kWakeRing);
  }
}

void ParkWatch::StopScan(Partition& partition) {
  if (partition.scan != nullptr) {
    const TopicPtr handle(
        rd_kafka_topic_new(scanner_.get(), ParkTopicOf(partition.name.topic).c_str(), nullptr));
    rd_kafka_consume_stop(handle.get(), partition.name.partition);
    partition.scan.reset();
  }
}

}  // namespace oncemq
