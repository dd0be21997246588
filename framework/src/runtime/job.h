// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "batch_watch.h"
#include "call_times.h"
#include "claims_end.h"
#include "message_locks.h"
#include "oncemq/framework/batch_machine.h"
#include "source.h"

namespace oncemq {

// The batch of a job, as others see it.
struct BatchFacts {
  uint32_t size = 0;    // messages
  int64_t lowest = -1;  // offset, without redriven messages
  // Any thread: the offset of the handler's last call, and kTurn, kStore or kHandler.
  std::atomic<int64_t> called{-1};
  std::atomic<Holder> at{Holder::kTurn};
};

// One batch on its way, with all that it needs. Used again and again; belongs to whoever drives it,
// then to the poll thread. Shared, because a handler that never returns keeps using it after the
// runtime has gone.
struct Job {
  Job(const BatchPolicy& policy, TokenSource tokens, std::unique_ptr<MessageView> its_view)
      : machine(policy, tokens), view(std::move(its_view)) {}

  MessageBatch batch;
  BatchMachine machine;
  MessageLocks locks;  // of the handler's call
  BatchWatch watch{&locks};
  ClaimsEnd claims_end;
  std::unique_ptr<MessageView> view;
  std::unique_ptr<EffectBatch> effects;  // of the batch, at the level atomic
  PartitionId partition = 0;             // of the batch
  uint32_t assignment = 0;               // of the partition, by number
  std::optional<Error> failed;           // window or journal did not do what the batch asked for
  bool on_worker = false;
  bool stood_in = false;  // by another worker: its own hangs; the crew's, until the batch is back
  bool no_spare_logged = false;  // that nobody was left to stand in
  BatchFacts facts;
  CallTimes calls;                      // of its handlers, without the window's calls
  BootTime drain_by = BootTime::max();  // until when a revocation lets it run
};
using JobPtr = std::shared_ptr<Job>;

}  // namespace oncemq
