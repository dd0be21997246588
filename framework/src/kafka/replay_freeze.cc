// SPDX-License-Identifier: Apache-2.0
// FreezeReplay: asks broker and group for the facts of a set.
#include <span>
#include <string_view>
#include <utility>

#include "broker_error.h"
#include "client_config.h"
#include "freeze_set.h"
#include "log_offsets.h"
#include "oncemq/base/random.h"
#include "oncemq/framework/group_status.h"
#include "scope.h"
#include "topic_configs.h"

namespace oncemq {
namespace {

// The reason for a set that can't be frozen now. Empty: all is known.
Status CheckGroup(const GroupStatus& group) {
  if (!group.missing_topics.empty()) {
    return Error{Code::kNotFound, Effect::kNone,
                 "the topic " + group.missing_topics.front() + " does not exist"};
  }
  return group.ends_unknown.empty() ? Status()
                                    : Error{Code::kUnavailable, Effect::kNone, group.ends_unknown};
}

ReplayPartition FactsOf(const GroupPartition& partition, uint64_t scope) {
  const bool ours = partition.commit && partition.commit->scope == scope;
  return {.topic = partition.topic,
          .partition = partition.partition,
          .log_start = *partition.log_start,
          .log_end = *partition.log_end,
          .committed = partition.committed,
          .since = ours ? std::optional(partition.commit->since) : std::nullopt};
}

Status TakeTimes(rd_kafka_t* client, std::optional<int64_t> time_ms, milliseconds within,
                 std::optional<int64_t> ReplayPartition::*offset, ReplayFacts& facts) {
  if (!time_ms) {
    return {};
  }
  std::vector<PartitionName> names;
  for (const ReplayPartition& at : facts.partitions) {
    names.push_back({at.topic, at.partition});
  }
  const auto found = OffsetsAt(client, names, *time_ms, within);
  if (!found) {
    return found.error();
  }
  for (size_t i = 0; i < names.size(); i++) {
    const rd_kafka_topic_partition_t& entry = (*found)->elems[i];
    if (entry.err != RD_KAFKA_RESP_ERR_NO_ERROR) {
      return BrokerError(entry.err, "the offset of a time is not known");
    }
    ReplayPartition& at = facts.partitions[i];
    at.*offset = entry.offset >= 0 ? entry.offset : at.log_end;  // no record is so young
  }
  return {};
}

void TakePolicies(rd_kafka_t* client, const std::vector<std::string>& topics, milliseconds within,
                  std::vector<std::string>& notices) {
  const QueuePtr replies(rd_kafka_queue_new(client));
  QueryTopicConfigs(client, topics, within, replies.get());
  const EventPtr event(rd_kafka_queue_poll(replies.get(), Millis(2 * within)));
  const auto described = event == nullptr ? std::span<const rd_kafka_ConfigResource_t* const>()
                                          : DescribedTopics(event.get());
  size_t known = 0;
  for (const rd_kafka_ConfigResource_t* const topic : described) {
    const char* const policy = SettingOf(topic, "cleanup.policy");
    known += policy != nullptr ? 1 : 0;
    if (policy != nullptr && std::string_view(policy).find("compact") != std::string_view::npos) {
      notices.push_back(std::string(rd_kafka_ConfigResource_name(topic)) +
                        " is compacted, and has only the last message of most keys");
    }
  }
  if (known < topics.size()) {
    notices.push_back("the broker does not tell whether the topics are compacted");
  }
}

Result<ReplayFacts> QueryFacts(const RuntimeOptions& options, const ReplayRequest& request,
                               milliseconds within) {
  const auto group = QueryGroup(options, within);
  if (!group) {
    return group.error();
  }
  if (const Status known = CheckGroup(*group); !known) {
    return known.error();
  }
  ReplayFacts facts{.owner = StoreOwner(options),
                    .now_ms = SystemClock::Instance().Wall().micros / 1'000,
                    .random = SecureRandom64()};
  const uint64_t scope =
      ScopeOf({options.app, options.name_space, options.kafka.group, options.handler});
  for (const GroupPartition& partition : group->partitions) {
    facts.partitions.push_back(FactsOf(partition, scope));
  }
  const auto client = OpenObserver(options);
  if (!client) {
    return client.error();
  }
  auto cluster = ClusterOf(client->get(), within);
  if (!cluster) {
    return cluster.error();
  }
  facts.cluster = *std::move(cluster);
  for (const Status& times :
       {TakeTimes(client->get(), request.since_ms, within, &ReplayPartition::at_since, facts),
        TakeTimes(client->get(), request.until_ms, within, &ReplayPartition::at_until, facts)}) {
    if (!times) {
      return times.error();
    }
  }
  TakePolicies(client->get(), options.kafka.topics, within, facts.notices);
  return facts;
}

}  // namespace

Result<ReplaySet> FreezeReplay(const RuntimeOptions& options, const ReplayRequest& request,
                               milliseconds within) {
  auto topics = ReplayTopics(request, options.kafka.topics);
  if (!topics) {
    return topics.error();
  }
  RuntimeOptions of_topics = options;
  of_topics.kafka.topics = *std::move(topics);
  auto facts = QueryFacts(of_topics, request, within);
  return facts ? FreezeSet(request, *std::move(facts)) : Result<ReplaySet>(facts.error());
}

}  // namespace oncemq
