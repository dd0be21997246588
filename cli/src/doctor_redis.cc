// SPDX-License-Identifier: Apache-2.0
// The Redis of a window, as `oncemq doctor` finds it.
#include <array>
#include <string>

#include "doctor_part.h"
#include "oncemq/base/bytes.h"
#include "oncemq/clients/redis_client.h"
#include "oncemq/dedup/redis_window.h"

namespace oncemq {
namespace {

uint64_t NumberIn(std::string_view info, std::string_view name) {
  return static_cast<uint64_t>(
      std::max<int64_t>(ParseDecimal(RedisInfo(info, name)).value_or(0), 0));
}

// Those that follow, without those that still copy.
uint64_t ReplicasOnline(std::string_view info) {
  uint64_t online = 0;
  for (uint64_t i = 0; i < NumberIn(info, "connected_slaves"); i++) {
    const std::string_view line = RedisInfo(info, "slave" + std::to_string(i));
    online += line.find("state=online") != std::string_view::npos ? 1 : 0;
  }
  return online;
}

// Of CONFIG GET of one name.
std::optional<std::string> SettingOf(const RedisReply& reply) {
  return reply.kind == RedisReply::Kind::kList && reply.list.size() == 2
             ? std::optional(reply.list[1].text)
             : std::nullopt;
}

void DescribePersistence(std::string_view info, const RedisSettings& settings, DoctorPart& part) {
  const bool keeps = RedisInfo(info, "aof_enabled") == "1";
  const bool snapshots = settings.save && !settings.save->empty();
  nlohmann::ordered_json& persistence = part.facts["persistence"];
  persistence["append_only_file"] = keeps;
  if (keeps && settings.fsync) {
    persistence["fsync"] = *settings.fsync;
  }
  if (settings.save) {
    persistence["snapshots"] =
        snapshots ? nlohmann::ordered_json(*settings.save) : nlohmann::ordered_json();
  }
  if (!keeps) {
    part.lowers.push_back(snapshots ? "a restart takes all changes since the last snapshot "
                                      "(appendonly no)"
                                    : "a restart empties the window (appendonly no)");
  } else if (settings.fsync == "everysec") {
    part.lowers.push_back(
        "the crash of its host takes about the last second (appendfsync everysec)");
  } else if (settings.fsync == "no") {
    part.lowers.push_back(
        "the crash of its host takes all that its system had not written (appendfsync no)");
  }
  if (keeps && RedisInfo(info, "aof_last_write_status") == "err") {
    FailPart(part, kExitFailed, "the last write of its append-only file failed");
  }
}

void DescribeReplicas(uint64_t online, int wanted, DoctorPart& part) {
  part.facts["replicas"] = online;
  if (online < static_cast<uint64_t>(wanted)) {
    FailPart(part, kExitFailed,
             "`window.replicas` is " + std::to_string(wanted) + ", and " + std::to_string(online) +
                 " follow: no commit is sent");
  } else if (online == 0) {
    part.lowers.push_back("the loss of this server takes the window: it has no replica");
  } else if (wanted == 0) {
    part.lowers.push_back(
        "a failover takes what its replica did not have (`window.replicas` is 0)");
  }
}

}  // namespace

void DescribeRedis(std::string_view info, const RedisSettings& settings, int wanted_replicas,
                   DoctorPart& part) {
  const std::string server = RedisServerOf(info);  // "Valkey 8.0.1"
  part.facts["server"] = server.substr(0, server.find(' '));
  part.facts["version"] = server.substr(server.find(' ') + 1);
  const uint64_t most = NumberIn(info, "maxmemory");
  part.facts["memory"] = {
      {"policy", RedisInfo(info, "maxmemory_policy")},
      {"used_bytes", NumberIn(info, "used_memory")},
      {"max_bytes", most == 0 ? nlohmann::ordered_json() : nlohmann::ordered_json(most)}};
  if (const Status fit = CheckRedisKeeps(info, "a window"); !fit) {
    FailPart(part, fit.error());
  }
  DescribePersistence(info, settings, part);
  DescribeReplicas(ReplicasOnline(info), wanted_replicas, part);
}

void QueryRedis(const ServiceOptions& options, DoctorPart& part) {
  const auto endpoint = ParseRedisEndpoint(options.redis_at);
  if (!endpoint) {
    return FailPart(part, endpoint.error());
  }
  part.at = ToString(*endpoint);
  part.facts["prefix"] = options.redis.prefix;
  const auto client = RedisClient::Open(*endpoint, {options.redis.connect, options.redis.call}, 1);
  if (!client) {
    return FailPart(part, client.error());
  }
  const std::array asks{RedisCommand{"INFO"}, RedisCommand{"CONFIG", "GET", "appendfsync"},
                        RedisCommand{"CONFIG", "GET", "save"}};
  const auto answers = (*client)->Run(asks);
  if (!answers || answers->front().kind == RedisReply::Kind::kError) {
    return FailPart(part, answers ? RedisError(answers->front().text) : answers.error());
  }
  DescribeRedis(answers->front().text, {SettingOf((*answers)[1]), SettingOf((*answers)[2])},
                options.redis.replicas, part);
  if (AddScope(part, options)) {
    AddClaims(part, TimeRedisClaims(options.redis_at, options.redis, kDoctorClaims));
  }
}

}  // namespace oncemq
