// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "oncemq/base/bytes.h"
#include "oncemq/clients/redis_client.h"

namespace oncemq {
namespace {

// Since version 8 Valkey calls its mode `server_mode`.
bool IsCluster(std::string_view info) {
  return RedisInfo(info, "redis_mode") == "cluster" || RedisInfo(info, "server_mode") == "cluster";
}

}  // namespace

std::string_view RedisInfo(std::string_view info, std::string_view name) {
  const std::string wanted = "\n" + std::string(name) + ":";
  const size_t at = info.find(wanted);
  if (at == std::string_view::npos) {
    return "";
  }
  info.remove_prefix(at + wanted.size());
  return info.substr(0, info.find_first_of("\r\n"));
}

std::string RedisServerOf(std::string_view info) {
  const std::string_view valkey = RedisInfo(info, "valkey_version");
  return valkey.empty() ? "Redis " + std::string(RedisInfo(info, "redis_version"))
                        : "Valkey " + std::string(valkey);
}

Status CheckRedisKeeps(std::string_view info, std::string_view contents) {
  const auto refuse = [contents](std::string why) {
    return Error{Code::kInvalid, Effect::kNone,
                 std::string(contents) + " in this Redis: " + std::move(why)};
  };
  const std::string_view version = RedisInfo(info, "redis_version");
  const auto major = ParseDecimal(version.substr(0, version.find('.')));
  if (!major || *major < 5) {
    return refuse("version 5.0 or newer is needed, this is " + RedisServerOf(info));
  }
  if (IsCluster(info)) {
    return refuse("a cluster cannot be used");
  }
  const std::string_view policy = RedisInfo(info, "maxmemory_policy");
  if (policy != "noeviction") {  // also without `maxmemory`, which can be set while it runs
    return refuse("it may evict keys that are held (maxmemory-policy " + std::string(policy) +
                  "); noeviction is needed");
  }
  return {};
}

Error RedisStrange() {
  return {Code::kCorrupt, Effect::kUnknown, "Redis answered something that is not ours"};
}

}  // namespace oncemq
