// SPDX-License-Identifier: Apache-2.0
#include "oncemq/framework/trace.h"

#include <algorithm>

#include "oncemq/framework/handler.h"

namespace oncemq {
namespace {

constexpr size_t kLength = sizeof("00-") - 1 + 32 + 1 + 16 + 1 + 2;
constexpr size_t kLongestState = 8192;  // as servers take it in a header

bool IsHex(std::string_view text) {
  return text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

bool IsId(std::string_view text) {
  return IsHex(text) && text.find_first_not_of('0') != std::string_view::npos;
}

bool IsPrintable(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; });
}

// A later version may add fields, version 00 has none.
bool IsParent(std::string_view text) {
  if (text.size() < kLength || text.size() > kLongestState || !IsPrintable(text)) {
    return false;
  }
  const std::string_view version = text.substr(0, 2);
  const bool dashes = text[2] == '-' && text[35] == '-' && text[52] == '-';
  const bool ends = text.size() == kLength || (version != "00" && text[kLength] == '-');
  return dashes && ends && IsHex(version) && version != "ff" && IsId(text.substr(3, 32)) &&
         IsId(text.substr(36, 16)) && IsHex(text.substr(53, 2));
}

}  // namespace

TraceContext TraceOf(const Message& message) {
  const std::string_view parent = message.header("traceparent").value_or("");
  if (!IsParent(parent)) {
    return {};
  }
  const std::string_view state = message.header("tracestate").value_or("");
  const bool fits = state.size() <= kLongestState && IsPrintable(state);
  return {.parent = parent, .state = fits ? state : std::string_view()};
}

}  // namespace oncemq
