// SPDX-License-Identifier: Apache-2.0
#include "server_judge.h"

#include <charconv>

#include "oncemq/base/log.h"
#include "oncemq/clients/redis_client.h"

namespace oncemq {

Status ServerJudge::operator()(std::string_view info) {
  Status fit = CheckRedisKeeps(info, "a window");
  MutexLock lock(mutex_);
  if (!fit) {
    if (opened_) {
      fit.error().code = Code::kUnavailable;
      LogSeldom(LogLevel::kError, "window",
                "this Redis may not carry the window: nothing runs until it is set up anew, or "
                "another one is master",
                {{"scope", scope_}, {"why", fit.error().message}});
    }
    return fit;
  }
  const bool keeps = RedisInfo(info, "aof_enabled") == "1";
  if (opened_ && server_.keeps && !keeps) {
    Log(LogLevel::kWarn, "window",
        "the window is connected to a Redis that keeps nothing over a restart (no append-only "
        "file); the one before did",
        {{"scope", scope_}, {"server", RedisServerOf(info)}});
  }
  const std::string_view replicas = RedisInfo(info, "connected_slaves");
  int connected = 0;
  std::from_chars(replicas.data(), replicas.data() + replicas.size(), connected);
  server_ = {keeps, connected};
  return {};
}

void ServerJudge::Opened() {
  MutexLock lock(mutex_);
  opened_ = true;
}

ServerJudge::Server ServerJudge::server() {
  MutexLock lock(mutex_);
  return server_;
}

}  // namespace oncemq
