// SPDX-License-Identifier: Apache-2.0
// The Redis of `demo --redis`, with the window in its database 0 and the ledger in 1. The ledger
// stores the id of a payment with the booking, in one script: a target for the level guarded.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "child.h"
#include "effect_log.h"
#include "oncemq/base/result.h"
#include "oncemq/dedup/window.h"

namespace oncemq::demo {

// Thread safety: the main thread.
class RedisStage {
 public:
  // Blocks until it answers, for some seconds at most. Its files go to `dir`. Failure: kInvalid for
  // a build without Redis, kUnavailable where this machine has none.
  static Result<std::unique_ptr<RedisStage>> Start(const std::filesystem::path& dir);

  const std::string& url() const { return url_; }

 private:
  RedisStage(std::unique_ptr<Child> server, std::string url)
      : server_(std::move(server)), url_(std::move(url)) {}

  const std::unique_ptr<Child> server_;
  const std::string url_;
};

// The books of all workers.
//
// Thread safety: any thread of any process.
class RedisLedger {
 public:
  // `url` of the stage.
  static Result<std::unique_ptr<RedisLedger>> Open(const std::string& url);
  virtual ~RedisLedger() = default;

  // The worker that booked it: another one's booking stays as it is.
  virtual Result<std::string> Book(const Posting& posting) = 0;
  virtual Result<EffectLogContent> Read() = 0;
};

// At level guarded. `scope`: of the group.
Result<std::unique_ptr<Window>> OpenStageWindow(const std::string& url, const std::string& scope);

}  // namespace oncemq::demo
