// SPDX-License-Identifier: Apache-2.0
#include "group_beginning.h"

#include "broker_error.h"

namespace oncemq {
namespace {

constexpr milliseconds kWithin{3'000};

using TopicPtr = std::unique_ptr<rd_kafka_topic_t, DestroyedBy<rd_kafka_topic_destroy>>;
using MetadataPtr =
    std::unique_ptr<const rd_kafka_metadata_t, DestroyedBy<rd_kafka_metadata_destroy>>;

Result<int32_t> PartitionsOf(rd_kafka_t* client, const std::string& name, milliseconds within) {
  const TopicPtr topic(rd_kafka_topic_new(client, name.c_str(), nullptr));
  const rd_kafka_metadata_t* found = nullptr;
  auto code = rd_kafka_metadata(client, 0, topic.get(), &found, Millis(within));
  const MetadataPtr metadata(found);
  if (code == RD_KAFKA_RESP_ERR_NO_ERROR && metadata->topic_cnt == 1) {
    code = metadata->topics[0].err;
  }
  if (code != RD_KAFKA_RESP_ERR_NO_ERROR || metadata->topic_cnt != 1) {
    return BrokerError(code, "the partitions of topic " + name + " are not known");
  }
  return metadata->topics[0].partition_cnt;
}

}  // namespace

Status GroupBeginning::Look(rd_kafka_t* client, const std::vector<std::string>& topics) {
  sizes_.clear();
  const PartitionListPtr list(rd_kafka_topic_partition_list_new(1));
  for (const std::string& topic : topics) {
    const auto size = PartitionsOf(client, topic, kWithin / static_cast<int>(topics.size()));
    if (!size) {
      sizes_.clear();
      return size.error();
    }
    sizes_[topic] = *size;
    rd_kafka_topic_partition_list_add_range(list.get(), topic.c_str(), 0, *size - 1);
  }
  const auto code = rd_kafka_committed(client, list.get(), Millis(kWithin));
  if (code != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return BrokerError(code, "whether the group has commits is not known");
  }
  for (int i = 0; i < list->cnt; i++) {
    const rd_kafka_topic_partition_t& entry = list->elems[i];
    if (entry.err != RD_KAFKA_RESP_ERR_NO_ERROR) {
      return BrokerError(entry.err, "whether the group has commits is not known");
    }
    has_commits_ |= entry.offset >= 0;
  }
  known_ = true;
  return {};
}

bool GroupBeginning::Covers(const std::string& topic, int32_t partition) const {
  const auto size = sizes_.find(topic);
  return known_ && !has_commits_ && size != sizes_.end() && partition < size->second;
}

int32_t GroupBeginning::partitions() const {
  int32_t sum = 0;
  for (const auto& [topic, size] : sizes_) {
    sum += size;
  }
  return sum;
}

}  // namespace oncemq
