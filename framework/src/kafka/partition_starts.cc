// SPDX-License-Identifier: Apache-2.0
#include "partition_starts.h"

#include <algorithm>

#include "broker_error.h"
#include "client_config.h"
#include "log_offsets.h"
#include "oncemq/base/hash.h"
#include "oncemq/base/outage.h"

namespace oncemq {
namespace {

constexpr milliseconds kCommittedWithin{3'000};
constexpr milliseconds kBoundsWithin{1'000};
constexpr milliseconds kOneByOneWithin{1'000};  // no question begins later
constexpr microseconds kQueryPause{500'000};
constexpr int kPausePerQuery = 3;

Result<int64_t> OffsetAt(rd_kafka_t* client, const char* topic, int32_t partition, int64_t time) {
  const PartitionName name{topic, partition};
  const auto list = OffsetsAt(client, {&name, 1}, time, kBoundsWithin);
  if (!list) {
    return list.error();
  }
  const rd_kafka_topic_partition_t& entry = (*list)->elems[0];
  if (entry.err != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return BrokerError(entry.err, "an offset of the log is not known");
  }
  return entry.offset;
}

}  // namespace

std::vector<Result<Assignment>> PartitionStarts::Query(std::span<const PartitionName> names) {
  std::vector<Result<Assignment>> answers;
  const auto committed = CommittedOf(client_, names, kCommittedWithin);
  std::optional<Error> silent;
  std::vector<std::optional<LogBounds>> logs;
  if (!committed) {
    silent = committed.error();
  } else {
    logs = BoundsOfAll(names);
  }
  const BootTime until = clock_.Boot() + kOneByOneWithin;
  for (size_t i = 0; i < names.size(); i++) {
    if (!silent && i > 0 && clock_.Boot() >= until) {
      silent = Error{Code::kTimeout, Effect::kNone, "the others took the time of this asking"};
    }
    if (silent) {
      answers.push_back(*silent);  // one wait is enough
      continue;
    }
    answers.push_back(Resolve((*committed)->elems[i], logs[i]));
    if (!answers.back() && IsOutage(answers.back().error())) {
      silent = answers.back().error();
    }
  }
  return answers;
}

// Nothing where the partition has to be asked about by itself: then its own error is told, and
// those of other leaders are found.
std::vector<std::optional<LogBounds>> PartitionStarts::BoundsOfAll(
    std::span<const PartitionName> names) {
  std::vector<std::optional<LogBounds>> logs(names.size());
  if (names.size() < 2) {
    return logs;
  }
  const auto starts = OffsetsAt(client_, names, RD_KAFKA_OFFSET_BEGINNING, kBoundsWithin);
  if (!starts) {
    return logs;
  }
  const auto ends = OffsetsAt(client_, names, RD_KAFKA_OFFSET_END, kBoundsWithin);
  if (!ends) {
    return logs;
  }
  for (size_t i = 0; i < names.size(); i++) {
    const rd_kafka_topic_partition_t& start = (*starts)->elems[i];
    const rd_kafka_topic_partition_t& end = (*ends)->elems[i];
    const bool known = start.err == RD_KAFKA_RESP_ERR_NO_ERROR && start.offset >= 0 &&
                       end.err == RD_KAFKA_RESP_ERR_NO_ERROR && end.offset >= 0;
    if (known) {
      logs[i] = LogBounds{start.offset, end.offset};
    }
  }
  return logs;
}

Result<Assignment> PartitionStarts::Resolve(const rd_kafka_topic_partition_t& committed,
                                            const std::optional<LogBounds>& known) {
  if (committed.err != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return BrokerError(committed.err, "the committed offset is not known");
  }
  if (committed.offset >= 0 && policies_.pending()) {  // there may be something to complete
    return Error{Code::kTimeout, Effect::kNone, "whether the topic is compacted is not known yet"};
  }
  auto log = known ? Result<LogBounds>(*known) : Bounds(committed.topic, committed.partition);
  if (!log) {
    return log.error();
  }
  log->compacted = policies_.Compacted(committed.topic);
  CommittedPosition position;
  AssignRules rules;
  if (committed.offset >= 0) {
    position.offset = committed.offset;
    position.metadata.assign(static_cast<const char*>(committed.metadata), committed.metadata_size);
  } else {
    const auto fresh = FreshStart(committed.topic, committed.partition, *log);
    if (!fresh) {
      return fresh.error();
    }
    rules.fresh_start = *fresh;
  }
  if (committed.offset > log->end) {
    const auto end = TrueEnd(committed.topic, committed.partition);
    if (!end) {
      return end.error();
    }
    log->end = *end;
  }
  const auto identity = Identity(committed.topic);
  if (!identity) {
    return identity.error();
  }
  rules.scope = options_.core.scope.id;
  rules.recipe = options_.core.scope.recipe;
  rules.suspects = options_.core.suspects;
  rules.source_identity = *identity;
  rules.resume_at_log_start =
      options_.kafka.out_of_range == KafkaOptions::OutOfRange::kResumeAtLogStart;
  auto assignment = ResolveAssignment(position, *log, rules);
  if (assignment) {
    assignment->cluster = cluster_;
  }
  if (assignment && committed.offset < 0 && options_.ids_partition_owned &&
      beginning_.AddedLater(committed.topic, committed.partition)) {
    assignment->AddNotice(
        "the topic got this partition after the group had begun: copies that it takes of ids from "
        "other partitions run once more, since their partition owned these ids (rule 37)");
  }
  return assignment;
}

Result<LogBounds> PartitionStarts::Bounds(const char* topic, int32_t partition) {
  const auto start = OffsetAt(client_, topic, partition, RD_KAFKA_OFFSET_BEGINNING);
  if (!start) {
    return start.error();
  }
  const auto end = OffsetAt(client_, topic, partition, RD_KAFKA_OFFSET_END);
  if (!end) {
    return end.error();
  }
  return LogBounds{*start, *end};
}

// What a read_committed client calls the end lies below it while a transaction is open.
Result<int64_t> PartitionStarts::TrueEnd(const char* topic, int32_t partition) {
  const auto observer = OpenObserver(options_);
  if (!observer) {
    return observer.error();
  }
  return OffsetAt(observer->get(), topic, partition, RD_KAFKA_OFFSET_END);
}

Result<int64_t> PartitionStarts::FreshStart(const char* topic, int32_t partition,
                                            const LogBounds& log) {
  if (options_.kafka.start != KafkaOptions::Start::kEarliest && !beginning_.known()) {
    if (const Status queried = beginning_.Query(client_, options_.kafka.topics); !queried) {
      return queried.error();
    }
  }
  if (!beginning_.Covers(topic, partition)) {
    return log.start;
  }
  switch (options_.kafka.start) {
    case KafkaOptions::Start::kEarliest:
      return log.start;
    case KafkaOptions::Start::kNow:
      return log.end;
    case KafkaOptions::Start::kTime:
      return OffsetAtTime(topic, partition, log);
  }
  return log.start;
}

Result<int64_t> PartitionStarts::OffsetAtTime(const char* topic, int32_t partition,
                                              const LogBounds& log) {
  const auto offset = OffsetAt(client_, topic, partition, options_.kafka.start_time_ms);
  return offset && *offset < 0 ? log.end : offset;  // nothing so young
}

Result<uint64_t> PartitionStarts::Identity(const char* topic) {
  if (cluster_.empty()) {
    auto cluster = ClusterOf(client_, kBoundsWithin);
    if (!cluster) {
      return cluster.error();
    }
    cluster_ = *std::move(cluster);
  }
  return StableHash(cluster_ + "/" + topic);
}

BootTime RetryAt(BootTime began, BootTime ended) {
  return ended + std::max(kQueryPause, kPausePerQuery * (ended - began));
}

}  // namespace oncemq
