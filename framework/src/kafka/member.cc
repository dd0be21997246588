// SPDX-License-Identifier: Apache-2.0
#include "member.h"

#include <algorithm>

#include "broker_error.h"
#include "client_stats.h"
#include "oncemq/base/log.h"
#include "wake_ring.h"

namespace oncemq {
namespace {

constexpr uint32_t kEventsAtOnce = 100;
constexpr uint32_t kLargestBatch = 1000;
constexpr milliseconds kReadCommittedWithin{3'000};  // as a look at an assignment's commits

}  // namespace

Member::Member(const RuntimeOptions& options, ClientPtr client, bool cooperative, int wake,
               MessageReader& reader, PartitionTable& table, GroupBeginning& beginning,
               BrokerContact& contact, CleanupPolicies& policies, const Clock& clock)
    : options_(options),
      cooperative_(cooperative),
      wake_(wake),
      reader_(reader),
      table_(table),
      contact_(contact),
      policies_(policies),
      clock_(clock),
      client_(std::move(client)),
      committed_reader_(client_, wake, kReadCommittedWithin),
      starts_(options, client_.get(), beginning, policies, clock),
      missing_(options.kafka.topics, clock),
      batch_(kLargestBatch) {
  rd_kafka_poll_set_consumer(client_.get());
  queue_.reset(rd_kafka_queue_get_consumer(client_.get()));
  rd_kafka_queue_io_event_enable(queue_.get(), wake_, &kWakeRing, sizeof kWakeRing);
  commits_.emplace(client_.get(), queue_.get(), committed_reader_, cooperative, table);
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

void Member::Serve(SourceEvents& events) {
  NoteLoss();
  if (!overtaken_.empty() && !group_.revoking) {
    FollowLog(events);
  }
  for (const EventPtr& event : TakeEvents()) {
    OnEvent(event.get(), events);
  }
  // A look that has ended sends a commit, and none may follow the answer to a revocation: so the
  // revocation is read first, also one that was answered unread.
  TakeCommittedReads(events);
  contact_.Check(client_.get());
  if (close_queue_ == nullptr) {
    contact_.Query(client_.get(), options_.kafka.topics.front(), queue_.get());
    missing_.Check(client_.get(), queue_.get());
  }
  group_.answered_early = false;
  commits_->Serve(events);
  UnassignWhenDrained();
  const bool unanswered = group_.must_answer && close_queue_ == nullptr;  // its call has failed
  if ((!unresolved_.empty() || unanswered) && clock_.Boot() >= resolve_at_) {
    Resolve(events);
  }
}

std::vector<EventPtr> Member::TakeEvents() {
  rd_kafka_queue_t* const queue = close_queue_ != nullptr ? close_queue_.get() : queue_.get();
  std::vector<EventPtr> taken;
  while (group_.answered_early || taken.size() < kEventsAtOnce) {
    EventPtr event(rd_kafka_queue_poll(queue, 0));
    if (event == nullptr) {
      break;
    }
    taken.push_back(std::move(event));
  }
  return taken;
}

void Member::TakeCommittedReads(SourceEvents& events) {
  for (const CommittedReader::Answer& answer : committed_reader_.Take()) {
    for (const PartitionId vanished : commits_->OnCommittedRead(answer, events)) {
      if (const auto found = readers_.find(vanished); found != readers_.end()) {
        found->second.stopped = true;
        ListReadable();
      }
    }
  }
}

void Member::OnEvent(rd_kafka_event_t* event, SourceEvents& events) {
  switch (rd_kafka_event_type(event)) {
    case RD_KAFKA_EVENT_REBALANCE: {
      const auto& list = *rd_kafka_event_topic_partition_list(event);
      if (rd_kafka_event_error(event) == RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS) {
        OnAssign(list, events);
      } else {
        OnRevoke(list, events);
      }
      break;
    }
    case RD_KAFKA_EVENT_OFFSET_COMMIT:
      commits_->OnCommitted(event, events);
      break;
    case RD_KAFKA_EVENT_DESCRIBECONFIGS_RESULT:
      OnDescribed(event);
      break;
    case RD_KAFKA_EVENT_ERROR:
      OnError(event, events);
      break;
    case RD_KAFKA_EVENT_STATS: {
      const ClientStats stats(rd_kafka_event_stats(event));
      for (auto& [id, reader] : readers_) {
        stats.Fill(table_.Name(id), clock_.Boot(), reader.fetch);
      }
      break;
    }
    case RD_KAFKA_EVENT_FETCH:
      // It would be destroyed here unread, and the frontier would take the gap for a hole.
      events.Failed("records have come by the common queue, past the queue of their partition");
      break;
    default:
      break;
  }
}

void Member::OnDescribed(rd_kafka_event_t* event) {
  if (contact_.IsReply(event)) {
    contact_.Answered(event);
  } else if (missing_.IsReply(event)) {
    missing_.Answered(event);
  } else {
    policies_.Answered(event);
  }
}

void Member::OnError(rd_kafka_event_t* event, SourceEvents& events) {
  const auto code = rd_kafka_event_error(event);
  const char* const text = rd_kafka_event_error_string(event);
  if (rd_kafka_event_error_is_fatal(event) != 0) {
    events.Failed(std::string(rd_kafka_err2name(code)) + ": " + text);
    return;
  }
  if (code == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED ||
      code == RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED) {
    // The client asks on for ever, so that a right which is given later needs no restart.
    if (denied_.insert(text).second) {
      events.Incident({options_.kafka.group, -1}, -1, text);
    }
    return;
  }
  if (code == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART || code == RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC) {
    missing_.Suspect(text);
  }
  // That all of them are down is said after the reason of the last one.
  if (code == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN) {
    contact_.AllDown();
  } else {
    contact_.Failed(text);
  }
  // Broken connections are in librdkafka's own log already, one line for each.
  const bool reported = code == RD_KAFKA_RESP_ERR__TRANSPORT || code == RD_KAFKA_RESP_ERR__RESOLVE;
  Log(reported ? LogLevel::kDebug : LogLevel::kWarn, "kafka", text,
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
    if (message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF) [[unlikely]] {
      if (!reader.stopped) {  // else librdkafka has passed over what stopped it
        reader.read_to = message->offset;
        reader.next = std::max(reader.next, message->offset);
      }
      rd_kafka_message_destroy(message);
      continue;
    }
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
    reader_.Read(message, arrivals.emplace_back());
    added++;
  }
  if (added > 0) {
    held_ += added;
    reader.fetch.record_at = clock_.Boot();
  }
  if (reader.stopped) {
    ListReadable();
  }
  return added;
}

// An error in place of a message. True: the partition stops here.
bool Member::Broken(PartitionId id, const rd_kafka_message_t* message, SourceEvents& events) {
  const PartitionName& name = table_.Name(id);
  const char* const text = rd_kafka_message_errstr(message);
  if (FetchGoesOn(message->err)) {
    Log(LogLevel::kWarn, "kafka", text,
        {{"topic", name.topic},
         {"partition", name.partition},
         {"code", rd_kafka_err2name(message->err)}});
    return false;
  }
  const Reader& reader = readers_.at(id);
  if (message->err == RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET && !group_.refusing) {
    overtaken_[id] = {text};
  } else {
    events.Incident(name, reader.next, text);
  }
  return true;
}

int64_t Member::ReadTo(PartitionId id) const {
  const auto found = readers_.find(id);
  return found == readers_.end() ? -1 : found->second.next;
}

LogSight Member::LogOf(PartitionId id) const {
  const auto found = readers_.find(id);
  if (found == readers_.end()) {
    return {};
  }
  const PartitionName& name = table_.Name(id);
  int64_t first = RD_KAFKA_OFFSET_INVALID;
  int64_t end = RD_KAFKA_OFFSET_INVALID;  // as the last fetch has told it
  rd_kafka_get_watermark_offsets(client_.get(), name.topic.c_str(), name.partition, &first, &end);
  return {std::max(end, found->second.log_end), found->second.read_to, found->second.fetch};
}

bool Member::Owns(const rd_kafka_message_t* message) const {
  return topics_.contains(message->rkt);
}

void Member::Close() {
  committed_reader_.Stop();
  // librdkafka can't end while the group waits for an answer of ours.
  if (group_.must_answer) {
    static_cast<void>(ApplyAssignment({}, true));
  }
  if (group_.revoking) {
    Unassign();
  }
  while (!readers_.empty()) {
    Drop(readers_.begin()->first);
  }
  unresolved_.clear();
  close_queue_.reset(rd_kafka_queue_new(client_.get()));
  rd_kafka_queue_io_event_enable(close_queue_.get(), wake_, &kWakeRing, sizeof kWakeRing);
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
