// SPDX-License-Identifier: Apache-2.0
#include "member.h"

#include <algorithm>
#include <utility>

#include "commit_reply.h"
#include "oncemq/base/log.h"

namespace oncemq {
namespace {

constexpr uint32_t kEventsAtOnce = 100;
constexpr uint32_t kLargestBatch = 1000;
constexpr uint64_t kRing = 1;  // what a queue writes to the wake's descriptor

// Errors after which a partition can't be read on without an answer from a person.
bool IsIncident(rd_kafka_resp_err_t code) {
  switch (code) {
    case RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET:
    case RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE:
    case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART:
    case RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION:
    case RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC:
    case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR__BAD_MSG:
      return true;
    default:
      return false;
  }
}

}  // namespace

Member::Member(const RuntimeOptions& options, ClientPtr client, bool cooperative, int wake,
               const IdReader& ids, PartitionTable& table)
    : options_(options),
      cooperative_(cooperative),
      wake_(wake),
      ids_(ids),
      table_(table),
      client_(std::move(client)),
      starts_(options, client_.get()),
      batch_(kLargestBatch) {
  rd_kafka_poll_set_consumer(client_.get());
  queue_.reset(rd_kafka_queue_get_consumer(client_.get()));
  rd_kafka_queue_io_event_enable(queue_.get(), wake_, &kRing, sizeof kRing);
}

Member::~Member() {
  // The descriptor may be somebody else's soon, and the client may live on.
  for (const auto& [id, reader] : readers_) {
    rd_kafka_queue_io_event_enable(reader.queue.get(), -1, nullptr, 0);
  }
  rd_kafka_queue_io_event_enable(queue_.get(), -1, nullptr, 0);
  if (close_queue_ != nullptr) {
    rd_kafka_queue_io_event_enable(close_queue_.get(), -1, nullptr, 0);
  }
}

Status Member::Subscribe() {
  PartitionListPtr topics(rd_kafka_topic_partition_list_new(1));
  for (const std::string& topic : options_.kafka.topics) {
    rd_kafka_topic_partition_list_add(topics.get(), topic.c_str(), RD_KAFKA_PARTITION_UA);
  }
  const auto code = rd_kafka_subscribe(client_.get(), topics.get());
  if (code != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return BrokerError(code, "the topics can't be subscribed to");
  }
  return {};
}

void Member::Serve(SourceEvents& events, BootTime now) {
  rd_kafka_queue_t* const queue = close_queue_ != nullptr ? close_queue_.get() : queue_.get();
  for (uint32_t i = 0; i < kEventsAtOnce; i++) {
    const EventPtr event(rd_kafka_queue_poll(queue, 0));
    if (event == nullptr) {
      break;
    }
    OnEvent(event.get(), events, now);
  }
  for (const uint64_t request : std::exchange(unsent_, {})) {
    for (const Sent& one : std::exchange(sent_[request], {})) {
      events.CommitAnswered(one.partition, one.number, CommitReply::kUnknown);
    }
    sent_.erase(request);
  }
  if (!unresolved_.empty() && now >= resolve_at_) {
    Resolve(events, now);
  }
}

void Member::OnEvent(rd_kafka_event_t* event, SourceEvents& events, BootTime now) {
  switch (rd_kafka_event_type(event)) {
    case RD_KAFKA_EVENT_REBALANCE: {
      const auto& list = *rd_kafka_event_topic_partition_list(event);
      if (rd_kafka_event_error(event) == RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS) {
        OnAssign(list, events, now);
      } else {
        OnRevoke(list, events);
      }
      break;
    }
    case RD_KAFKA_EVENT_OFFSET_COMMIT:
      OnCommitted(event, events);
      break;
    case RD_KAFKA_EVENT_ERROR:
      OnError(event, events);
      break;
    default:
      break;
  }
}

void Member::OnError(rd_kafka_event_t* event, SourceEvents& events) {
  const auto code = rd_kafka_event_error(event);
  const char* const text = rd_kafka_event_error_string(event);
  if (rd_kafka_event_error_is_fatal(event) != 0) {
    events.Failed(std::string(rd_kafka_err2name(code)) + ": " + text);
    return;
  }
  // Broken connections are in librdkafka's own log already, one line for each.
  const bool told = code == RD_KAFKA_RESP_ERR__TRANSPORT || code == RD_KAFKA_RESP_ERR__RESOLVE;
  Log(told ? LogLevel::kDebug : LogLevel::kWarn, "kafka", text,
      {{"code", rd_kafka_err2name(code)}});
}

uint32_t Member::Read(PartitionId id, uint32_t most, std::vector<Arrival>& arrivals,
                      SourceEvents& events) {
  const auto found = readers_.find(id);
  if (found == readers_.end() || found->second.stopped) {
    return 0;
  }
  Reader& reader = found->second;
  const ssize_t count = rd_kafka_consume_batch_queue(reader.queue.get(), 0, batch_.data(),
                                                     std::min<size_t>(most, batch_.size()));
  uint32_t added = 0;
  const rd_kafka_topic_t* topic = nullptr;
  for (ssize_t i = 0; i < count; i++) {
    rd_kafka_message_t* const message = batch_[static_cast<size_t>(i)];
    if (message->err != RD_KAFKA_RESP_ERR_NO_ERROR || reader.stopped) [[unlikely]] {
      reader.stopped |= message->err != RD_KAFKA_RESP_ERR_NO_ERROR && Broken(id, message, events);
      rd_kafka_message_destroy(message);
      continue;
    }
    if (message->rkt != topic) {
      topic = message->rkt;
      topics_.insert(topic);
    }
    reader.next = message->offset + 1;
    arrivals.push_back(ids_.Read(message));
    added++;
  }
  held_ += added;
  if (reader.stopped) {
    ListReadable();
  }
  return added;
}

// An error in place of a message. True: the partition stops here.
bool Member::Broken(PartitionId id, const rd_kafka_message_t* message, SourceEvents& events) {
  const PartitionName& name = table_.Name(id);
  const char* const text = rd_kafka_message_errstr(message);
  if (!IsIncident(message->err)) {
    Log(LogLevel::kWarn, "kafka", text,
        {{"topic", name.topic},
         {"partition", name.partition},
         {"code", rd_kafka_err2name(message->err)}});
    return false;
  }
  events.Incident(name, readers_.at(id).next, text);
  return true;
}

bool Member::Owns(const rd_kafka_message_t* message) const {
  return topics_.contains(message->rkt);
}

void Member::Commit(std::span<const CommitAction> commits) {
  PartitionListPtr list(rd_kafka_topic_partition_list_new(static_cast<int>(commits.size())));
  std::vector<Sent>& sent = sent_[next_request_];
  for (const CommitAction& commit : commits) {
    const PartitionName& name = table_.Name(commit.partition);
    auto* entry = rd_kafka_topic_partition_list_add(list.get(), name.topic.c_str(), name.partition);
    entry->offset = commit.offset;
    entry->metadata_size = commit.metadata.size();
    // librdkafka frees it with the list.
    entry->metadata = rd_kafka_mem_malloc(client_.get(), commit.metadata.size() + 1);
    commit.metadata.copy(static_cast<char*>(entry->metadata), commit.metadata.size());
    sent.push_back({commit.partition, commit.number});
  }
  // Number and not address: what a late answer names may be gone.
  auto* const number = reinterpret_cast<void*>(next_request_);
  const auto code = rd_kafka_commit_queue(client_.get(), list.get(), queue_.get(), nullptr, number);
  if (code != RD_KAFKA_RESP_ERR_NO_ERROR) {
    Log(LogLevel::kWarn, "kafka", "a commit was not taken", {{"code", rd_kafka_err2name(code)}});
    unsent_.push_back(next_request_);
  }
  next_request_++;
}

void Member::OnCommitted(rd_kafka_event_t* event, SourceEvents& events) {
  const auto number = reinterpret_cast<uint64_t>(rd_kafka_event_opaque(event));
  const auto found = sent_.find(number);
  if (found == sent_.end()) {
    return;
  }
  const std::vector<Sent> sent = std::move(found->second);
  sent_.erase(found);
  const CommitAnswers answers(rd_kafka_event_error(event),
                              rd_kafka_event_topic_partition_list(event));
  for (const Sent& one : sent) {
    const PartitionName& name = table_.Name(one.partition);
    const auto code = answers.Of(name);
    const CommitReply reply = revoking_ ? ReplyInRevocation(code) : ReplyOf(code, cooperative_);
    if (reply != CommitReply::kAcknowledged) {
      Log(reply == CommitReply::kRefused ? LogLevel::kWarn : LogLevel::kInfo, "kafka",
          reply == CommitReply::kRefused ? "a commit was refused" : "a commit was not acknowledged",
          {{"topic", name.topic},
           {"partition", name.partition},
           {"code", rd_kafka_err2name(code)}});
    }
    events.CommitAnswered(one.partition, one.number, reply);
  }
}

// While the group waits for us, a broker takes our commits. One that does not, as librdkafka's mock
// cluster, will not later either; it has surely not stored them.
CommitReply Member::ReplyInRevocation(rd_kafka_resp_err_t code) {
  constexpr uint32_t kPatience = 5;
  if (code == RD_KAFKA_RESP_ERR_REBALANCE_IN_PROGRESS && ++refusals_ > kPatience) {
    return CommitReply::kRefused;
  }
  return ReplyOf(code, cooperative_);
}

void Member::Close() {
  // librdkafka can't end while the group waits for an answer of ours.
  if (must_answer_) {
    TellAssigned({}, true);
  }
  if (revoking_) {
    Unassign();
  }
  readers_.clear();
  unresolved_.clear();
  ListReadable();
  close_queue_.reset(rd_kafka_queue_new(client_.get()));
  rd_kafka_queue_io_event_enable(close_queue_.get(), wake_, &kRing, sizeof kRing);
  const ErrorPtr error(rd_kafka_consumer_close_queue(client_.get(), close_queue_.get()));
  if (error != nullptr) {
    Log(LogLevel::kWarn, "kafka", "the group can't be left in order",
        {{"error", rd_kafka_error_string(error.get())}});
  }
}

bool Member::closed() const {
  return rd_kafka_consumer_closed(client_.get()) != 0;
}

}  // namespace oncemq
