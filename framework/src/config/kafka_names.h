// SPDX-License-Identifier: Apache-2.0
// How brokers, groups and topics may be named: by a file and by a program alike. A list of brokers
// that librdkafka can't use, it takes nevertheless, and looks for them for ever.
//
// Thread safety: pure functions.
#pragma once

#include <string_view>

#include "oncemq/base/result.h"

namespace oncemq {

// host, host:port, [v6] or [v6]:port, several separated by commas without spaces. kInvalid begins
// with "must be".
Status CheckBrokers(std::string_view list);

// 1 to 249 characters without spaces. kInvalid begins with "must be".
Status CheckGroup(std::string_view group);

// A name, and no pattern. kInvalid begins with the topic.
Status CheckTopic(std::string_view topic);

}  // namespace oncemq
