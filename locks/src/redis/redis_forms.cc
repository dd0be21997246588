// SPDX-License-Identifier: Apache-2.0
#include "redis_forms.h"

#include <algorithm>
#include <set>

#include "oncemq/base/bytes.h"

namespace oncemq {
namespace {

// For MATCH: what has a meaning there is to stand for itself.
std::string Plain(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (std::string_view("*?[]^\\").find(c) != std::string_view::npos) {
      out.push_back('\\');
    }
    out.push_back(c);
  }
  return out;
}

// Leaves out the names that only remember their fence.
Status AddHeld(RedisClient& client, const std::vector<RedisReply>& keys, size_t prefix,
               std::string_view after, size_t limit, std::set<std::string>& names) {
  if (keys.empty()) {
    return {};
  }
  // A byte of each tells; somebody may have written anything there, of any length.
  std::vector<RedisCommand> first_bytes;
  for (const RedisReply& key : keys) {
    first_bytes.push_back({"GETRANGE", key.text, "0", "0"});
  }
  const auto held = client.Run(first_bytes);
  if (!held) {
    return held.error();
  }
  for (size_t i = 0; i < keys.size() && i < held->size(); i++) {
    const RedisReply& first = (*held)[i];
    const std::string name = keys[i].text.substr(prefix);
    const bool there = first.kind != RedisReply::Kind::kError && !first.text.empty();
    if (there && first.text[0] != '-' && name > after) {
      names.insert(name);
    }
    if (names.size() > limit) {
      names.erase(std::prev(names.end()));
    }
  }
  return {};
}

}  // namespace

std::string RedisToken(const Token& token) {
  std::string bytes;
  for (const uint64_t half : {token.process, token.attempt}) {
    for (int shift = 56; shift >= 0; shift -= 8) {
      bytes.push_back(static_cast<char>(half >> shift));
    }
  }
  return bytes;
}

Token TokenOfRedis(std::string_view bytes) {
  Token token;
  if (bytes.size() == 16) {
    for (size_t i = 0; i < 16; i++) {
      uint64_t& half = i < 8 ? token.process : token.attempt;
      half = half << 8 | static_cast<uint8_t>(bytes[i]);
    }
  }
  return token;
}

std::string_view RedisMode(LockMode mode) {
  return mode == LockMode::kExclusive ? "x" : mode == LockMode::kShared ? "s" : "c";
}

LockMode ModeOfRedis(std::string_view letter) {
  return letter == "x"   ? LockMode::kExclusive
         : letter == "s" ? LockMode::kShared
                         : LockMode::kCounted;
}

std::string RedisMicros(milliseconds time) {
  return std::to_string(microseconds(time).count());
}

std::string RedisKept(milliseconds lease) {
  return std::to_string((lease + milliseconds(60'000)).count());
}

milliseconds RedisMillis(int64_t micros) {
  return std::chrono::ceil<milliseconds>(microseconds(std::max<int64_t>(0, micros)));
}

Fence FenceOf(const RedisReply& epoch, const RedisReply& token) {
  return {static_cast<uint32_t>(epoch.integer), static_cast<uint64_t>(token.integer)};
}

Result<std::vector<std::string>> RedisHeldNames(RedisClient& client, const std::string& prefix,
                                                std::string_view after, size_t limit) {
  const std::string match = Plain(prefix) + "*";
  std::set<std::string> names;
  std::string cursor = "0";
  do {
    const auto page = client.Run(RedisCommand{"SCAN", cursor, "MATCH", match, "COUNT", "1000"});
    if (!page) {
      return page.error();
    }
    if (page->list.size() != 2) {
      return RedisStrange();
    }
    cursor = page->list[0].text;
    const Status done = AddHeld(client, page->list[1].list, prefix.size(), after, limit, names);
    if (!done) {
      return done.error();
    }
  } while (cursor != "0");
  return std::vector<std::string>(names.begin(), names.end());
}

}  // namespace oncemq
