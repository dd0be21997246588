// SPDX-License-Identifier: Apache-2.0
// The options of a window, by its engine.
#include "oncemq/framework/service_options.h"

namespace oncemq {

std::string_view ToString(ServiceOptions::Engine engine) {
  switch (engine) {
    case ServiceOptions::Engine::kNone:
      return "none";
    case ServiceOptions::Engine::kMemory:
      return "memory";
    case ServiceOptions::Engine::kRocksDb:
      return "rocksdb";
    case ServiceOptions::Engine::kPostgres:
      return "postgres";
    case ServiceOptions::Engine::kRedis:
      return "redis";
  }
  return "?";
}

bool IsInServer(ServiceOptions::Engine engine) {
  return engine == ServiceOptions::Engine::kPostgres || engine == ServiceOptions::Engine::kRedis;
}

std::optional<Level> LevelOf(const ServiceOptions& options) {
  switch (options.engine) {
    case ServiceOptions::Engine::kNone:
      return std::nullopt;
    case ServiceOptions::Engine::kMemory:
      return options.memory.level;
    case ServiceOptions::Engine::kRocksDb:
      return options.local.level;
    case ServiceOptions::Engine::kPostgres:
      return options.postgres.level;
    case ServiceOptions::Engine::kRedis:
      return options.redis.level;
  }
  return std::nullopt;
}

const WindowTimes& TimesOf(const ServiceOptions& options) {
  switch (options.engine) {
    case ServiceOptions::Engine::kNone:
    case ServiceOptions::Engine::kMemory:
      return options.memory.times;
    case ServiceOptions::Engine::kRocksDb:
      return options.local.times;
    case ServiceOptions::Engine::kPostgres:
      return options.postgres.times;
    case ServiceOptions::Engine::kRedis:
      return options.redis.times;
  }
  return options.memory.times;
}

std::string WindowScope(const RuntimeOptions& runtime) {
  return runtime.app + "/" + runtime.name_space + "/" + runtime.kafka.group + "/" + runtime.handler;
}

}  // namespace oncemq
