// SPDX-License-Identifier: Apache-2.0
#include "etcd_keys.h"

#include <algorithm>
#include <array>

namespace oncemq {
namespace {

constexpr std::string_view kRoot = "oncemq/lock/1/";
constexpr size_t kTokenBytes = 16;
constexpr size_t kHeadBytes = 13;

template <class T>
void AppendBytes(std::string& out, T value) {
  for (int shift = static_cast<int>(sizeof(T)) * 8 - 8; shift >= 0; shift -= 8) {
    out.push_back(static_cast<char>(static_cast<uint64_t>(value) >> shift));
  }
}

uint32_t ReadBytes(std::string_view bytes) {
  uint32_t value = 0;
  for (const char c : bytes.substr(0, 4)) {
    value = value << 8 | static_cast<unsigned char>(c);
  }
  return value;
}

// A 0 becomes 0 255, and 0 1 ends it.
std::string Escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    out.push_back(c);
    if (c == '\0') {
      out.push_back('\xff');
    }
  }
  out.push_back('\0');
  out.push_back('\x01');
  return out;
}

}  // namespace

EtcdLockKeys::EtcdLockKeys(std::string_view space)
    : names_(std::string(kRoot) + "n" + Escaped(space)),
      seal_(std::string(kRoot) + "e" + Escaped(space)),
      sessions_(std::string(kRoot) + "s" + Escaped(space)) {}

std::string EtcdLockKeys::Queue(std::string_view name) const {
  return names_ + Escaped(name);
}

std::string EtcdLockKeys::Writers(std::string_view name) const {
  return Queue(name) + "x";
}

std::string EtcdLockKeys::Request(std::string_view name, LockMode mode, const Token& token) const {
  std::string key = Queue(name) + (mode == LockMode::kExclusive ? "x" : "s");
  AppendBytes(key, token.process);
  AppendBytes(key, token.attempt);
  return key;
}

std::string EtcdLockKeys::Session(int64_t lease) const {
  std::string key = sessions_;
  AppendBytes(key, lease);
  return key;
}

std::optional<std::string> EtcdLockKeys::NameOf(std::string_view key) const {
  if (!key.starts_with(names_)) {
    return std::nullopt;
  }
  key.remove_prefix(names_.size());
  std::string name;
  for (size_t i = 0; i < key.size(); i++) {
    if (key[i] != '\0') {
      name.push_back(key[i]);
    } else if (i + 1 < key.size() && key[i + 1] == '\xff') {
      name.push_back('\0');
      i++;
    } else {
      return i + 1 < key.size() && key[i + 1] == '\x01' ? std::optional(name) : std::nullopt;
    }
  }
  return std::nullopt;
}

std::optional<LockMode> EtcdModeOf(std::string_view key) {
  const char mode = key.size() > kTokenBytes ? key[key.size() - kTokenBytes - 1] : '?';
  if (mode != 'x' && mode != 's') {
    return std::nullopt;
  }
  return mode == 'x' ? LockMode::kExclusive : LockMode::kShared;
}

std::string BytesOf(const EtcdRequest& requested) {
  std::string bytes(1, requested.back ? '1' : '0');
  AppendBytes(bytes, requested.epoch);
  for (const milliseconds time : {requested.lease, requested.queue_lease}) {
    AppendBytes(bytes, static_cast<uint32_t>(std::clamp<int64_t>(time.count(), 0, UINT32_MAX)));
  }
  return bytes + requested.who;
}

std::optional<EtcdRequest> EtcdRequestOf(std::string_view bytes) {
  if (bytes.size() < kHeadBytes || (bytes[0] != '0' && bytes[0] != '1')) {
    return std::nullopt;
  }
  return EtcdRequest{
      bytes[0] == '1', ReadBytes(bytes.substr(1)), milliseconds(ReadBytes(bytes.substr(5))),
      milliseconds(ReadBytes(bytes.substr(9))), std::string(bytes.substr(kHeadBytes))};
}

}  // namespace oncemq
