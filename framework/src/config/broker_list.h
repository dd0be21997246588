// SPDX-License-Identifier: Apache-2.0
// How brokers may be named: by a file and by a program alike. A list that librdkafka can't use, it
// takes nevertheless, and looks for its brokers for ever.
// Thread safety: pure functions.
#pragma once

#include <string_view>

#include "oncemq/base/result.h"

namespace oncemq {

// Letters, digits and . _ - as in names of hosts and topics.
bool IsNameCharacter(char c);

// host, host:port, [v6] or [v6]:port, several separated by commas without spaces. kInvalid begins
// with "must be".
Status CheckBrokers(std::string_view list);

}  // namespace oncemq
