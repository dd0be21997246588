// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "claims_end.h"
#include "message_locks.h"
#include "oncemq/framework/run_machine.h"
#include "run_watch.h"
#include "source.h"

namespace oncemq {

// One run on its way, with all that it needs. Used again and again; belongs to whoever drives it,
// then to the poll thread. Shared, because a handler that never returns keeps using it after the
// runtime has gone.
struct Job {
  Job(const RunPolicy& policy, TokenSource tokens, std::unique_ptr<MessageView> its_view)
      : machine(policy, tokens), view(std::move(its_view)) {}

  Run run;
  RunMachine machine;
  MessageLocks locks;  // of the handler's call
  RunWatch watch{&locks};
  ClaimsEnd claims_end;
  std::unique_ptr<MessageView> view;
  std::unique_ptr<EffectBatch> effects;  // of the run, at the level atomic
  PartitionId partition = 0;             // of the run
  uint32_t assignment = 0;               // of the partition, by number
  std::optional<Error> failed;           // window or journal did not do what the run asked for
  bool on_worker = false;
  bool stood_in = false;    // by another worker: its own hangs; the crew's, until the run is back
  bool alone_told = false;  // that nobody was left to stand in
  uint32_t size = 0;        // messages of the run
  microseconds took{0};     // by its handlers, without the window's calls
  BootTime drain_by = BootTime::max();  // until when a revocation lets it run
};
using JobPtr = std::shared_ptr<Job>;

}  // namespace oncemq
