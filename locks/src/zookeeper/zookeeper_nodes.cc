// SPDX-License-Identifier: Apache-2.0
#include "zookeeper_nodes.h"

#include <algorithm>
#include <limits>

#include "oncemq/base/bytes.h"

namespace oncemq {
namespace {

constexpr std::string_view kDigits = "0123456789abcdef";
constexpr size_t kHex = 16;  // digits of a number
constexpr size_t kPrefix = 2 + kHex + 1 + kHex + 1;

bool Plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_' || c == ':';
}

std::string Padded(uint64_t value) {
  std::string digits;
  for (int shift = 60; shift >= 0; shift -= 4) {
    digits.push_back(kDigits[(value >> shift) & 15]);
  }
  return digits;
}

std::optional<ZooKeeperNode> ParseChild(const std::string& child) {
  if (child.size() <= kPrefix || (child[0] != 'x' && child[0] != 's') || child[1] != '-' ||
      child[2 + kHex] != '-' || child[kPrefix - 1] != '-') {
    return std::nullopt;
  }
  const std::string_view text = child;
  const auto session = ParseHex(text.substr(2, kHex));
  const auto number = ParseHex(text.substr(3 + kHex, kHex));
  const bool negative = text[kPrefix] == '-';
  const auto order = ParseDecimal(text.substr(kPrefix + (negative ? 1 : 0)));
  if (!session || !number || !order || *order < 0 || *order > int64_t{1} << 31) {
    return std::nullopt;
  }
  return ZooKeeperNode{child[0] == 'x' ? LockMode::kExclusive : LockMode::kShared, *session,
                       *number, static_cast<int32_t>(negative ? -*order : *order), child};
}

// Takes a decimal number and the blank behind it off the front.
std::optional<int64_t> TakeNumber(std::string_view& text) {
  const size_t blank = text.find(' ');
  if (blank == std::string_view::npos) {
    return std::nullopt;
  }
  const auto value = ParseDecimal(text.substr(0, blank));
  text.remove_prefix(blank + 1);
  return value && *value >= 0 ? value : std::nullopt;
}

}  // namespace

// "=", then what is plain, and the rest as % and two digits. ZooKeeper would refuse some bytes, "."
// and "", and take "/" for its own.
std::string EncodePart(std::string_view bytes) {
  std::string part = "=";
  for (const char c : bytes) {
    if (Plain(c)) {
      part.push_back(c);
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    part.push_back('%');
    part.push_back(kDigits[byte >> 4]);
    part.push_back(kDigits[byte & 15]);
  }
  return part;
}

std::optional<std::string> DecodePart(std::string_view part) {
  if (!part.starts_with('=')) {
    return std::nullopt;
  }
  part.remove_prefix(1);
  std::string bytes;
  for (size_t i = 0; i < part.size(); i++) {
    if (Plain(part[i])) {
      bytes.push_back(part[i]);
      continue;
    }
    const size_t high = part.size() - i > 2 ? kDigits.find(part[i + 1]) : std::string_view::npos;
    const size_t low = part.size() - i > 2 ? kDigits.find(part[i + 2]) : std::string_view::npos;
    if (part[i] != '%' || high == std::string_view::npos || low == std::string_view::npos) {
      return std::nullopt;
    }
    bytes.push_back(static_cast<char>(high * 16 + low));
    i += 2;
  }
  return bytes;
}

ZooKeeperPaths::ZooKeeperPaths(std::string_view space)
    : above{"/oncemq", "/oncemq/locks"},
      root("/oncemq/locks/" + EncodePart(space)),
      seal(root + "/seal") {}

std::string ChildPrefix(LockMode mode, uint64_t session, uint64_t number) {
  return (mode == LockMode::kExclusive ? "x-" : "s-") + Padded(session) + "-" + Padded(number) +
         "-";
}

std::vector<ZooKeeperNode> QueueOf(const std::vector<std::string>& children) {
  std::vector<ZooKeeperNode> queue;
  queue.reserve(children.size());
  for (const std::string& child : children) {
    if (auto node = ParseChild(child)) {
      queue.push_back(*std::move(node));
    }
  }
  std::sort(queue.begin(), queue.end(), [](const ZooKeeperNode& one, const ZooKeeperNode& other) {
    return one.order < other.order;
  });
  return queue;
}

bool OutOfNumbers(const std::vector<ZooKeeperNode>& queue) {
  return std::any_of(queue.begin(), queue.end(), [](const ZooKeeperNode& node) {
    return node.order < 0 || node.order == std::numeric_limits<int32_t>::max();
  });
}

std::vector<LockMode> ModesOf(const std::vector<ZooKeeperNode>& queue) {
  std::vector<LockMode> modes;
  modes.reserve(queue.size());
  for (const ZooKeeperNode& node : queue) {
    modes.push_back(node.mode);
  }
  return modes;
}

// A parent that was deleted and made again counts from 0.
bool SameChildren(const ZooKeeperReply::Stat& before, const ZooKeeperReply::Stat& behind) {
  return before.created == behind.created && before.children_changes == behind.children_changes;
}

std::string ToText(const ZooKeeperWords& words) {
  return "1 " + std::to_string(words.epoch) + " " + std::to_string(words.lease.count()) + " " +
         std::to_string(words.queue_lease.count()) + " " + words.who;
}

std::optional<ZooKeeperWords> ParseWords(std::string_view text) {
  if (TakeNumber(text) != 1) {
    return std::nullopt;
  }
  const size_t blank = std::min(text.find(' '), text.size());
  const auto epoch = ParseEpoch(text.substr(0, blank));
  text.remove_prefix(std::min(blank + 1, text.size()));
  const auto lease = TakeNumber(text);
  const auto queue_lease = lease ? TakeNumber(text) : std::nullopt;
  if (!epoch || !queue_lease) {
    return std::nullopt;
  }
  return ZooKeeperWords{*epoch, milliseconds(*lease), milliseconds(*queue_lease),
                        std::string(text)};
}

std::optional<uint32_t> ParseEpoch(std::string_view text) {
  const auto value = ParseDecimal(text);
  if (!value || *value < 0 || *value > std::numeric_limits<uint32_t>::max()) {
    return std::nullopt;
  }
  return static_cast<uint32_t>(*value);
}

}  // namespace oncemq
