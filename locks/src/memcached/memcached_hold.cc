// SPDX-License-Identifier: Apache-2.0
#include "memcached_hold.h"

#include "oncemq/base/bytes.h"

namespace oncemq {
namespace {

constexpr uint64_t kVersion = 1;

}  // namespace

std::string Encode(const MemcachedHold& hold) {
  std::string bytes;
  AppendVarint(bytes, kVersion);
  AppendVarint(bytes, hold.recalled ? 1 : 0);
  AppendVarint(bytes, hold.token.process);
  AppendVarint(bytes, hold.token.attempt);
  AppendVarint(bytes, hold.name.size());
  return bytes + hold.name + hold.who;
}

std::optional<MemcachedHold> DecodeMemcachedHold(std::string_view bytes) {
  ByteReader reader(bytes);
  const auto version = reader.Varint();
  const auto recalled = reader.Varint();
  const auto process = reader.Varint();
  const auto attempt = reader.Varint();
  const auto length = reader.Varint();
  if (!length || *version != kVersion || *recalled > 1 || *length > reader.rest().size()) {
    return std::nullopt;
  }
  return MemcachedHold{.token = {*process, *attempt},
                       .recalled = *recalled == 1,
                       .name = std::string(reader.rest().substr(0, *length)),
                       .who = std::string(reader.rest().substr(*length))};
}

}  // namespace oncemq
