// SPDX-License-Identifier: Apache-2.0
#include "oncemq/base/fence_text.h"

#include <charconv>

namespace oncemq {
namespace {

template <class Number>
std::optional<Number> Parse(std::string_view text) {
  Number number = 0;
  const char* const end = text.data() + text.size();
  const auto [at, failed] = std::from_chars(text.data(), end, number);
  return text.empty() || failed != std::errc() || at != end ? std::nullopt : std::optional(number);
}

}  // namespace

std::string ToString(const Fence& fence) {
  const std::string token = std::to_string(fence.token);
  return fence.epoch == 0 ? token : std::to_string(fence.epoch) + "." + token;
}

std::optional<Fence> ParseFence(std::string_view text) {
  const size_t point = text.find('.');
  const auto epoch =
      point == std::string_view::npos ? uint32_t{0} : Parse<uint32_t>(text.substr(0, point));
  const auto token =
      Parse<uint64_t>(point == std::string_view::npos ? text : text.substr(point + 1));
  if (!epoch || !token) {
    return std::nullopt;
  }
  return Fence{*epoch, *token};
}

}  // namespace oncemq
