// SPDX-License-Identifier: Apache-2.0
// In a build without Redis.
#include "redis_stage.h"

namespace oncemq::demo {
namespace {

Error NoRedis() {
  return {Code::kInvalid, Effect::kNone, "this build has no Redis (ONCEMQ_WITH_REDIS=OFF)"};
}

}  // namespace

Result<std::unique_ptr<RedisStage>> RedisStage::Start(const std::filesystem::path&) {
  return NoRedis();
}

Result<std::unique_ptr<RedisLedger>> RedisLedger::Open(const std::string&) {
  return NoRedis();
}

Result<std::unique_ptr<Window>> OpenStageWindow(const std::string&, const std::string&) {
  return NoRedis();
}

}  // namespace oncemq::demo
