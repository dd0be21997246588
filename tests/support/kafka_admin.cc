// SPDX-License-Identifier: Apache-2.0
#include "kafka_admin.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "eventually.h"
#include "rdkafka_handle.h"

namespace oncemq::testing {
namespace {

using std::chrono::milliseconds;

using OptionsPtr =
    std::unique_ptr<rd_kafka_AdminOptions_t, DestroyedBy<rd_kafka_AdminOptions_destroy>>;
using NewPartitionsPtr =
    std::unique_ptr<rd_kafka_NewPartitions_t, DestroyedBy<rd_kafka_NewPartitions_destroy>>;
using NewTopicPtr = std::unique_ptr<rd_kafka_NewTopic_t, DestroyedBy<rd_kafka_NewTopic_destroy>>;
using DeleteTopicPtr =
    std::unique_ptr<rd_kafka_DeleteTopic_t, DestroyedBy<rd_kafka_DeleteTopic_destroy>>;
using DeleteRecordsPtr =
    std::unique_ptr<rd_kafka_DeleteRecords_t, DestroyedBy<rd_kafka_DeleteRecords_destroy>>;
using DeleteGroupPtr =
    std::unique_ptr<rd_kafka_DeleteGroup_t, DestroyedBy<rd_kafka_DeleteGroup_destroy>>;
using ListOffsetsPtr = std::unique_ptr<rd_kafka_ListConsumerGroupOffsets_t,
                                       DestroyedBy<rd_kafka_ListConsumerGroupOffsets_destroy>>;
using AlterOffsetsPtr = std::unique_ptr<rd_kafka_AlterConsumerGroupOffsets_t,
                                        DestroyedBy<rd_kafka_AlterConsumerGroupOffsets_destroy>>;

void CheckTopics(const rd_kafka_topic_result_t** topics, std::size_t count) {
  if (count != 1) {
    throw std::runtime_error("no answer about the topic");
  }
  for (std::size_t i = 0; i < count; ++i) {
    Check(rd_kafka_topic_result_error(topics[i]), rd_kafka_topic_result_name(topics[i]));
  }
}

void CheckPartitions(const rd_kafka_topic_partition_list_t& list) {
  for (int i = 0; i < list.cnt; ++i) {
    const rd_kafka_topic_partition_t& entry = list.elems[i];
    Check(entry.err, std::string(entry.topic) + "/" + std::to_string(entry.partition));
  }
}

const rd_kafka_topic_partition_list_t& OnlyGroup(const rd_kafka_group_result_t** groups,
                                                 std::size_t count, const std::string& name) {
  if (count != 1) {
    throw std::runtime_error("no answer about group " + name);
  }
  if (const rd_kafka_error_t* error = rd_kafka_group_result_error(groups[0])) {
    throw std::runtime_error("group " + name + ": " + rd_kafka_error_string(error));
  }
  const auto* partitions = rd_kafka_group_result_partitions(groups[0]);
  CheckPartitions(*partitions);
  return *partitions;
}

}  // namespace

struct KafkaAdmin::State {
  ClientPtr client;
  milliseconds timeout;

  // Sends a request and waits for its answer. A broker that has just begun to look after groups
  // says so and is asked again.
  template <class Send>
  EventPtr Query(rd_kafka_admin_op_t operation, Send send) {
    EventPtr event;
    Eventually(timeout, [&] {
      event = QueryOnce(operation, send);
      const auto code = rd_kafka_event_error(event.get());
      return code != RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS &&
             code != RD_KAFKA_RESP_ERR_COORDINATOR_NOT_AVAILABLE &&
             code != RD_KAFKA_RESP_ERR_NOT_COORDINATOR;
    });
    if (rd_kafka_event_error(event.get()) != RD_KAFKA_RESP_ERR_NO_ERROR) {
      throw std::runtime_error(rd_kafka_event_error_string(event.get()));
    }
    return event;
  }

  template <class Send>
  EventPtr QueryOnce(rd_kafka_admin_op_t operation, Send send) {
    char why[256];
    const int limit = static_cast<int>(timeout.count());
    const QueuePtr queue(rd_kafka_queue_new(client.get()));
    const OptionsPtr options(rd_kafka_AdminOptions_new(client.get(), operation));
    Check(rd_kafka_AdminOptions_set_request_timeout(options.get(), limit, why, sizeof(why)), why);
    send(options.get(), queue.get());
    // The request ends by its own time limit; the margin is for its answer to get here.
    EventPtr event(rd_kafka_queue_poll(queue.get(), limit + 2000));
    if (event == nullptr) {
      throw std::runtime_error("an admin request got no answer in time");
    }
    return event;
  }

  int32_t Ready(const std::string& topic) {
    const MetadataPtr metadata = FetchMetadata(client.get(), timeout);
    return metadata == nullptr ? -1 : ReadyPartitions(*metadata, topic);
  }

  // The result of each partition is in the event.
  EventPtr DeleteRecords(const rd_kafka_topic_partition_list_t& before) {
    const DeleteRecordsPtr request(rd_kafka_DeleteRecords_new(&before));
    return Query(RD_KAFKA_ADMIN_OP_DELETERECORDS, [&](auto* options, auto* to) {
      rd_kafka_DeleteRecords_t* requests[] = {request.get()};
      rd_kafka_DeleteRecords(client.get(), requests, 1, options, to);
    });
  }

  // A broker names itself as leader in metadata a moment before it acts as one. Deleting nothing
  // asks for the deed: a leader does it, or refuses by policy on a compacted topic.
  bool Leads(const std::string& topic, int32_t partitions) {
    const PartitionsPtr list(rd_kafka_topic_partition_list_new(partitions));
    for (int32_t i = 0; i < partitions; ++i) {
      rd_kafka_topic_partition_list_add(list.get(), topic.c_str(), i)->offset = 0;
    }
    const EventPtr event = DeleteRecords(*list);
    const auto* result =
        rd_kafka_DeleteRecords_result_offsets(rd_kafka_event_DeleteRecords_result(event.get()));
    return std::all_of(result->elems, result->elems + result->cnt, [](const auto& entry) {
      return entry.err == RD_KAFKA_RESP_ERR_NO_ERROR ||
             entry.err == RD_KAFKA_RESP_ERR_POLICY_VIOLATION;
    });
  }
};

std::map<std::string, std::string> QuickCompaction() {
  return {{"cleanup.policy", "compact"},
          {"min.cleanable.dirty.ratio", "0.001"},
          {"segment.ms", "100"},
          {"min.compaction.lag.ms", "0"},
          {"max.compaction.lag.ms", "100"},
          {"delete.retention.ms", "0"},
          {"file.delete.delay.ms", "100"}};
}

KafkaAdmin::KafkaAdmin(const std::string& bootstrap, milliseconds timeout)
    : state_(std::make_unique<State>()) {
  state_->timeout = timeout;
  // Watermarks are asked for with the client's isolation level, although it consumes nothing.
  // A consumer with a group, which it never joins: librdkafka 2.0.2 takes it for granted where a
  // coordinator that is just coming back is asked for a group's offsets, and a producer crashes.
  state_->client = MakeClient(RD_KAFKA_CONSUMER, {{"bootstrap.servers", bootstrap},
                                                  {"group.id", "oncemq-test-admin"},
                                                  {"reconnect.backoff.ms", "10"},
                                                  {"reconnect.backoff.max.ms", "100"},
                                                  {"isolation.level", "read_uncommitted"}});
}

KafkaAdmin::~KafkaAdmin() = default;

void KafkaAdmin::CreateTopic(const TopicSpec& spec) {
  char why[256] = "";
  const NewTopicPtr topic(
      rd_kafka_NewTopic_new(spec.name.c_str(), spec.partitions, 1, why, sizeof(why)));
  if (topic == nullptr) {
    throw std::runtime_error(why);
  }
  for (const auto& [name, value] : spec.config) {
    Check(rd_kafka_NewTopic_set_config(topic.get(), name.c_str(), value.c_str()), name);
  }
  const EventPtr event =
      state_->Query(RD_KAFKA_ADMIN_OP_CREATETOPICS, [&](auto* options, auto* to) {
        rd_kafka_NewTopic_t* topics[] = {topic.get()};
        rd_kafka_CreateTopics(state_->client.get(), topics, 1, options, to);
      });
  std::size_t count = 0;
  const auto* result = rd_kafka_event_CreateTopics_result(event.get());
  const auto** topics = rd_kafka_CreateTopics_result_topics(result, &count);
  CheckTopics(topics, count);
  if (!Eventually(state_->timeout, [&] {
        return state_->Ready(spec.name) == spec.partitions &&
               state_->Leads(spec.name, spec.partitions);
      })) {
    throw std::runtime_error("topic " + spec.name + " was created but has no leaders");
  }
}

void KafkaAdmin::AddPartitions(const std::string& topic, int32_t partitions) {
  char why[256];
  const NewPartitionsPtr request(rd_kafka_NewPartitions_new(
      topic.c_str(), static_cast<std::size_t>(partitions), why, sizeof(why)));
  const EventPtr event =
      state_->Query(RD_KAFKA_ADMIN_OP_CREATEPARTITIONS, [&](auto* options, auto* to) {
        rd_kafka_NewPartitions_t* topics[] = {request.get()};
        rd_kafka_CreatePartitions(state_->client.get(), topics, 1, options, to);
      });
  std::size_t count = 0;
  const auto* result = rd_kafka_event_CreatePartitions_result(event.get());
  const auto** topics = rd_kafka_CreatePartitions_result_topics(result, &count);
  CheckTopics(topics, count);
  if (!Eventually(state_->timeout, [&] { return PartitionCount(topic) == partitions; })) {
    throw std::runtime_error("topic " + topic + " did not get its partitions");
  }
}

void KafkaAdmin::DeleteTopic(const std::string& topic) {
  const DeleteTopicPtr request(rd_kafka_DeleteTopic_new(topic.c_str()));
  const EventPtr event =
      state_->Query(RD_KAFKA_ADMIN_OP_DELETETOPICS, [&](auto* options, auto* to) {
        rd_kafka_DeleteTopic_t* topics[] = {request.get()};
        rd_kafka_DeleteTopics(state_->client.get(), topics, 1, options, to);
      });
  std::size_t count = 0;
  const auto* result = rd_kafka_event_DeleteTopics_result(event.get());
  const auto** topics = rd_kafka_DeleteTopics_result_topics(result, &count);
  CheckTopics(topics, count);
  if (!Eventually(state_->timeout, [&] { return state_->Ready(topic) == 0; })) {
    throw std::runtime_error("topic " + topic + " was deleted but is still there");
  }
}

void KafkaAdmin::DeleteGroup(const std::string& group) {
  const DeleteGroupPtr request(rd_kafka_DeleteGroup_new(group.c_str()));
  const EventPtr event =
      state_->Query(RD_KAFKA_ADMIN_OP_DELETEGROUPS, [&](auto* options, auto* to) {
        rd_kafka_DeleteGroup_t* groups[] = {request.get()};
        rd_kafka_DeleteGroups(state_->client.get(), groups, 1, options, to);
      });
  std::size_t count = 0;
  const auto** groups =
      rd_kafka_DeleteGroups_result_groups(rd_kafka_event_DeleteGroups_result(event.get()), &count);
  if (count != 1) {
    throw std::runtime_error("no answer about group " + group);
  }
  Check(rd_kafka_error_code(rd_kafka_group_result_error(groups[0])), group);
}

int32_t KafkaAdmin::PartitionCount(const std::string& topic) {
  const int32_t count = state_->Ready(topic);
  if (count < 0) {
    throw std::runtime_error("no metadata in time");
  }
  return count;
}

void KafkaAdmin::DeleteRecords(const std::string& topic, int32_t partition, int64_t before) {
  const PartitionsPtr list(rd_kafka_topic_partition_list_new(1));
  rd_kafka_topic_partition_list_add(list.get(), topic.c_str(), partition)->offset = before;
  const EventPtr event = state_->DeleteRecords(*list);
  CheckPartitions(
      *rd_kafka_DeleteRecords_result_offsets(rd_kafka_event_DeleteRecords_result(event.get())));
}

Watermarks KafkaAdmin::QueryWatermarks(const std::string& topic, int32_t partition) {
  const TopicPtr known(rd_kafka_topic_new(state_->client.get(), topic.c_str(), nullptr));
  FetchMetadata(state_->client.get(), state_->timeout, known.get());
  Watermarks found;
  rd_kafka_resp_err_t error = RD_KAFKA_RESP_ERR_NO_ERROR;
  // A broker that has just started does not lead yet, though its metadata may say so.
  Eventually(state_->timeout, [&] {
    error =
        rd_kafka_query_watermark_offsets(state_->client.get(), topic.c_str(), partition, &found.low,
                                         &found.high, static_cast<int>(state_->timeout.count()));
    return error != RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION &&
           error != RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE;
  });
  Check(error, "watermarks of " + topic + "/" + std::to_string(partition));
  return found;
}

std::map<int32_t, CommittedOffset> KafkaAdmin::Committed(const std::string& group,
                                                         const std::string& topic) {
  const PartitionsPtr list(rd_kafka_topic_partition_list_new(1));
  rd_kafka_topic_partition_list_add_range(list.get(), topic.c_str(), 0, PartitionCount(topic) - 1);
  const ListOffsetsPtr request(rd_kafka_ListConsumerGroupOffsets_new(group.c_str(), list.get()));
  const EventPtr event =
      state_->Query(RD_KAFKA_ADMIN_OP_LISTCONSUMERGROUPOFFSETS, [&](auto* options, auto* to) {
        rd_kafka_ListConsumerGroupOffsets_t* requests[] = {request.get()};
        rd_kafka_ListConsumerGroupOffsets(state_->client.get(), requests, 1, options, to);
      });
  std::size_t count = 0;
  const auto* result = rd_kafka_event_ListConsumerGroupOffsets_result(event.get());
  const auto** groups = rd_kafka_ListConsumerGroupOffsets_result_groups(result, &count);
  const auto& partitions = OnlyGroup(groups, count, group);
  std::map<int32_t, CommittedOffset> committed;
  for (int i = 0; i < partitions.cnt; ++i) {
    const rd_kafka_topic_partition_t& entry = partitions.elems[i];
    if (entry.offset >= 0) {
      committed[entry.partition] = {
          entry.offset, std::string(static_cast<const char*>(entry.metadata), entry.metadata_size)};
    }
  }
  return committed;
}

void KafkaAdmin::AlterOffsets(const std::string& group, const std::string& topic,
                              const std::map<int32_t, int64_t>& offsets) {
  std::map<int32_t, CommittedOffset> commits;
  for (const auto& [partition, offset] : offsets) {
    commits[partition].offset = offset;
  }
  Commit(group, topic, commits);
}

void KafkaAdmin::Commit(const std::string& group, const std::string& topic,
                        const std::map<int32_t, CommittedOffset>& commits) {
  const PartitionsPtr list(rd_kafka_topic_partition_list_new(static_cast<int>(commits.size())));
  for (const auto& [partition, commit] : commits) {
    rd_kafka_topic_partition_t* const entry =
        rd_kafka_topic_partition_list_add(list.get(), topic.c_str(), partition);
    entry->offset = commit.offset;
    if (!commit.metadata.empty()) {
      entry->metadata = strdup(commit.metadata.c_str());  // the list frees it
      entry->metadata_size = commit.metadata.size();
    }
  }
  const AlterOffsetsPtr request(rd_kafka_AlterConsumerGroupOffsets_new(group.c_str(), list.get()));
  const EventPtr event =
      state_->Query(RD_KAFKA_ADMIN_OP_ALTERCONSUMERGROUPOFFSETS, [&](auto* options, auto* to) {
        rd_kafka_AlterConsumerGroupOffsets_t* requests[] = {request.get()};
        rd_kafka_AlterConsumerGroupOffsets(state_->client.get(), requests, 1, options, to);
      });
  std::size_t count = 0;
  const auto* result = rd_kafka_event_AlterConsumerGroupOffsets_result(event.get());
  const auto** groups = rd_kafka_AlterConsumerGroupOffsets_result_groups(result, &count);
  OnlyGroup(groups, count, group);
}

std::size_t KafkaAdmin::MemberCount(const std::string& group) {
  const EventPtr event =
      state_->Query(RD_KAFKA_ADMIN_OP_DESCRIBECONSUMERGROUPS, [&](auto* options, auto* to) {
        const char* groups[] = {group.c_str()};
        rd_kafka_DescribeConsumerGroups(state_->client.get(), groups, 1, options, to);
      });
  std::size_t count = 0;
  const auto* result = rd_kafka_event_DescribeConsumerGroups_result(event.get());
  const auto** groups = rd_kafka_DescribeConsumerGroups_result_groups(result, &count);
  // A group that doesn't exist is empty, whether the broker calls that an error or not.
  return count == 1 ? rd_kafka_ConsumerGroupDescription_member_count(groups[0]) : 0;
}

bool KafkaAdmin::WaitUntilEmpty(const std::string& group, milliseconds timeout) {
  return Eventually(timeout, [&] { return MemberCount(group) == 0; });
}

}  // namespace oncemq::testing
