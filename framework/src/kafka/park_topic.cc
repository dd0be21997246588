// SPDX-License-Identifier: Apache-2.0
#include "park_topic.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "broker_error.h"
#include "client_config.h"
#include "longest_reason.h"
#include "oncemq/framework/park.h"

namespace oncemq {
namespace {

constexpr milliseconds kAnswerWithin{5'000};

// A null one has no pointer, an empty one has.
decltype(rd_kafka_vu_t::u.mem) BytesOf(const std::optional<std::string_view>& bytes) {
  return {bytes ? const_cast<char*>(bytes->empty() ? "" : bytes->data()) : nullptr,
          bytes ? bytes->size() : 0};
}

void AddHeader(rd_kafka_headers_t* headers, std::string_view name,
               const std::optional<std::string_view>& value) {
  const auto bytes = BytesOf(value);
  rd_kafka_header_add(headers, name.data(), static_cast<ssize_t>(name.size()), bytes.ptr,
                      static_cast<ssize_t>(bytes.size));
}

HeadersPtr Packed(const std::vector<MessageHeader>& own, const ParkHeaders& ours) {
  HeadersPtr headers(rd_kafka_headers_new(own.size() + ours.size()));
  for (const MessageHeader& header : own) {
    AddHeader(headers.get(), header.name, header.value);
  }
  for (const auto& [name, value] : ours) {
    AddHeader(headers.get(), name, value);
  }
  return headers;
}

}  // namespace

void RecordReports::Add(const rd_kafka_message_t& report) {
  if (report._private != opaque()) {
    return;
  }
  missing_--;
  if (report.err != RD_KAFKA_RESP_ERR_NO_ERROR) {
    worst_ = BrokerError(report.err, std::string("the topic ") + rd_kafka_topic_name(report.rkt) +
                                         " does not take a message");
  }
}

ParkTopic::ParkTopic(const RuntimeOptions& options, ClientPtr producer)
    : options_(options),
      producer_(std::move(producer)),
      reports_(rd_kafka_queue_get_main(producer_.get())) {}

Result<std::unique_ptr<ParkTopic>> ParkTopic::Open(const RuntimeOptions& options) {
  auto producer = OpenProducer(options, kAnswerWithin);
  if (!producer) {
    return producer.error();
  }
  return std::unique_ptr<ParkTopic>(new ParkTopic(options, *std::move(producer)));
}

Status ParkTopic::Check() {
  return CheckParkTopics(options_, kAnswerWithin);
}

Status ParkTopic::Send(const JournalEntry& entry, const Message& message, RecordReports& reports) {
  const PartitionName name{std::string(message.topic()), message.partition()};
  const ParkRecord record{.kind = ParkKindOf(entry.kind),
                          .offset = message.offset(),
                          .owner = BegunAs(name, entry.item->owner_epoch),
                          .first = entry.item->first,
                          .attempts = entry.attempts,
                          .id = std::string(entry.item->id),
                          .why = std::string(entry.why)};
  Body body{.key = message.key(), .timestamp_ms = message.timestamp_ms()};
  if (!IsEntry(record.kind)) {
    return Send(name, body, Packed({}, OtherHeaders(record)), reports);
  }
  // Handled without an id: there is nothing to come back for.
  if (record.kind != ParkKind::kPassed) {
    body.value = message.value();
  }
  const ParkHeaders ours = EntryHeaders(record, message, options_.kafka.group);
  return Send(name, body, Packed(message.headers(), ours), reports);
}

Status ParkTopic::Send(const PartitionName& name, const Body& body, HeadersPtr headers,
                       RecordReports& reports) {
  const std::string topic = ParkTopicOf(name.topic);
  const rd_kafka_vu_t parts[] = {
      {.vtype = RD_KAFKA_VTYPE_TOPIC, .u = {.cstr = topic.c_str()}},
      {.vtype = RD_KAFKA_VTYPE_PARTITION, .u = {.i32 = name.partition}},
      {.vtype = RD_KAFKA_VTYPE_MSGFLAGS, .u = {.i = RD_KAFKA_MSG_F_COPY}},
      {.vtype = RD_KAFKA_VTYPE_KEY, .u = {.mem = BytesOf(body.key)}},
      {.vtype = RD_KAFKA_VTYPE_VALUE, .u = {.mem = BytesOf(body.value)}},
      {.vtype = RD_KAFKA_VTYPE_TIMESTAMP, .u = {.i64 = std::max<int64_t>(body.timestamp_ms, 0)}},
      {.vtype = RD_KAFKA_VTYPE_OPAQUE, .u = {.ptr = reports.opaque()}},
      {.vtype = RD_KAFKA_VTYPE_HEADERS, .u = {.headers = headers.get()}}};
  const ErrorPtr refused(rd_kafka_produceva(producer_.get(), parts, std::size(parts)));
  if (refused != nullptr) {
    return BrokerError(rd_kafka_error_code(refused.get()),
                       "the topic " + topic + " does not take the message");
  }
  static_cast<void>(headers.release());  // the client owns them
  reports.Expect();
  return {};
}

Status ParkTopic::AwaitReports(RecordReports& reports) {
  // Each message has a report within its time.
  const BootTime until = BootNow() + 2 * kAnswerWithin;
  while (!reports.complete()) {
    const EventPtr event(rd_kafka_queue_poll(reports_.get(), 100));
    if (event == nullptr || rd_kafka_event_type(event.get()) != RD_KAFKA_EVENT_DR) {
      if (BootNow() > until) {
        return Error{Code::kTimeout, Effect::kUnknown, "the park topic has not answered"};
      }
      continue;
    }
    while (const rd_kafka_message_t* const report = rd_kafka_event_message_next(event.get())) {
      if (report->err == RD_KAFKA_RESP_ERR_NO_ERROR) {
        std::string topic = rd_kafka_topic_name(report->rkt);
        topic.resize(topic.size() - kParkSuffix.size());
        MutexLock lock(partitions_mutex_);
        int64_t& last = partitions_[{std::move(topic), report->partition}].last_place;
        last = std::max(last, report->offset);
      }
      reports.Add(*report);
    }
  }
  return reports.worst();
}

Status ParkTopic::Ready() {
  char why[256];
  if (rd_kafka_fatal_error(producer_.get(), why, sizeof why) == RD_KAFKA_RESP_ERR_NO_ERROR) {
    return {};
  }
  auto producer = OpenProducer(options_, kAnswerWithin);
  if (!producer) {
    return producer.error();
  }
  reports_.reset();
  producer_ = *std::move(producer);
  reports_.reset(rd_kafka_queue_get_main(producer_.get()));
  return {};
}

Result<uint64_t> ParkTopic::Record(std::span<const JournalEntry> entries, MessageView& view) {
  MutexLock lock(mutex_);
  if (const Status ready = Ready(); !ready) {
    return ready.error();
  }
  Status worst;
  RecordReports reports(++records_);
  for (const JournalEntry& entry : entries) {
    const Message& message = view.Show(entry.item->message);
    if (entry.kind == RecordKind::kRefused || entry.kind == RecordKind::kFollows) {
      MutexLock partitions_lock(partitions_mutex_);
      const Partition& its = partitions_[{std::string(message.topic()), message.partition()}];
      if (its.parked >= options_.kafka.park_most) {
        worst = Error{Code::kFull, Effect::kNone,
                      std::to_string(its.parked) +
                          " messages of the partition are parked: redrive or drop some, or raise "
                          "limits.parked"};
        break;
      }
    }
    const Status status = Send(entry, message, reports);
    worst = status ? worst : status;
  }
  const Status reported = AwaitReports(reports);
  if (!reported || !worst) {
    return (worst ? reported : worst).error();
  }
  return uint64_t{0};  // the machine numbers entries by their offsets
}

Status ParkTopic::RecordCommands(std::span<const Command> commands) {
  MutexLock lock(mutex_);
  if (const Status ready = Ready(); !ready) {
    return ready;
  }
  Status worst;
  RecordReports reports(++records_);
  for (const auto& [name, key, record] : commands) {
    const Status sent = Send(name, {.key = key}, Packed({}, OtherHeaders(record)), reports);
    worst = sent ? worst : sent;
  }
  const Status reported = AwaitReports(reports);
  return worst ? reported : worst;
}

Result<int64_t> ParkTopic::RecordEdit(const Message& message, const ParkRecord& record) {
  const PartitionName name{std::string(message.topic()), message.partition()};
  {
    MutexLock lock(mutex_);
    if (const Status ready = Ready(); !ready) {
      return ready.error();
    }
    RecordReports reports(++records_);
    const Body body{message.key(), message.value(), message.timestamp_ms()};
    const ParkHeaders ours = EntryHeaders(record, message, options_.kafka.group);
    const Status sent = Send(name, body, Packed(message.headers(), ours), reports);
    if (const Status reported = sent ? AwaitReports(reports) : sent; !reported) {
      return reported.error();
    }
  }
  return LastPlace(name);
}

Status ParkTopic::RecordOwner(const PartitionName& name, OwnerEpoch owner) {
  constexpr size_t kKept = 16;
  {
    // Before the record may be there. Even with its answer lost it is read back.
    MutexLock lock(partitions_mutex_);
    std::set<OwnerEpoch>& owners = partitions_[{name.topic, name.partition}].owners;
    owners.insert(owner);
    if (owners.size() > kKept) {
      owners.erase(owners.begin());
    }
  }
  const Command begins{name, std::nullopt, {.kind = ParkKind::kOwner, .owner = owner}};
  return RecordCommands({&begins, 1});
}

// Within an assignment the ownership may be raised anew, and messages of both be under way.
OwnerEpoch ParkTopic::BegunAs(const PartitionName& name, OwnerEpoch owner) const {
  MutexLock lock(partitions_mutex_);
  const auto found = partitions_.find({name.topic, name.partition});
  if (found == partitions_.end()) {
    return owner;
  }
  const std::set<OwnerEpoch>& owners = found->second.owners;
  const auto above = owners.upper_bound(owner);
  return above == owners.begin() ? owner : *std::prev(above);
}

int64_t ParkTopic::LastPlace(const PartitionName& name) const {
  MutexLock lock(partitions_mutex_);
  const auto found = partitions_.find({name.topic, name.partition});
  return found == partitions_.end() ? -1 : found->second.last_place;
}

void ParkTopic::NoteParked(const PartitionName& name, size_t messages) {
  MutexLock lock(partitions_mutex_);
  partitions_[{name.topic, name.partition}].parked = messages;
}

}  // namespace oncemq
