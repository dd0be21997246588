// SPDX-License-Identifier: Apache-2.0
#include "broker_list.h"

#include <algorithm>

#include "oncemq/base/bytes.h"
#include "quoted.h"

namespace oncemq {
namespace {

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
    return IsNameCharacter(c) || (v6 && (c == ':' || c == '%'));
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

}  // namespace

bool IsNameCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '_' || c == '-';
}

Status CheckBrokers(std::string_view list) {
  if (AreBrokers(list)) {
    return {};
  }
  return Error{Code::kInvalid, Effect::kNone,
               "must be host:port, several separated by commas, not " + Quoted(list)};
}

}  // namespace oncemq
