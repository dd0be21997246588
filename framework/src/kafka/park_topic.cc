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

template <class Number>
std::string BigEndian(Number number) {
  std::string bytes;
  for (size_t shift = sizeof number * 8; shift > 0; shift -= 8) {
    bytes += static_cast<char>(static_cast<uint64_t>(number) >> (shift - 8) & 0xff);
  }
  return bytes;
}

// The message's own, and those of an entry.
HeadersPtr ParkHeaders(const Message& message, const JournalEntry& entry,
                       const std::string& group) {
  constexpr size_t kOurs = 16;
  const std::vector<MessageHeader> own = message.headers();
  HeadersPtr result(rd_kafka_headers_new(own.size() + kOurs));
  rd_kafka_headers_t* const headers = result.get();
  for (const MessageHeader& header : own) {
    AddHeader(headers, header.name, header.value);
  }
  const std::string why(entry.why.substr(0, kLongestReason));
  const std::string topic(message.topic());
  const int64_t offset = message.offset();
  // Kafka's own, all text.
  AddHeader(headers, "__dlq.errors.topic", topic);
  AddHeader(headers, "__dlq.errors.partition", std::to_string(message.partition()));
  AddHeader(headers, "__dlq.errors.offset", std::to_string(offset));
  AddHeader(headers, "__dlq.errors.group", group);
  AddHeader(headers, "__dlq.errors.delivery.count", std::to_string(entry.attempts));
  AddHeader(headers, "__dlq.errors.message", why);
  // Spring's, numbers in network order.
  AddHeader(headers, "kafka_dlt-original-topic", topic);
  AddHeader(headers, "kafka_dlt-original-partition", BigEndian(message.partition()));
  AddHeader(headers, "kafka_dlt-original-offset", BigEndian(offset));
  AddHeader(headers, "kafka_dlt-original-timestamp", BigEndian(message.timestamp_ms()));
  AddHeader(headers, "kafka_dlt-original-consumer-group", group);
  AddHeader(headers, "kafka_dlt-exception-message", why);
  AddHeader(headers, kParkHeader, entry.kind == RecordKind::kPassed ? kPassedEntry : kParkedEntry);
  if (!entry.item->id.empty()) {
    AddHeader(headers, kParkIdHeader, entry.item->id);
  }
  return result;
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
  HeadersPtr headers = ParkHeaders(message, entry, options_.kafka.group);
  const std::string topic = ParkTopicOf(message.topic());
  // Handled without an id: there is nothing to come back for.
  std::optional<std::string_view> value;
  if (entry.kind != RecordKind::kPassed) {
    value = message.value();
  }
  const rd_kafka_vu_t parts[] = {
      {.vtype = RD_KAFKA_VTYPE_TOPIC, .u = {.cstr = topic.c_str()}},
      {.vtype = RD_KAFKA_VTYPE_PARTITION, .u = {.i32 = message.partition()}},
      {.vtype = RD_KAFKA_VTYPE_MSGFLAGS, .u = {.i = RD_KAFKA_MSG_F_COPY}},
      {.vtype = RD_KAFKA_VTYPE_KEY, .u = {.mem = BytesOf(message.key())}},
      {.vtype = RD_KAFKA_VTYPE_VALUE, .u = {.mem = BytesOf(value)}},
      {.vtype = RD_KAFKA_VTYPE_TIMESTAMP,
       .u = {.i64 = std::max<int64_t>(message.timestamp_ms(), 0)}},
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
      reports.Add(*report);
    }
  }
  return reports.worst();
}

Result<uint64_t> ParkTopic::Record(std::span<const JournalEntry> entries, MessageView& view) {
  MutexLock lock(mutex_);
  char why[256];
  if (rd_kafka_fatal_error(producer_.get(), why, sizeof why) != RD_KAFKA_RESP_ERR_NO_ERROR) {
    auto producer = OpenProducer(options_, kAnswerWithin);
    if (!producer) {
      return producer.error();
    }
    reports_.reset();
    producer_ = *std::move(producer);
    reports_.reset(rd_kafka_queue_get_main(producer_.get()));
  }
  Status worst;
  RecordReports reports(++records_);
  for (const JournalEntry& entry : entries) {
    const Status status = Send(entry, view.Show(entry.item->message), reports);
    worst = status ? worst : status;
  }
  const Status reported = AwaitReports(reports);
  if (!reported || !worst) {
    return (reported ? worst : reported).error();
  }
  return uint64_t{0};  // the machine numbers entries by their offsets
}

}  // namespace oncemq
