// SPDX-License-Identifier: Apache-2.0
#include "park_record.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <system_error>

#include "detached_message.h"
#include "longest_reason.h"
#include "oncemq/framework/park.h"

namespace oncemq {
namespace {

constexpr std::string_view kFirstOfEntry = "__dlq.errors.topic";
constexpr std::string_view kVersion = "1 ";
constexpr std::array<std::string_view, 12> kKinds{"parked",  "follows", "passed",   "again",
                                                  "ended",   "dropped", "attached", "owner",
                                                  "redrive", "drop",    "cancel",   "edit"};

template <class Number>
std::string BigEndian(Number number) {
  std::string bytes;
  for (size_t shift = sizeof number * 8; shift > 0; shift -= 8) {
    bytes += static_cast<char>(static_cast<uint64_t>(number) >> (shift - 8) & 0xff);
  }
  return bytes;
}

template <class Number>
Number NumberOf(std::string_view text, Number otherwise) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? number : otherwise;
}

std::optional<ParkKind> KindOf(std::string_view text) {
  if (!text.starts_with(kVersion)) {
    return std::nullopt;
  }
  const auto found = std::ranges::find(kKinds, text.substr(kVersion.size()));
  return found == kKinds.end() ? std::nullopt
                               : std::optional(static_cast<ParkKind>(found - kKinds.begin()));
}

}  // namespace

ParkKind ParkKindOf(RecordKind kind) {
  switch (kind) {
    case RecordKind::kRefused:
      return ParkKind::kParked;
    case RecordKind::kFollows:
      return ParkKind::kFollows;
    case RecordKind::kPassed:
      return ParkKind::kPassed;
    case RecordKind::kRefusedAgain:
      return ParkKind::kAgain;
    case RecordKind::kEnded:
      return ParkKind::kEnded;
    case RecordKind::kDropped:
      return ParkKind::kDropped;
    case RecordKind::kAttached:
      return ParkKind::kAttached;
  }
  return ParkKind::kPassed;
}

std::string_view ToString(ParkKind kind) {
  return kKinds[static_cast<size_t>(kind)];
}

std::optional<ParkRecord> ReadParkRecord(const rd_kafka_message_t& record, ParkHeaders* own) {
  rd_kafka_headers_t* headers = nullptr;
  if (rd_kafka_message_headers(&record, &headers) != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return std::nullopt;
  }
  // A message that was parked before has such headers of its own: the last ones count.
  ParkHeaders all;
  size_t ours = 0;
  ForEachHeader(headers, [&](const MessageHeader& header) {
    ours = header.name == kFirstOfEntry ? all.size() : ours;
    all.emplace_back(header.name,
                     header.value ? std::optional<std::string>(*header.value) : std::nullopt);
  });
  const auto text = [&](std::string_view name) -> std::string_view {
    const auto found = std::find_if(all.rbegin(), all.rend() - static_cast<ptrdiff_t>(ours),
                                    [&](const auto& header) { return header.first == name; });
    return found != all.rend() - static_cast<ptrdiff_t>(ours) && found->second
               ? std::string_view(*found->second)
               : std::string_view();
  };
  const auto kind = KindOf(text(kParkHeader));
  if (!kind) {
    return std::nullopt;
  }
  const bool entry = HasMessage(*kind);
  ParkRecord found{
      .kind = *kind,
      .place = record.offset,
      .offset = NumberOf<int64_t>(text(entry ? "__dlq.errors.offset" : "oncemq-park-offset"), -1),
      .owner = NumberOf<OwnerEpoch>(text("oncemq-park-owner"), 0),
      .first = text("oncemq-park-first") == "1",
      .attempts = NumberOf<uint32_t>(
          text(entry ? "__dlq.errors.delivery.count" : "oncemq-park-attempts"), 0),
      .id = std::string(text(kParkIdHeader)),
      .why = std::string(text(entry ? "__dlq.errors.message" : "oncemq-park-why")),
      .run = std::string(text("oncemq-park-run")),
      .replaces = NumberOf<int64_t>(text("oncemq-park-replaces"), -1)};
  if (own != nullptr) {
    all.resize(ours);
    *own = std::move(all);
  }
  return found;
}

ParkHeaders EntryHeaders(const ParkRecord& record, const Message& message, std::string_view group) {
  const std::string why(record.why.substr(0, kLongestReason));
  const std::string topic(message.topic());
  ParkHeaders headers{
      // Kafka's own, all text.
      {std::string(kFirstOfEntry), topic},
      {"__dlq.errors.partition", std::to_string(message.partition())},
      {"__dlq.errors.offset", std::to_string(message.offset())},
      {"__dlq.errors.group", std::string(group)},
      {"__dlq.errors.delivery.count", std::to_string(record.attempts)},
      {"__dlq.errors.message", why},
      // Spring's, numbers in network order.
      {"kafka_dlt-original-topic", topic},
      {"kafka_dlt-original-partition", BigEndian(message.partition())},
      {"kafka_dlt-original-offset", BigEndian(message.offset())},
      {"kafka_dlt-original-timestamp", BigEndian(message.timestamp_ms())},
      {"kafka_dlt-original-consumer-group", std::string(group)},
      {"kafka_dlt-exception-message", why},
      {std::string(kParkHeader), std::string(kVersion).append(ToString(record.kind))}};
  if (record.kind == ParkKind::kEdit) {
    headers.emplace_back("oncemq-park-run", record.run);
    headers.emplace_back("oncemq-park-replaces", std::to_string(record.replaces));
  } else {
    headers.emplace_back("oncemq-park-owner", std::to_string(record.owner));
  }
  if (!record.id.empty()) {
    headers.emplace_back(kParkIdHeader, record.id);
  }
  if (record.first) {
    headers.emplace_back("oncemq-park-first", "1");
  }
  return headers;
}

ParkHeaders OtherHeaders(const ParkRecord& record) {
  ParkHeaders headers{
      {std::string(kParkHeader), std::string(kVersion).append(ToString(record.kind))}};
  const auto add = [&](std::string_view name, std::string value, bool there) {
    there ? void(headers.emplace_back(name, std::move(value))) : void();
  };
  add("oncemq-park-offset", std::to_string(record.offset), record.offset >= 0);
  add("oncemq-park-owner", std::to_string(record.owner), record.owner != 0);
  add("oncemq-park-attempts", std::to_string(record.attempts), record.kind == ParkKind::kAgain);
  add("oncemq-park-why", record.why.substr(0, kLongestReason), !record.why.empty());
  add("oncemq-park-run", record.run, !record.run.empty());
  return headers;
}

}  // namespace oncemq
