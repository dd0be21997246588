// SPDX-License-Identifier: Apache-2.0
// The configuration of topics, as a broker describes it.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rdkafka_ptr.h"

namespace oncemq {

// The answer is an event DESCRIBECONFIGS_RESULT on `replies` within the time, also where no broker
// answers. It has the opaque. Never blocks.
void QueryTopicConfigs(rd_kafka_t* client, const std::vector<std::string>& topics,
                       milliseconds within, rd_kafka_queue_t* replies, void* opaque = nullptr);

// The topics of an answer. They live as long as the event.
std::span<const rd_kafka_ConfigResource_t* const> DescribedTopics(rd_kafka_event_t* event);

// nullptr: the answer does not tell it.
const char* SettingOf(const rd_kafka_ConfigResource_t* topic, std::string_view name);

}  // namespace oncemq
