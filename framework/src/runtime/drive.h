// SPDX-License-Identifier: Apache-2.0
// DriveBatch: does for one batch what its BatchMachine asks for, with the real window, handler and
// journal. The poll thread and the workers share it.
#pragma once

#include "job.h"
#include "oncemq/framework/handler.h"
#include "outcome_log.h"
#include "store_errors.h"

namespace oncemq {

struct DriveTools {
  Window* window = nullptr;       // may be nullptr, with BatchPolicy::window false
  OutcomeLog* journal = nullptr;  // may be nullptr, with RejectPolicy::kStop
  const Clock* clock = nullptr;
  StoreErrors* errors = nullptr;
  LockSource locks = {};
};

enum class Driven : uint8_t {
  kSettled,    // job.machine.settlements() is ready
  kAbandoned,  // the runtime has ended while a handler ran: its tools are gone, nothing may be
               // touched
};

// The batch is in job.batch, with at least one message. The user's exceptions end here, and nowhere
// else: one is a Retry.
//
// Thread safety: one thread for each job. Blocks: as long as window, handler and journal do.
Driven DriveBatch(Job& job, const Handler& handler, const DriveTools& tools);

}  // namespace oncemq
