// SPDX-License-Identifier: Apache-2.0
#include "memcached_words.h"

#include <openssl/evp.h>

#include <array>

#include "oncemq/base/bytes.h"
#include "oncemq/base/check.h"

namespace oncemq {
namespace {

constexpr int64_t kLargestValue = 64 << 20;

std::string_view NextWord(std::string_view& line) {
  const size_t end = line.find(' ');
  const std::string_view word = line.substr(0, end);
  line.remove_prefix(end == std::string_view::npos ? line.size() : end + 1);
  return word;
}

Error NoAnswer(std::string_view line) {
  return {Code::kCorrupt, Effect::kUnknown,
          "memcached answered something else: " + std::string(line.substr(0, 100))};
}

// "c12 t30 O7": false if one cannot be read, or is of another command.
bool ParseFlags(std::string_view line, MemcachedReply& reply, uint64_t number) {
  while (!line.empty()) {
    const std::string_view word = NextWord(line);
    if (word.empty()) {
      continue;
    }
    const auto value = ParseDecimal(word.substr(1));
    if (!value) {
      return false;
    }
    if (word[0] == 'c') {
      reply.version = static_cast<uint64_t>(*value);
    } else if (word[0] == 't') {
      reply.left = std::chrono::seconds(*value);
    } else if (word[0] == 'O' && static_cast<uint64_t>(*value) != number) {
      return false;
    }
  }
  return true;
}

}  // namespace

std::string MemcachedKey(std::string_view prefix, std::string_view name) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int length = 0;
  const int done =
      EVP_Digest(name.data(), name.size(), digest.data(), &length, EVP_sha256(), nullptr);
  ONCEMQ_CHECK(done == 1, "SHA-256, for the names of keys, is there");
  std::string key(prefix);
  for (unsigned int i = 0; i < length; i++) {
    key.push_back("0123456789abcdef"[digest[i] >> 4]);
    key.push_back("0123456789abcdef"[digest[i] & 15]);
  }
  return key;
}

void AppendCommand(std::string& out, const MemcachedCommand& command, uint64_t number) {
  using Kind = MemcachedCommand::Kind;
  switch (command.kind) {
    case Kind::kGet:
      out.append("mg ").append(command.key).append(" c t v O").append(std::to_string(number));
      break;
    case Kind::kDrop:
      out.append("md ").append(command.key).append(" C").append(std::to_string(command.version));
      out.append(" O").append(std::to_string(number));
      break;
    case Kind::kAdd:
    case Kind::kSwap: {
      const bool add = command.kind == Kind::kAdd;
      out.append(add ? "add " : "cas ").append(command.key).append(" 0 ");
      out.append(std::to_string(command.kept.count())).append(" ");
      out.append(std::to_string(command.value.size()));
      out.append(add ? "" : " " + std::to_string(command.version));
      out.append("\r\n").append(command.value);
      break;
    }
  }
  out.append("\r\n");
}

Result<MemcachedHead> ParseHead(std::string_view line, MemcachedCommand::Kind kind,
                                uint64_t number) {
  using Kind = MemcachedReply::Kind;
  std::string_view rest = line;
  const std::string_view word = NextWord(rest);
  const bool get = kind == MemcachedCommand::Kind::kGet;
  MemcachedHead head;
  if (line.starts_with("SERVER_ERROR out of memory")) {
    return Error{Code::kFull, Effect::kNone, "memcached: " + std::string(line)};
  }
  if (line.starts_with("ERROR Too many open connections")) {
    return Error{Code::kUnavailable, Effect::kNone, "memcached: too many open connections"};
  }
  if (get && word == "VA") {
    const auto length = ParseDecimal(NextWord(rest));
    if (!length || *length < 0 || *length > kLargestValue) {
      return NoAnswer(line);
    }
    head.reply.kind = Kind::kFound;
    head.block = static_cast<size_t>(*length);
  } else if (get ? word == "EN" : (word == "NF" || word == "NOT_FOUND")) {
    head.reply.kind = Kind::kMissing;
  } else if (!get && (word == "HD" || word == "STORED")) {
    head.reply.kind = Kind::kDone;
  } else if (!get && (word == "EX" || word == "NS" || word == "EXISTS" || word == "NOT_STORED")) {
    head.reply.kind = Kind::kRefused;
  } else {
    return NoAnswer(line);
  }
  if (!ParseFlags(rest, head.reply, number)) {
    return NoAnswer(line);
  }
  return head;
}

}  // namespace oncemq
