// SPDX-License-Identifier: Apache-2.0
// Everything that is alive during a run: broker, producer, stream and workers, and the loop that
// serves them. Every wait is a condition and ends with the time limit at the latest.
// Failure: a worker that ends by itself or doesn't stop, the time limit, a signal, the volume
// guard. Thread safety: the main thread.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "broker_view.h"
#include "crew.h"
#include "embedded_broker.h"
#include "options.h"
#include "payment_plan.h"
#include "payment_producer.h"
#include "screen.h"
#include "stream.h"
#include "work_dir.h"

namespace oncemq::demo {

inline constexpr int kPartitions = 4;

class Theatre {
 public:
  static Result<std::unique_ptr<Theatre>> Open(const DemoOptions& options, Screen& screen);
  ~Theatre();
  Theatre(const Theatre&) = delete;
  Theatre& operator=(const Theatre&) = delete;

  // A worker stays known after its end.
  Result<WorkerProcess*> StartWorker(const std::string& name);

  // Serves everything until `done`; the live line shows `live()`.
  Status Until(const std::function<bool()>& done, const std::function<std::string()>& live);

  // Every message sent so far is finished, and committed by the worker that owns its partition.
  bool Settled() const;
  DeliveryCounts Counts() const;
  int64_t Committed() const;  // messages

  const PaymentPlan& plan() const { return plan_; }
  Stream& stream() { return *stream_; }
  const EmbeddedBroker& broker() const { return *broker_; }
  const std::vector<std::unique_ptr<WorkerProcess>>& workers() const { return workers_; }
  const std::filesystem::path& dir() const { return dir_->path(); }
  std::filesystem::path effects() const { return dir() / "effects.log"; }
  int ended_by() const { return ended_by_; }  // a signal, or 0

  // What the broker says, once the workers are gone.
  Result<std::unique_ptr<BrokerView>> LookAtBroker() const;

 private:
  Theatre(const DemoOptions& options, Screen& screen);
  Status Prepare();
  Status ServeOnce();
  void Listen();
  Status CheckWorkers() const;

  const DemoOptions options_;
  Screen& screen_;
  const BootTime limit_;
  const PaymentPlan plan_;
  std::unique_ptr<WorkDir> dir_;
  std::unique_ptr<EmbeddedBroker> broker_;
  std::unique_ptr<PaymentProducer> producer_;
  std::unique_ptr<Stream> stream_;
  std::vector<std::unique_ptr<WorkerProcess>> workers_;
  std::array<int64_t, kPartitions> committed_{};  // the highest ever reported
  int signals_ = -1;                              // a descriptor
  int ended_by_ = 0;
};

}  // namespace oncemq::demo
