// SPDX-License-Identifier: Apache-2.0
// One of the two runs that go side by side over the same log: a consumer group of its own with its
// worker processes, either with a window, or without one.
// Failure: a worker that ends by itself or doesn't stop.
//
// Thread safety: the main thread.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "crew.h"
#include "oncemq/base/result.h"
#include "payment_producer.h"
#include "verdict.h"

namespace oncemq::demo {

inline constexpr int kPartitions = 4;
inline constexpr char kTopic[] = "payments";

class Side {
 public:
  // `redis`: the address of the stage with the window; empty: it is on disk.
  Side(bool window, std::string brokers, std::filesystem::path dir, std::string redis = "");

  // A worker stays known after its end.
  Result<WorkerProcess*> StartWorker(const std::string& name);
  void Listen();
  // An error: a worker is not as it should be.
  Status Check(BootTime now) const;
  void RequestStopAll();

  bool window() const { return window_; }
  const std::string& group() const { return group_; }
  const std::vector<std::unique_ptr<WorkerProcess>>& workers() const { return workers_; }
  bool AnyRuns() const;
  // Each worker that runs has an equal part of the partitions.
  bool Shared() const;
  // Every message sent so far is finished, and committed by the worker that owns its partition.
  bool Settled(const std::vector<PaymentProducer::Volume>& sent) const;
  DeliveryCounts Counts() const;
  int64_t OpenAtKill() const;  // of these
  int64_t Committed() const;   // messages
  // Workers that somebody stopped: "worker A of demo-with-window is stopped ..."; empty: none.
  // `now` leaves out those that have gone on.
  std::string Halts(bool now) const;

  // What is left when the workers are gone.
  Result<Ledger> ReadBooks() const;
  std::vector<WorkerEvidence> Evidence() const;

 private:
  std::filesystem::path books() const;

  const bool window_;
  const std::string group_;
  const std::string brokers_;
  const std::filesystem::path dir_;
  const std::string redis_;
  std::vector<std::unique_ptr<WorkerProcess>> workers_;
  std::array<int64_t, kPartitions> committed_{};  // the highest ever reported
};

// What a worker was given and has not committed.
int64_t NotCommitted(const WorkerProcess& worker);

}  // namespace oncemq::demo
