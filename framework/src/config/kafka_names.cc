// SPDX-License-Identifier: Apache-2.0
#include "kafka_names.h"

#include <algorithm>
#include <string>
#include <utility>

#include "oncemq/base/bytes.h"
#include "oncemq/base/topic_name.h"
#include "quoted.h"

namespace oncemq {
namespace {

constexpr size_t kLongestName = 249;

bool IsPort(std::string_view text) {
  const int64_t port = ParseDecimal(text).value_or(0);
  return port > 0 && port <= 65'535;
}

// host, host:port, [v6] or [v6]:port
bool IsBroker(std::string_view broker) {
  const bool v6 = broker.starts_with('[');
  const size_t end = v6 ? broker.find(']') : std::min(broker.find(':'), broker.size());
  if (end == std::string_view::npos) {
    return false;
  }
  const std::string_view host = v6 ? broker.substr(1, end - 1) : broker.substr(0, end);
  const std::string_view rest = broker.substr(end + (v6 ? 1 : 0));
  const bool host_fits = !host.empty() && std::all_of(host.begin(), host.end(), [&](char c) {
    return IsTopicCharacter(c) || (v6 && (c == ':' || c == '%'));
  });
  return host_fits && (rest.empty() || (rest.starts_with(':') && IsPort(rest.substr(1))));
}

bool AreBrokers(std::string_view list) {
  for (;;) {
    const size_t comma = list.find(',');
    if (!IsBroker(list.substr(0, comma))) {
      return false;
    }
    if (comma == std::string_view::npos) {
      return true;
    }
    list.remove_prefix(comma + 1);
  }
}

Error Invalid(std::string text) {
  return {Code::kInvalid, Effect::kNone, std::move(text)};
}

}  // namespace

Status CheckBrokers(std::string_view list) {
  if (AreBrokers(list)) {
    return {};
  }
  return Invalid("must be host:port, several separated by commas, not " + Quoted(list));
}

Status CheckGroup(std::string_view group) {
  const bool fits = !group.empty() && group.size() <= kLongestName &&
                    std::all_of(group.begin(), group.end(), [](char c) {
                      return static_cast<unsigned char>(c) > 0x20 && c != 0x7F;
                    });
  return fits ? Status()
              : Invalid("must be 1 to 249 characters without spaces, not " + Quoted(group));
}

Status CheckTopic(std::string_view topic) {
  return IsTopicName(topic)
             ? Status()
             : Invalid(Quoted(topic) +
                       " is no topic name (letters, digits and . _ - only; no patterns)");
}

}  // namespace oncemq
