// SPDX-License-Identifier: Apache-2.0
#include "missing_topics.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "oncemq/base/log.h"
#include "topic_configs.h"

namespace oncemq {
namespace {

constexpr microseconds kTopicsQueriedEvery{5'000'000};
constexpr microseconds kTopicsRemindedEvery{30'000'000};
constexpr milliseconds kTopicsAnswerWithin{5'000};

}  // namespace

void MissingTopics::Suspect(std::string_view text) {
  suspected_ = true;
  query_at_ = clock_.Boot();
  for (const std::string& topic : topics_) {
    // "Subscribed topic not available: NAME: Broker: Unknown topic or partition"
    if (text.find(": " + topic + ": ") != std::string_view::npos) {
      Note(topic, false);
    }
  }
}

void MissingTopics::Note(const std::string& topic, bool reported_by_broker) {
  const BootTime now = clock_.Boot();
  if (missing_.empty()) {
    remind_at_ = now + kTopicsRemindedEvery;
  }
  Gone& gone = missing_.try_emplace(topic, Gone{.since = now}).first->second;
  gone.reported_by_broker |= reported_by_broker;
}

void MissingTopics::Assigned(const std::set<std::string>& topics) {
  std::erase_if(missing_, [&](const auto& entry) {
    return topics.contains(entry.first) || !entry.second.reported_by_broker;
  });
}

void MissingTopics::Found(const std::string& topic, rd_kafka_resp_err_t code) {
  if (code == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART) {
    Note(topic, true);
  } else if (code == RD_KAFKA_RESP_ERR_NO_ERROR && missing_.erase(topic) > 0) {
    Log(LogLevel::kInfo, "kafka", "the topic exists now", {{"topic", topic}});
  }
}

void MissingTopics::Check(rd_kafka_t* client, rd_kafka_queue_t* replies) {
  if (missing_.empty() && !suspected_) {
    return;
  }
  if (!queried_ && clock_.Boot() >= query_at_) {
    Query(client, replies);
  }
  Remind();
}

void MissingTopics::Remind() {
  const BootTime now = clock_.Boot();
  if (missing_.empty() || now < remind_at_) {
    return;
  }
  remind_at_ = now + kTopicsRemindedEvery;
  for (const auto& [topic, gone] : missing_) {
    Log(LogLevel::kWarn, "kafka", "the topic does not exist: nothing of it is handled",
        {{"topic", topic},
         {"seconds", std::chrono::duration_cast<std::chrono::seconds>(For(gone)).count()}});
  }
}

// At first about all topics: the client's words may not have named the right one.
void MissingTopics::Query(rd_kafka_t* client, rd_kafka_queue_t* replies) {
  std::vector<std::string> asked;
  std::ranges::copy_if(topics_, std::back_inserter(asked), [this](const std::string& topic) {
    return suspected_ || missing_.contains(topic);
  });
  QueryTopicConfigs(client, asked, kTopicsAnswerWithin, replies, this);
  queried_ = true;
  suspected_ = false;
  query_at_ = clock_.Boot() + kTopicsQueriedEvery;
}

bool MissingTopics::IsReply(rd_kafka_event_t* event) const {
  return rd_kafka_event_opaque(event) == this;
}

void MissingTopics::Answered(rd_kafka_event_t* event) {
  queried_ = false;
  for (const rd_kafka_ConfigResource_t* topic : DescribedTopics(event)) {
    Found(rd_kafka_ConfigResource_name(topic), rd_kafka_ConfigResource_error(topic));
  }
}

milliseconds MissingTopics::For(const Gone& gone) const {
  return std::chrono::duration_cast<milliseconds>(clock_.Boot() - gone.since);
}

std::vector<MissingTopic> MissingTopics::Missing() const {
  std::vector<MissingTopic> missing;
  for (const auto& [topic, gone] : missing_) {
    missing.push_back({topic, For(gone)});
  }
  return missing;
}

}  // namespace oncemq
