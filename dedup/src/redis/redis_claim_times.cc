// SPDX-License-Identifier: Apache-2.0
// The window in Redis: the time of a claim.
#include "../claim_times.h"
#include "oncemq/base/bytes.h"
#include "redis_window_engine.h"

namespace oncemq {

Status RedisWindow::RemoveScope() {
  const std::string counter = base_ + "n:" + process_;
  const auto removed = client_->Run(RedisCommand{"UNLINK", key_, counter});
  return removed ? Status() : removed.error();
}

Result<std::vector<microseconds>> TimeRedisClaims(std::string_view address,
                                                  RedisWindowOptions options, int claims) {
  options.scope = "doctor/" + Hex(SecureRandom64());
  options.existing_only = false;
  options.check_rights = true;
  return TimeClaimsIn(RedisWindow::OpenAt(address, options, kRedisClock), claims);
}

}  // namespace oncemq
