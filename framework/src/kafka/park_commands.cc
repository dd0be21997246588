// SPDX-License-Identifier: Apache-2.0
// CommandParked: the side of a tool. It reads the topics as an owner does, so it knows the outcome
// of each command by the same book.
#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "broker_error.h"
#include "client_config.h"
#include "oncemq/framework/park.h"
#include "park_book.h"
#include "park_topic.h"

namespace oncemq {
namespace {

constexpr milliseconds kPoll{50};
constexpr milliseconds kWithin{10'000};
constexpr size_t kMostOpen = 1'000;

ParkKind KindOf(ParkCommand::Kind kind) {
  return kind == ParkCommand::Kind::kRedrive ? ParkKind::kRedrive
         : kind == ParkCommand::Kind::kDrop  ? ParkKind::kDrop
                                             : ParkKind::kCancel;
}

class Follower {
 public:
  Follower(const RuntimeOptions& options, const ParkCommand& command, ClientPtr client)
      : options_(options),
        command_(command),
        client_(std::move(client)),
        records_(rd_kafka_queue_new(client_.get())) {}

  Status Follow(const ParkedEntry& message) {
    const Name name{message.topic, message.partition};
    const auto [topic, fresh] = topics_.try_emplace(name);
    if (!fresh) {
      return {};
    }
    int64_t begin = 0;
    const auto marks =
        rd_kafka_query_watermark_offsets(client_.get(), ParkTopicOf(name.first).c_str(),
                                         name.second, &begin, &topic->second.from, Millis(kWithin));
    if (marks != RD_KAFKA_RESP_ERR_NO_ERROR) {
      return BrokerError(marks, "the end of " + ParkTopicOf(name.first) + " is not known");
    }
    const TopicPtr handle(
        rd_kafka_topic_new(client_.get(), ParkTopicOf(name.first).c_str(), nullptr));
    if (rd_kafka_consume_start_queue(handle.get(), name.second, RD_KAFKA_OFFSET_BEGINNING,
                                     records_.get()) != 0) {
      return BrokerError(rd_kafka_last_error(), ParkTopicOf(name.first) + " can't be read");
    }
    return {};
  }

  void Sent(size_t commands, bool awaited) {
    progress_.commands += commands;
    unread_ += awaited ? commands : 0;
  }

  // True: something has moved.
  bool Poll() {
    const EventPtr event(rd_kafka_queue_poll(records_.get(), Millis(kPoll)));
    if (event == nullptr || rd_kafka_event_type(event.get()) != RD_KAFKA_EVENT_FETCH) {
      return false;
    }
    bool moved = false;
    while (const rd_kafka_message_t* const record = rd_kafka_event_message_next(event.get())) {
      moved |= record->err == RD_KAFKA_RESP_ERR_NO_ERROR && Apply(*record);
    }
    return moved;
  }

  ParkProgress progress() const {
    ParkProgress progress = progress_;
    progress.open = unread_ + chains_.size() + drops_.size();
    return progress;
  }

 private:
  using Name = std::pair<std::string, int32_t>;

  bool Apply(const rd_kafka_message_t& record) {
    std::string topic = rd_kafka_topic_name(record.rkt);
    topic.resize(topic.size() - kParkSuffix.size());
    const Name name{std::move(topic), record.partition};
    auto& [book, from] = topics_.at(name);
    const std::map<int64_t, ParkBook::Entry>& entries = book.entries();
    const auto before = ReadParkRecord(record);
    const auto entry = before ? entries.find(before->offset) : entries.end();
    const std::optional<ParkBook::ChainName> chain =
        entry == entries.end() ? std::nullopt : std::optional(entry->second.chain);
    book.Apply(record, options_.null_key);
    if (!before || record.offset < from) {
      return false;  // of earlier runs, perhaps of the same name
    }
    if (before->kind == KindOf(command_.kind) && before->run == command_.run) {
      unread_ -= unread_ > 0 ? 1 : 0;
      if (chain && command_.kind == ParkCommand::Kind::kDrop) {
        drops_.insert({name, before->offset});
      } else if (chain && book.chains().at(*chain).command >= 0) {
        chains_.insert({name, *chain});  // perhaps by an earlier command
      }
      return true;
    }
    if (!chain) {
      return false;
    }
    const bool gone = !entries.contains(before->offset);
    if (gone && drops_.erase({name, before->offset}) > 0) {
      progress_.ended++;
      return true;
    }
    const auto ours = chains_.find({name, *chain});
    // Not by the word of an earlier owner.
    const bool again = before->kind == ParkKind::kAgain && book.chains().at(*chain).command < 0;
    if (ours == chains_.end() || (!gone && !again)) {
      return false;
    }
    progress_.ended += gone ? 1 : 0;
    progress_.refused_again += again ? 1 : 0;
    if (again || !book.chains().contains(*chain)) {
      chains_.erase(ours);
    }
    return true;
  }

  const RuntimeOptions& options_;
  const ParkCommand& command_;
  const ClientPtr client_;
  const QueuePtr records_;
  struct Topic {
    ParkBook book;
    int64_t from = 0;  // our commands come after it
  };
  std::map<Name, Topic> topics_;
  uint64_t unread_ = 0;                                    // commands
  std::set<std::pair<Name, ParkBook::ChainName>> chains_;  // with a command of ours
  std::set<std::pair<Name, int64_t>> drops_;
  ParkProgress progress_;
};

}  // namespace

Result<ParkProgress> CommandParked(const RuntimeOptions& options, const ParkCommand& command,
                                   std::span<const ParkedEntry> messages, milliseconds patience,
                                   const std::stop_token& stop) {
  auto client = OpenObserver(options);
  if (!client) {
    return client.error();
  }
  const auto topic = ParkTopic::Open(options);
  if (!topic) {
    return topic.error();
  }
  Follower follower(options, command, *std::move(client));
  const bool follows = command.kind != ParkCommand::Kind::kCancel;
  for (const ParkedEntry& message : messages) {
    if (const Status followed = follows ? follower.Follow(message) : Status(); !followed) {
      return followed.error();
    }
  }
  const BootTime began = BootNow();
  BootTime moved = began;
  size_t sent = 0;
  while (!stop.stop_requested() && BootNow() < moved + patience &&
         (sent < messages.size() || follower.progress().open > 0)) {
    const auto due =
        static_cast<size_t>(command.per_second * ((BootNow() - began).count() / 1e6) + 1);
    const size_t room = kMostOpen - std::min(kMostOpen, follower.progress().open);
    const size_t to = std::min({messages.size(), std::max(due, sent), sent + room});
    std::vector<ParkTopic::Command> commands;
    for (; sent < to; sent++) {
      const ParkedEntry& message = messages[sent];
      commands.push_back({{message.topic, message.partition},
                          message.key,
                          {.kind = KindOf(command.kind),
                           .offset = follows ? message.offset : -1,
                           .run = command.run}});
    }
    if (!commands.empty()) {
      if (const Status recorded = (*topic)->RecordCommands(commands); !recorded) {
        return recorded.error();
      }
      follower.Sent(commands.size(), follows);
      moved = BootNow();
    }
    moved = follower.Poll() ? BootNow() : moved;
  }
  ParkProgress progress = follower.progress();
  progress.open += messages.size() - sent;
  return progress;
}

}  // namespace oncemq
