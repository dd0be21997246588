// SPDX-License-Identifier: Apache-2.0
#include "scripted_source.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "oncemq/base/hash.h"

namespace oncemq::testing {
namespace {

class RecordMessage final : public Message {
 public:
  template <class R>
  void Point(const R& record) {
    value_ = record.payload.empty() ? record.id : record.payload;
    key_ = record.key;
    partition_ = static_cast<int32_t>(record.partition);
    offset_ = record.offset;
    traceparent_ = record.traceparent;
  }
  std::string_view topic() const override { return "topic"; }
  int32_t partition() const override { return partition_; }
  int64_t offset() const override { return offset_; }
  int64_t timestamp_ms() const override { return -1; }
  std::optional<std::string_view> key() const override { return key_; }
  std::optional<std::string_view> value() const override { return value_; }
  std::optional<std::string_view> header(std::string_view name) const override {
    return name == "traceparent" ? std::optional(traceparent_) : std::nullopt;
  }
  std::vector<MessageHeader> headers() const override { return {}; }

 private:
  std::string_view value_;
  std::string_view key_;
  std::string_view traceparent_;
  int32_t partition_ = 0;
  int64_t offset_ = 0;
};

}  // namespace

void Script::Append(PartitionId partition, const std::string& id, const std::string& key,
                    const std::string& payload) {
  {
    MutexLock lock(mutex_);
    auto& log = logs_[partition];
    log.push_back({id, key, payload, partition, static_cast<int64_t>(log.size())});
  }
  wake_.Notify();
}

void Script::Emit(std::function<void(SourceEvents&)> event) {
  {
    MutexLock lock(mutex_);
    events_.push_back(std::move(event));
  }
  wake_.Notify();
}

void Script::Assign(PartitionId partition, int64_t start, int64_t read_from) {
  const int64_t first = read_from < 0 ? start : read_from;
  Emit([this, partition, start, first](SourceEvents& events) {
    {
      MutexLock lock(mutex_);
      readable_.push_back(partition);
      not_begun_.erase(partition);
      next_[partition] = static_cast<size_t>(first);
    }
    AssignFacts facts;
    facts.partition = static_cast<int32_t>(partition);
    facts.start = start;
    facts.read_from = facts.metadata.since = first;
    events.Assigned(partition, facts);
  });
}

void Script::Prepare(PartitionId partition, const std::optional<CommitAction>& stored) {
  Emit([this, partition, stored](SourceEvents& events) {
    Assignment assignment;
    assignment.log.end = 1'000;
    assignment.facts.partition = static_cast<int32_t>(partition);
    if (stored) {
      assignment.history = History::kOurs;
      assignment.facts.start = assignment.facts.read_from = stored->offset;
      assignment.facts.metadata = *DecodeCommit(stored->metadata, stored->offset);
    }
    const auto ready = events.Prepare(partition, {"topic", assignment.facts.partition}, assignment);
    if (!ready) {
      MutexLock lock(mutex_);
      waiting_.push_back([this, partition, stored] { Prepare(partition, stored); });
      return;
    }
    ASSERT_TRUE(*ready) << ToString(ready->error());
    {
      MutexLock lock(mutex_);
      readable_.push_back(partition);
      next_[partition] = static_cast<size_t>(assignment.facts.read_from);
    }
    events.Assigned(partition, assignment.facts);
  });
}

void Script::RetryPrepare() {
  std::vector<std::function<void()>> waiting;
  {
    MutexLock lock(mutex_);
    waiting.swap(waiting_);
  }
  for (const auto& prepare : waiting) {
    prepare();
  }
}

void Script::Hold(PartitionId partition, const std::string& why, bool stopped) {
  {
    MutexLock lock(mutex_);
    not_begun_[partition] = {{"topic", static_cast<int32_t>(partition)}, why, stopped};
  }
  wake_.Notify();
}

void Script::Revoke(PartitionId partition) {
  Emit([partition](SourceEvents& events) { events.Revoked(partition); });
}

void Script::Lose(PartitionId partition) {
  Emit([this, partition](SourceEvents& events) {
    {
      MutexLock lock(mutex_);
      std::erase(readable_, partition);
    }
    events.Lost(partition);
  });
}

void Script::SeeLog(PartitionId partition, const LogSight& log) {
  MutexLock lock(mutex_);
  logs_seen_[partition] = log;
}

void Script::AnswerParked(const Result<ParkedMessages>& parked) {
  {
    MutexLock lock(mutex_);
    parked_ = parked;
  }
  wake_.Notify();
}

void Script::Redrive(PartitionId partition, const std::string& id, const std::string& key,
                     int64_t offset) {
  {
    MutexLock lock(mutex_);
    redriven_.push_back({id, key, "", partition, offset});
  }
  wake_.Notify();
}

void Script::AnswerCommits(std::optional<CommitReply> reply) {
  MutexLock lock(mutex_);
  reply_ = reply;
}

Arrival Script::ArrivalOf(const Record& record) {
  Arrival arrival;
  arrival.message = const_cast<void*>(static_cast<const void*>(&record));
  arrival.id = record.id;
  arrival.id_hash = record.id.empty() ? 0 : ProcessHash(record.id);
  arrival.key_hash = ProcessHash(record.key);
  arrival.offset = record.offset;
  if (!record.payload.empty()) {
    arrival.fingerprint = static_cast<uint32_t>(StableHash(record.payload));
  }
  arrival.bytes = 100;
  return arrival;
}

Script::Seen Script::seen() const {
  MutexLock lock(mutex_);
  return seen_;
}

void ScriptedSource::Serve(SourceEvents& events) {
  script_.clock_.Advance(milliseconds(script_.serve_takes_.load()));
  std::deque<std::function<void(SourceEvents&)>> due;
  {
    MutexLock lock(script_.mutex_);
    due.swap(script_.events_);
  }
  for (const auto& event : due) {
    event(events);
  }
  MutexLock lock(script_.mutex_);
  readable_ = script_.readable_;
  not_begun_ = script_.not_begun_;
}

uint32_t ScriptedSource::Read(PartitionId partition, uint32_t most, std::vector<Arrival>& arrivals,
                              SourceEvents&) {
  MutexLock lock(script_.mutex_);
  const auto& log = script_.logs_[partition];
  size_t& next = script_.next_[partition];
  uint32_t count = 0;
  for (; next < log.size() && count < most; next++, count++) {
    arrivals.push_back(Script::ArrivalOf(log[next]));
  }
  script_.seen_.held += count;
  return count;
}

Result<ParkedMessages> ScriptedSource::Begin(PartitionId, OwnerEpoch, int64_t from, int64_t) {
  MutexLock lock(script_.mutex_);
  script_.seen_.parked_from = from;
  script_.seen_.asked_parked += script_.parked_ ? 0 : 1;
  return script_.parked_;
}

void ScriptedSource::Read(PartitionId partition, uint32_t most,
                          const std::function<bool(int64_t)>& finished,
                          std::vector<RedrivenArrival>& arrivals) {
  MutexLock lock(script_.mutex_);
  std::deque<Script::Record>& due = script_.redriven_;
  while (most-- > 0 && !due.empty() && due.front().partition == partition &&
         finished(due.front().offset)) {
    const Script::Record& record = script_.copies_.emplace_back(std::move(due.front()));
    due.pop_front();
    arrivals.push_back({Script::ArrivalOf(record)});
    script_.seen_.held++;
  }
}

void ScriptedSource::Release(std::span<void* const> messages) {
  MutexLock lock(script_.mutex_);
  script_.seen_.held -= messages.size();
}

void ScriptedSource::Detach(std::span<LeftBehind> messages) {
  MutexLock lock(script_.mutex_);
  for (LeftBehind& message : messages) {
    auto& record = *static_cast<Script::Record*>(message.message);
    script_.seen_.detached.push_back(record.id);
    const Script::Record& copy = script_.copies_.emplace_back(record);
    record.id.assign(record.id.size(), '?');
    message.message = const_cast<Script::Record*>(&copy);
    message.id = copy.id;
  }
}

void ScriptedSource::Commit(std::span<const CommitAction> commits) {
  for (const CommitAction& commit : commits) {
    std::optional<CommitReply> reply;
    {
      MutexLock lock(script_.mutex_);
      script_.seen_.commits.push_back(commit);
      reply = script_.reply_;
    }
    if (reply) {
      script_.Emit([commit, reply](SourceEvents& events) {
        events.CommitAnswered(commit.partition, commit.number, *reply);
      });
    }
  }
}

void ScriptedSource::GiveBack(PartitionId partition) {
  MutexLock lock(script_.mutex_);
  std::erase(script_.readable_, partition);
  script_.seen_.given_back.push_back(partition);
}

void ScriptedSource::AssignAnew(PartitionId partition) {
  MutexLock lock(script_.mutex_);
  std::erase(script_.readable_, partition);
  script_.seen_.assigned_anew.push_back(partition);
}

void ScriptedSource::Refuse() {
  MutexLock lock(script_.mutex_);
  script_.seen_.refusing = true;
}

void ScriptedSource::Rejoin() {
  MutexLock lock(script_.mutex_);
  script_.seen_.rejoined++;
  script_.seen_.refusing = false;
}

void ScriptedSource::Close() {
  MutexLock lock(script_.mutex_);
  script_.seen_.closed = true;
}

LogSight ScriptedSource::LogOf(PartitionId partition) const {
  MutexLock lock(script_.mutex_);
  const auto found = script_.logs_seen_.find(partition);
  return found == script_.logs_seen_.end() ? LogSight{} : found->second;
}

std::unique_ptr<MessageView> ScriptedSource::NewView() const {
  class View final : public MessageView {
   public:
    const Message& Show(void* message) override {
      message_.Point(*static_cast<const Script::Record*>(message));
      return message_;
    }

   private:
    RecordMessage message_;
  };
  return std::make_unique<View>();
}

}  // namespace oncemq::testing
