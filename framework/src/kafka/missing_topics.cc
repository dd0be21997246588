// SPDX-License-Identifier: Apache-2.0
#include "missing_topics.h"

#include <span>
#include <utility>

#include "oncemq/base/log.h"

namespace oncemq {
namespace {

constexpr microseconds kTopicsQueriedEvery{5'000'000};
constexpr microseconds kTopicsRemindedEvery{30'000'000};
constexpr milliseconds kTopicsAnswerWithin{5'000};

using TopicResourcePtr =
    std::unique_ptr<rd_kafka_ConfigResource_t, DestroyedBy<rd_kafka_ConfigResource_destroy>>;
using TopicQuestionPtr =
    std::unique_ptr<rd_kafka_AdminOptions_t, DestroyedBy<rd_kafka_AdminOptions_destroy>>;

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
  std::vector<TopicResourcePtr> resources;
  std::vector<rd_kafka_ConfigResource_t*> requests;
  for (const std::string& topic : topics_) {
    if (!suspected_ && !missing_.contains(topic)) {
      continue;
    }
    resources.emplace_back(rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, topic.c_str()));
    requests.push_back(resources.back().get());
  }
  const TopicQuestionPtr question(
      rd_kafka_AdminOptions_new(client, RD_KAFKA_ADMIN_OP_DESCRIBECONFIGS));
  char why[256];
  rd_kafka_AdminOptions_set_request_timeout(question.get(), Millis(kTopicsAnswerWithin), why,
                                            sizeof why);
  rd_kafka_AdminOptions_set_opaque(question.get(), this);
  rd_kafka_DescribeConfigs(client, requests.data(), requests.size(), question.get(), replies);
  queried_ = true;
  suspected_ = false;
  query_at_ = clock_.Boot() + kTopicsQueriedEvery;
}

bool MissingTopics::IsReply(rd_kafka_event_t* event) const {
  return rd_kafka_event_opaque(event) == this;
}

void MissingTopics::Answered(rd_kafka_event_t* event) {
  queried_ = false;
  if (rd_kafka_event_error(event) != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return;
  }
  size_t count = 0;
  const rd_kafka_ConfigResource_t** const topics = rd_kafka_DescribeConfigs_result_resources(
      rd_kafka_event_DescribeConfigs_result(event), &count);
  for (const rd_kafka_ConfigResource_t* topic : std::span(topics, count)) {
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
