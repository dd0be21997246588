// SPDX-License-Identifier: Apache-2.0
#include "group_beginning.h"

#include <algorithm>

#include "broker_error.h"

namespace oncemq {
namespace {

constexpr milliseconds kAnswerWithin{3'000};

// The number of each topic's partitions, by one question: a broker that answers late then costs the
// time once, and not each topic its share of it.
Result<std::map<std::string, int32_t>> PartitionsOf(rd_kafka_t* client,
                                                    const std::vector<std::string>& names) {
  // The question is for the topics that the client has a handle of.
  std::vector<TopicPtr> topics;
  for (const std::string& name : names) {
    topics.emplace_back(rd_kafka_topic_new(client, name.c_str(), nullptr));
  }
  const rd_kafka_metadata_t* found = nullptr;
  const auto code = rd_kafka_metadata(client, 0, nullptr, &found, Millis(kAnswerWithin));
  const MetadataPtr metadata(found);
  if (code != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return BrokerError(code, "the partitions of the topics are not known");
  }
  // The client may know topics for other reasons too, so each is looked for by its name.
  std::map<std::string, int32_t> sizes;
  for (const std::string& name : names) {
    rd_kafka_metadata_topic_t* const end = metadata->topics + metadata->topic_cnt;
    rd_kafka_metadata_topic_t* const topic =
        std::find_if(metadata->topics, end, [&](const auto& each) { return each.topic == name; });
    const auto why = topic == end ? RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART : topic->err;
    if (why != RD_KAFKA_RESP_ERR_NO_ERROR) {
      return BrokerError(why, "the partitions of topic " + name + " are not known");
    }
    sizes[name] = topic->partition_cnt;
  }
  return sizes;
}

}  // namespace

Status GroupBeginning::Query(rd_kafka_t* client, const std::vector<std::string>& topics) {
  sizes_.clear();
  begun_.clear();
  auto sizes = PartitionsOf(client, topics);
  if (!sizes) {
    return sizes.error();
  }
  const PartitionListPtr list(rd_kafka_topic_partition_list_new(1));
  for (const std::string& topic : topics) {
    sizes_[topic] = (*sizes)[topic];
    rd_kafka_topic_partition_list_add_range(list.get(), topic.c_str(), 0, sizes_[topic] - 1);
  }
  const auto code = rd_kafka_committed(client, list.get(), Millis(kAnswerWithin));
  if (code != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return BrokerError(code, "whether the group has commits is not known");
  }
  for (int i = 0; i < list->cnt; i++) {
    const rd_kafka_topic_partition_t& entry = list->elems[i];
    if (entry.err != RD_KAFKA_RESP_ERR_NO_ERROR) {
      return BrokerError(entry.err, "whether the group has commits is not known");
    }
    has_commits_ |= entry.offset >= 0;
    if (entry.offset >= 0) {
      begun_.insert(entry.topic);
    }
  }
  known_ = true;
  return {};
}

bool GroupBeginning::Covers(const std::string& topic, int32_t partition) const {
  const auto size = sizes_.find(topic);
  return known_ && !has_commits_ && size != sizes_.end() && partition < size->second;
}

bool GroupBeginning::AddedLater(const std::string& topic, int32_t partition) const {
  const auto size = sizes_.find(topic);
  return known_ && size != sizes_.end() && (partition >= size->second || begun_.contains(topic));
}

int32_t GroupBeginning::partitions() const {
  int32_t sum = 0;
  for (const auto& [topic, size] : sizes_) {
    sum += size;
  }
  return sum;
}

}  // namespace oncemq
