// SPDX-License-Identifier: Apache-2.0
#include "oncemq/framework/group_status.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "broker_error.h"
#include "client_config.h"
#include "log_offsets.h"
#include "park_reader.h"

namespace oncemq {
namespace {

std::string WordOf(const char* text) {
  return text == nullptr ? "" : text;
}

// Notes the missing topics.
Result<std::vector<PartitionName>> PartitionsNow(rd_kafka_t* client,
                                                 const std::vector<std::string>& topics,
                                                 milliseconds within, GroupStatus& status) {
  std::vector<PartitionName> names;
  for (const std::string& topic : topics) {
    const auto shape = ShapeOf(client, topic, within);
    if (!shape && shape.error().code == Code::kNotFound) {
      status.missing_topics.push_back(topic);
    } else if (!shape) {
      return shape.error();
    }
    for (int32_t partition = 0; shape && partition < shape->partitions; partition++) {
      names.push_back({topic, partition});
    }
  }
  return names;
}

void TakeCommit(const rd_kafka_topic_partition_t& entry, GroupPartition& partition) {
  if (entry.offset < 0) {
    return;
  }
  partition.committed = entry.offset;
  auto commit =
      DecodeCommit(std::string_view(static_cast<const char*>(entry.metadata), entry.metadata_size),
                   entry.offset);
  if (commit) {
    partition.commit = *std::move(commit);
  } else {
    partition.unread = commit.error();
  }
}

Status AddCommits(rd_kafka_t* client, const std::vector<PartitionName>& names, milliseconds within,
                  GroupStatus& status) {
  const auto found = CommittedOf(client, names, within);
  if (!found) {
    return found.error();
  }
  for (size_t i = 0; i < names.size(); i++) {
    const rd_kafka_topic_partition_t& entry = (*found)->elems[i];
    if (entry.err != RD_KAFKA_RESP_ERR_NO_ERROR) {
      return BrokerError(entry.err, "a committed offset is not known");
    }
    GroupPartition& partition =
        status.partitions.emplace_back(GroupPartition{.topic = names[i].topic});
    partition.partition = names[i].partition;
    TakeCommit(entry, partition);
  }
  return {};
}

// A log without an answer does not hide the rest.
void AddBounds(rd_kafka_t* client, const std::vector<PartitionName>& names, milliseconds within,
               GroupStatus& status) {
  for (const auto& [time, offset] :
       {std::pair(RD_KAFKA_OFFSET_BEGINNING, &GroupPartition::log_start),
        std::pair(RD_KAFKA_OFFSET_END, &GroupPartition::log_end)}) {
    const auto found = OffsetsAt(client, names, time, within);
    if (!found) {
      status.ends_unknown = found.error().message;
      return;
    }
    for (size_t i = 0; i < names.size(); i++) {
      const rd_kafka_topic_partition_t& entry = (*found)->elems[i];
      if (entry.err != RD_KAFKA_RESP_ERR_NO_ERROR || entry.offset < 0) {
        status.ends_unknown = BrokerError(entry.err, "an offset of the log is not known").message;
      } else {
        status.partitions[i].*offset = entry.offset;
      }
    }
  }
}

// The policy is for a group without commits, as in GroupBeginning.
void NoteStarts(KafkaOptions::Start start, GroupStatus& status) {
  const bool at_log_start = start == KafkaOptions::Start::kEarliest ||
                            std::ranges::any_of(status.partitions, [](const GroupPartition& one) {
                              return one.committed.has_value();
                            });
  for (GroupPartition& one : status.partitions) {
    one.begins_at_log_start = at_log_start;
  }
}

void AddMember(const rd_kafka_MemberDescription_t* described, GroupStatus& status) {
  const GroupMember& member = status.members.emplace_back(
      GroupMember{.id = WordOf(rd_kafka_MemberDescription_consumer_id(described)),
                  .client_id = WordOf(rd_kafka_MemberDescription_client_id(described)),
                  .host = WordOf(rd_kafka_MemberDescription_host(described))});
  const rd_kafka_MemberAssignment_t* const assignment =
      rd_kafka_MemberDescription_assignment(described);
  const rd_kafka_topic_partition_list_t* const list =
      assignment == nullptr ? nullptr : rd_kafka_MemberAssignment_partitions(assignment);
  for (GroupPartition& partition : status.partitions) {
    const bool its =
        list != nullptr && rd_kafka_topic_partition_list_find(list, partition.topic.c_str(),
                                                              partition.partition) != nullptr;
    if (its) {
      partition.member = member;
    }
  }
}

// Only after the coordinator has answered: a call that waits in vain for one ends the whole process
// where it comes back later (librdkafka 4605).
Status AddMembers(rd_kafka_t* client, const std::string& group, milliseconds within,
                  GroupStatus& status) {
  const QueuePtr replies(rd_kafka_queue_new(client));
  const auto request = NewAdminOptions(client, RD_KAFKA_ADMIN_OP_DESCRIBECONSUMERGROUPS, within);
  const char* groups[] = {group.c_str()};
  rd_kafka_DescribeConsumerGroups(client, groups, 1, request.get(), replies.get());
  const EventPtr event(rd_kafka_queue_poll(replies.get(), Millis(2 * within)));
  auto code = event == nullptr ? RD_KAFKA_RESP_ERR__TIMED_OUT : rd_kafka_event_error(event.get());
  size_t count = 0;
  const rd_kafka_ConsumerGroupDescription_t** described = nullptr;
  if (code == RD_KAFKA_RESP_ERR_NO_ERROR) {
    described = rd_kafka_DescribeConsumerGroups_result_groups(
        rd_kafka_event_DescribeConsumerGroups_result(event.get()), &count);
    const rd_kafka_error_t* const error =
        count == 1 ? rd_kafka_ConsumerGroupDescription_error(described[0]) : nullptr;
    code = count != 1 ? RD_KAFKA_RESP_ERR_UNKNOWN
                      : (error == nullptr ? code : rd_kafka_error_code(error));
  }
  if (code == RD_KAFKA_RESP_ERR_GROUP_ID_NOT_FOUND) {  // the word of newer brokers
    status.state = rd_kafka_consumer_group_state_name(RD_KAFKA_CONSUMER_GROUP_STATE_DEAD);
    return {};
  }
  if (code != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return BrokerError(code, "the members of the group are not known");
  }
  status.state =
      rd_kafka_consumer_group_state_name(rd_kafka_ConsumerGroupDescription_state(described[0]));
  const size_t members = rd_kafka_ConsumerGroupDescription_member_count(described[0]);
  for (size_t i = 0; i < members; i++) {
    AddMember(rd_kafka_ConsumerGroupDescription_member(described[0], i), status);
  }
  return {};
}

}  // namespace

Result<GroupStatus> QueryGroup(const RuntimeOptions& options, milliseconds within) {
  const auto client = OpenGroupObserver(options);
  if (!client) {
    return client.error();
  }
  GroupStatus status;
  const auto names = PartitionsNow(client->get(), options.kafka.topics, within, status);
  if (!names) {
    return names.error();
  }
  if (!names->empty()) {
    if (const Status commits = AddCommits(client->get(), *names, within, status); !commits) {
      return commits.error();
    }
    AddBounds(client->get(), *names, within, status);
    NoteStarts(options.kafka.start, status);
  }
  const Status members = AddMembers(client->get(), options.kafka.group, within, status);
  return members ? Result<GroupStatus>(std::move(status)) : members.error();
}

}  // namespace oncemq
