// SPDX-License-Identifier: Apache-2.0
#include "oncemq/base/address.h"

#include "oncemq/base/bytes.h"

namespace oncemq {
namespace {

Error Invalid(const char* why) {
  return {Code::kInvalid, Effect::kNone, why};
}

}  // namespace

std::optional<std::string_view> CutAt(std::string_view& text, char mark) {
  const size_t at = text.find(mark);
  if (at == std::string_view::npos) {
    return std::nullopt;
  }
  const std::string_view rest = text.substr(at + 1);
  text = text.substr(0, at);
  return rest;
}

std::optional<std::string> PercentDecoded(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); i++) {
    char next = text[i];
    if (next == '%') {
      const auto byte = text.size() - i > 2 ? ParseHex(text.substr(i + 1, 2)) : std::nullopt;
      if (!byte) {
        return std::nullopt;
      }
      next = static_cast<char>(*byte);
      i += 2;
    }
    if (next == '\0') {
      return std::nullopt;
    }
    out.push_back(next);
  }
  return out;
}

Result<HostAndPort> ParseHostAndPort(std::string_view text, uint16_t port) {
  std::optional<std::string_view> number;
  if (text.starts_with('[')) {  // IPv6
    text.remove_prefix(1);
    const auto behind = CutAt(text, ']');
    if (!behind || (!behind->empty() && !behind->starts_with(':'))) {
      return Invalid("a [ without its ]");
    }
    if (!behind->empty()) {
      number = behind->substr(1);
    }
  } else {
    number = CutAt(text, ':');
  }
  if (text.empty()) {
    return Invalid("a host is missing");
  }
  HostAndPort parsed{std::string(text), port};
  if (number) {
    const auto value = ParseDecimal(*number);
    if (!value || *value < 1 || *value > 65535) {
      return Invalid("a port is a number from 1 to 65535");
    }
    parsed.port = static_cast<uint16_t>(*value);
  }
  return parsed;
}

Result<std::optional<UserAndPassword>> CutUser(std::string_view& text) {
  const size_t at = text.substr(0, text.find('/')).rfind('@');
  if (at == std::string_view::npos) {
    return std::optional<UserAndPassword>();
  }
  std::string_view user = text.substr(0, at);
  text.remove_prefix(at + 1);
  const auto password = CutAt(user, ':');
  const auto plain_user = PercentDecoded(user);
  const auto plain_password = PercentDecoded(password.value_or(""));
  if (!plain_user || !plain_password) {
    return Invalid("a % in user or password is not followed by two hexadecimal digits");
  }
  return std::optional(UserAndPassword{*plain_user, *plain_password});
}

}  // namespace oncemq
