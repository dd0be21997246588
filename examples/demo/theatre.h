// SPDX-License-Identifier: Apache-2.0
// Everything that is alive during a run: broker, producer, stream, the two sides with their
// workers, and the loop that serves them. Every wait is a condition and ends with the time limit at
// the latest.
// Failure: what a side says of its workers, the time limit, a signal, the volume guard.
//
// Thread safety: the main thread.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <string>

#include "broker_view.h"
#include "embedded_broker.h"
#include "options.h"
#include "payment_plan.h"
#include "payment_producer.h"
#include "redis_stage.h"
#include "screen.h"
#include "side.h"
#include "stream.h"
#include "timeline.h"
#include "work_dir.h"

namespace oncemq::demo {

class Theatre {
 public:
  static Result<std::unique_ptr<Theatre>> Open(const DemoOptions& options, Screen& screen);
  ~Theatre();
  Theatre(const Theatre&) = delete;
  Theatre& operator=(const Theatre&) = delete;

  // Serves everything until `done`; the live line shows `live()`.
  Status Until(const std::function<bool()>& done, const std::function<std::string()>& live);

  // Both sides have finished and committed what was sent.
  bool Settled() const;
  // Workers that somebody stops `now`, or stopped at any time, in words; empty: none.
  std::string Halts(bool now) const;
  // In the picture of a side.
  void MarkNow(const Side& side, Mark mark);
  void BeginWaitNow(const Side& side, std::string reason);
  void EndWaitNow(const Side& side);

  const PaymentPlan& plan() const { return plan_; }
  Stream& stream() { return *stream_; }
  const EmbeddedBroker& broker() const { return *broker_; }
  Side& with() { return *with_; }
  Side& without() { return *without_; }
  const Side& with() const { return *with_; }
  const Side& without() const { return *without_; }
  const std::filesystem::path& dir() const { return dir_->path(); }
  int64_t begin_ms() const { return begin_ms_; }
  const Sampler& sampler() const { return sampler_; }
  const Moments& moments(const Side& side) const { return moments_[side.window() ? 1 : 0]; }
  int ended_by() const { return ended_by_; }  // a signal, or 0

  // What the broker says of a side, once the workers are gone.
  Result<std::unique_ptr<BrokerView>> OpenBrokerView(const Side& side) const;

 private:
  Theatre(const DemoOptions& options, Screen& screen);
  Status Prepare();
  Status ServeOnce();
  void Listen();

  const DemoOptions options_;
  Screen& screen_;
  const BootTime limit_;
  const int64_t begin_ms_;
  const PaymentPlan plan_;
  std::unique_ptr<WorkDir> dir_;
  std::unique_ptr<EmbeddedBroker> broker_;
  std::unique_ptr<RedisStage> redis_;  // nullptr: the window is on disk
  std::unique_ptr<PaymentProducer> producer_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<Side> with_;
  std::unique_ptr<Side> without_;
  Sampler sampler_;
  std::array<Moments, 2> moments_;  // without, with
  int signals_ = -1;                // a descriptor
  int ended_by_ = 0;
};

}  // namespace oncemq::demo
