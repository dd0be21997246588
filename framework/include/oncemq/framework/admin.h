// SPDX-License-Identifier: Apache-2.0
// AdminSocket: a Unix domain socket on which a running service answers `oncemq status` and its
// like, and the only way for others to ask it anything.
//
//   auto runtime = Runtime::Open(options, window.get(), OnPayment);
//   auto admin = AdminSocket::Open({.socket = "/run/payments/admin.sock"},
//                                  {.runtime = runtime->get(), .window = window.get()});
//   (*runtime)->Run(stop);
//
// Promise: only the service's own user and root may ask. No client, however slow, silent or
// hostile, holds up the service or another client for longer than `deadline`; what clients can make
// it hold is bounded. A command that changes anything leaves a line in the log, or is refused.
// Failure: a file of another kind, or a service that lives, is never replaced; the socket of one
// that has died is. A process that is killed leaves its socket behind, for the next one to replace.
//
// Thread safety: Open and the destructor from one thread; it works on a thread of its own. The
// destructor waits for a command that runs, which takes as long as the window takes to answer.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "oncemq/base/clock.h"
#include "oncemq/base/result.h"
#include "oncemq/framework/runtime.h"

namespace oncemq {

struct AdminOptions {
  // Its file; empty: none is offered. A relative one is taken from the working directory. Its own
  // directory is made (0700) if it is missing, and must belong to the service's user or root, and
  // others may not write to it, unless it is sticky.
  std::string socket;
  // For a client to send its request, and again to take the answer.
  milliseconds deadline{5'000};
  // At a time; more are told so and let go.
  uint32_t connections = 8;
};

// What it answers about. Borrowed: they outlive the socket.
struct AdminSubject {
  const Runtime* runtime = nullptr;
  Window* window = nullptr;  // nullptr: the service has none
  std::string group;
  // What `explain guarantee` shows, as ExplainGuarantee() tells it; empty: the runtime's line.
  std::string guarantee;
};

class AdminSocket {
 public:
  // kInvalid: the file cannot be one, kUnavailable: another process answers there.
  static Result<std::unique_ptr<AdminSocket>> Open(const AdminOptions& options,
                                                   AdminSubject subject);
  // Ends every conversation and removes the file, if it is still ours.
  virtual ~AdminSocket() = default;
};

// Whether a socket can have this name at all: the system's limit is short.
Status CheckAdminSocket(std::string_view path);

}  // namespace oncemq
