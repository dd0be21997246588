// SPDX-License-Identifier: Apache-2.0
// EditParked: another body for a parked message, by a record of its park topic.
#include <algorithm>

#include "kafka_message.h"
#include "oncemq/framework/park.h"
#include "park_topic.h"

namespace oncemq {
namespace {

// A parked message as a handler would see it.
class EntryMessage final : public Message {
 public:
  explicit EntryMessage(const ParkedEntry& entry) : entry_(entry) {}

  std::string_view topic() const override { return entry_.topic; }
  int32_t partition() const override { return entry_.partition; }
  int64_t offset() const override { return entry_.offset; }
  int64_t timestamp_ms() const override { return entry_.timestamp_ms; }
  std::optional<std::string_view> key() const override { return entry_.key; }
  std::optional<std::string_view> value() const override { return entry_.value; }
  std::optional<std::string_view> header(std::string_view name) const override {
    std::optional<std::string_view> last;
    for (const auto& [its, value] : entry_.headers) {
      if (its == name) {
        last = value ? std::string_view(*value) : std::string_view();
      }
    }
    return last;
  }
  std::vector<MessageHeader> headers() const override {
    std::vector<MessageHeader> all;
    for (const auto& [name, value] : entry_.headers) {
      all.push_back({name, value});
    }
    return all;
  }

 private:
  const ParkedEntry& entry_;
};

Error Refused(const ParkedEntry& entry, const std::string& why) {
  return {Code::kInvalid, Effect::kNone,
          entry.topic + " [" + std::to_string(entry.partition) + "] offset " +
              std::to_string(entry.offset) + " can't be edited: " + why};
}

}  // namespace

Status CheckEdit(const RuntimeOptions& options, const ParkedMessage& message,
                 const ParkedEntry& edited) {
  const ParkedEntry& entry = message.entry;
  if (!message.parked) {
    return Refused(entry, "it has ended");
  }
  if (entry.redriving) {
    return Refused(entry, "it is being redriven; cancel that, or await its outcome");
  }
  if (!message.editable) {
    return Refused(entry,
                   "it is to be dropped, or in hand since a cancelled redrive; await its outcome, "
                   "or restart the service");
  }
  if (edited.key != entry.key) {
    return Refused(entry, "its key is the order; drop it, and send it under the other key");
  }
  if (IdOf(options, EntryMessage(edited)) != IdOf(options, EntryMessage(entry))) {
    return Refused(entry, "the header " + options.id_header +
                              " is its id, and has to stay; drop it, and send it under the other "
                              "id");
  }
  return {};
}

Result<bool> EditParked(const RuntimeOptions& options, const ParkedEntry& edited,
                        const std::string& run, milliseconds within) {
  const ParkedName name{edited.topic, edited.partition, edited.offset};
  const auto message = ReadParkedMessage(options, name, within);
  if (!message) {
    return message.error();
  }
  if (const Status fits = CheckEdit(options, *message, edited); !fits) {
    return fits.error();
  }
  const auto topic = ParkTopic::Open(options);
  if (!topic) {
    return topic.error();
  }
  const ParkRecord record{.kind = ParkKind::kEdit,
                          .offset = edited.offset,
                          .attempts = message->entry.attempts,
                          .id = message->entry.id,
                          .why = message->entry.why,
                          .run = run,
                          .replaces = edited.body_offset};
  const Result<int64_t> place = (*topic)->RecordEdit(EntryMessage(edited), record);
  if (!place) {
    return place.error();
  }
  const auto after = ReadParkedMessage(options, name, within);
  if (!after) {
    return Error{
        after.error().code, Effect::kUnknown,
        "the edit is written, and it is not known whether it counts: " + after.error().message};
  }
  return std::ranges::any_of(after->history, [&](const ParkEvent& event) {
    return event.park_offset == *place && event.counts;
  });
}

}  // namespace oncemq
