// SPDX-License-Identifier: Apache-2.0
// MissingTopics: notices topics that do not exist, most likely for a typing error. librdkafka says
// so once and waits. This says it again every 30 s, until the topic is there.
//
// **Promise:** a topic is missing once the client has said so, or a broker. It is there again once
// a broker says so, asked every 5 s, or the group assigns a partition of it. Never blocks.
//
// **Failure:** where the brokers do not answer the question (it needs the right to describe the
// configuration of the topic), the client's word counts until the group assigns anew.
//
// **Thread safety:** none; belongs to the poll thread.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "oncemq/framework/runtime.h"
#include "rdkafka_ptr.h"

namespace oncemq {

class MissingTopics {
 public:
  MissingTopics(std::vector<std::string> topics, const Clock& clock)
      : topics_(std::move(topics)), clock_(clock) {}

  // The client does not find a topic; its words name it.
  void Suspect(std::string_view text);
  // The group has assigned anew, to this member partitions of these topics.
  void Assigned(const std::set<std::string>& topics);
  // In each round: asks and reminds when it is time. The answer is an event DESCRIBECONFIGS_RESULT
  // on `replies`.
  void Check(rd_kafka_t* client, rd_kafka_queue_t* replies);
  // Whether the event answers a question of ours.
  bool IsReply(rd_kafka_event_t* event) const;
  void Answered(rd_kafka_event_t* event);

  // The word of a broker.
  void Found(const std::string& topic, rd_kafka_resp_err_t code);
  void Remind();
  std::vector<MissingTopic> Missing() const;

 private:
  struct Gone {
    BootTime since{};
    bool reported_by_broker = false;
  };
  milliseconds For(const Gone& gone) const;
  void Note(const std::string& topic, bool reported_by_broker);
  void Query(rd_kafka_t* client, rd_kafka_queue_t* replies);

  const std::vector<std::string> topics_;
  const Clock& clock_;
  std::map<std::string, Gone> missing_;
  bool suspected_ = false;  // and not asked since
  bool queried_ = false;    // the answer is still to come
  BootTime query_at_{};
  BootTime remind_at_{};
};

}  // namespace oncemq
