// SPDX-License-Identifier: Apache-2.0
// What a park topic has, for a tool.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "broker_error.h"
#include "client_config.h"
#include "oncemq/framework/park.h"
#include "park_book.h"
#include "park_reader.h"

namespace oncemq {
namespace {

std::optional<std::string> BytesOf(const void* bytes, size_t size) {
  return bytes == nullptr ? std::nullopt
                          : std::optional(std::string(static_cast<const char*>(bytes), size));
}

void TakeBody(const rd_kafka_message_t& record, ParkHeaders own, ParkedEntry& entry) {
  entry.body_offset = record.offset;
  entry.value = BytesOf(record.payload, record.len);
  entry.headers = std::move(own);
}

void TakeEntry(const rd_kafka_message_t& record, const ParkRecord& read, ParkHeaders own,
               ParkedEntry& entry) {
  entry.partition = record.partition;
  entry.offset = read.offset;
  entry.park_offset = record.offset;
  entry.timestamp_ms = rd_kafka_message_timestamp(&record, nullptr);
  entry.id = read.id;
  entry.key = BytesOf(record.key, record.key_len);
  TakeBody(record, std::move(own), entry);
}

void TakeState(const ParkBook& book, ParkedEntry& entry) {
  const ParkBook::Entry& its = book.entries().at(entry.offset);
  const ParkBook::Chain& chain = book.chains().at(its.chain);
  entry.why = its.why;
  entry.attempts = std::max<uint32_t>(its.attempts, its.Called() ? 1 : 0);
  entry.redrives = its.redrives;
  entry.head = chain.places.begin()->second;
  entry.redriving = chain.command >= 0;
}

// The edited bodies of a partition, by offset.
class EditedBodies {
 public:
  void Note(const rd_kafka_message_t& record, const ParkRecord& read, const ParkBook& book) {
    const auto entry = book.entries().find(read.offset);
    if (entry == book.entries().end()) {
      bodies_.erase(read.offset);
    } else if (read.kind == ParkKind::kEdit && entry->second.body == record.offset) {
      ParkHeaders own;
      ReadParkRecord(record, &own);
      TakeBody(record, std::move(own), bodies_[read.offset]);
    }
  }
  void Move(ParkedEntry& entry) {
    if (auto edited = bodies_.extract(entry.offset)) {
      entry.body_offset = edited.mapped().body_offset;
      entry.value = std::move(edited.mapped().value);
      entry.headers = std::move(edited.mapped().headers);
    }
  }

 private:
  std::map<int64_t, ParkedEntry> bodies_;
};

// False: `take` has seen enough.
Result<bool> ReadPartition(ParkReader& reader, const ParkedName& at, NullKey null_key,
                           const std::function<bool(const ParkedEntry&)>& take) {
  ParkBook book;
  EditedBodies edited;
  const auto noted = reader.Read(at.partition, [&](const rd_kafka_message_t& record) {
    if (const auto read = book.Apply(record, null_key)) {
      edited.Note(record, *read, book);
    }
    return true;
  });
  if (!noted || book.entries().empty()) {
    return noted;
  }
  return reader.Read(at.partition, [&](const rd_kafka_message_t& record) {
    ParkHeaders own;
    const auto read = ReadParkRecord(record, &own);
    const auto entry = read ? book.entries().find(read->offset) : book.entries().end();
    if (entry == book.entries().end() || entry->second.place != record.offset) {
      return true;
    }
    ParkedEntry found{.topic = at.topic};
    TakeEntry(record, *read, std::move(own), found);
    edited.Move(found);
    TakeState(book, found);
    return take(found);
  });
}

// The partitions of all park topics, until `read` returns false.
Status ForEachPartition(const RuntimeOptions& options, milliseconds within,
                        const std::function<Result<bool>(ParkReader&, const ParkedName&)>& read) {
  const auto client = OpenObserver(options);
  if (!client) {
    return client.error();
  }
  for (const std::string& source : options.kafka.topics) {
    const auto shape = ShapeOf(client->get(), ParkTopicOf(source), within);
    if (!shape) {
      return shape.error();
    }
    ParkReader reader(client->get(), source, within);
    for (int32_t partition = 0; partition < shape->partitions; partition++) {
      const Result<bool> goes_on = read(reader, {.topic = source, .partition = partition});
      if (!goes_on) {
        return goes_on.error();
      }
      if (!*goes_on) {
        return {};
      }
    }
  }
  return {};
}

// Follows one message through the records of its partition.
class Story {
 public:
  Story(const ParkedName& name, NullKey null_key) : offset_(name.offset), null_key_(null_key) {
    message_.entry.topic = name.topic;
  }

  void Apply(const rd_kafka_message_t& record) {
    const State before = Now();
    const auto read = book_.Apply(record, null_key_);
    const State after = Now();
    const bool changed = !(before == after);
    if (!read || (read->offset != offset_ && !changed)) {
      return;
    }
    message_.history.push_back({.kind = std::string(ToString(read->kind)),
                                .park_offset = record.offset,
                                .offset = read->offset,
                                .counts = changed,
                                .owner = read->owner,
                                .run = read->run,
                                .why = read->why});
    if (changed && HasMessage(read->kind)) {
      ParkHeaders own;
      ReadParkRecord(record, &own);
      IsEntry(read->kind) ? TakeEntry(record, *read, std::move(own), message_.entry)
                          : TakeBody(record, std::move(own), message_.entry);
    }
  }

  ParkedMessage Take() {
    const auto entry = book_.entries().find(offset_);
    message_.parked = entry != book_.entries().end();
    message_.editable = book_.MayEdit(offset_);
    if (message_.parked) {
      TakeState(book_, message_.entry);
      for (const auto& [place, offset] : book_.chains().at(entry->second.chain).places) {
        message_.chain.push_back(offset);
      }
    }
    return std::move(message_);
  }

 private:
  struct State {
    int64_t body = -1;  // or it is not parked
    uint32_t redrives = 0;
    int64_t command = -1;
    bool drop = false;
    bool operator==(const State&) const = default;
  };

  State Now() const {
    const auto entry = book_.entries().find(offset_);
    if (entry == book_.entries().end()) {
      return {};
    }
    const ParkBook::Chain& chain = book_.chains().at(entry->second.chain);
    return {entry->second.body, entry->second.redrives, chain.command,
            chain.drops.contains(offset_)};
  }

  const int64_t offset_;
  const NullKey null_key_;
  ParkBook book_;
  ParkedMessage message_;
};

}  // namespace

Status ReadParked(const RuntimeOptions& options, milliseconds within,
                  const std::function<bool(const ParkedEntry&)>& take) {
  return ForEachPartition(options, within, [&](ParkReader& reader, const ParkedName& at) {
    return ReadPartition(reader, at, options.null_key, take);
  });
}

Result<std::vector<ParkedCount>> CountParked(const RuntimeOptions& options, milliseconds within) {
  std::vector<ParkedCount> counts;
  RuntimeOptions one = options;
  for (const std::string& source : options.kafka.topics) {
    one.kafka.topics = {source};
    const Status read = ForEachPartition(one, within, [&](ParkReader& reader, ParkedName at) {
      ParkBook book;
      const auto noted = reader.Read(at.partition, [&](const rd_kafka_message_t& record) {
        book.Apply(record, options.null_key);
        return true;
      });
      if (noted) {
        counts.push_back({at.topic, at.partition, book.entries().size()});
      }
      return noted;
    });
    if (!read && read.error().code != Code::kNotFound) {
      return read.error();
    }
  }
  return counts;
}

Result<ParkedMessage> ReadParkedMessage(const RuntimeOptions& options, const ParkedName& name,
                                        milliseconds within) {
  const auto client = OpenObserver(options);
  if (!client) {
    return client.error();
  }
  Story story(name, options.null_key);
  const auto read = ParkReader(client->get(), name.topic, within)
                        .Read(name.partition, [&](const rd_kafka_message_t& record) {
                          story.Apply(record);
                          return true;
                        });
  if (!read) {
    return read.error();
  }
  ParkedMessage message = story.Take();
  if (std::ranges::none_of(message.history, &ParkEvent::counts)) {
    return Error{Code::kNotFound, Effect::kNone,
                 name.topic + " [" + std::to_string(name.partition) + "] offset " +
                     std::to_string(name.offset) +
                     " was never parked: `oncemq park list` shows the parked messages"};
  }
  int64_t begin = 0;
  int64_t end = 0;
  if (rd_kafka_query_watermark_offsets(client->get(), name.topic.c_str(), name.partition, &begin,
                                       &end, Millis(within)) == RD_KAFKA_RESP_ERR_NO_ERROR) {
    message.original_gone = name.offset < begin;
  }
  return message;
}

Result<std::vector<ParkedName>> FindParked(const RuntimeOptions& options, std::string_view id,
                                           milliseconds within) {
  std::vector<ParkedName> found;
  const Status all = ForEachPartition(options, within, [&](ParkReader& reader, ParkedName at) {
    std::set<int64_t> offsets;
    return reader.Read(at.partition, [&](const rd_kafka_message_t& record) {
      const auto read = ReadParkRecord(record);
      const bool parks =
          read && (read->kind == ParkKind::kParked || read->kind == ParkKind::kFollows);
      if (parks && read->id == id && offsets.insert(read->offset).second) {
        at.offset = read->offset;
        found.push_back(at);
      }
      return true;
    });
  });
  return all ? Result<std::vector<ParkedName>>(std::move(found)) : all.error();
}

}  // namespace oncemq
