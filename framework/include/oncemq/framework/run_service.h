// SPDX-License-Identifier: Apache-2.0
// RunService: a whole service in one call. You write the handler, a file says the rest.
//
//   oncemq::Outcome OnPayment(const oncemq::Message& message, oncemq::Context& context);
//
//   int main(int argc, char** argv) { return oncemq::RunService(argc, argv, OnPayment); }
//
//   ./payments -c payments.yaml
//
// Link oncemq::service. cli/service.yaml has every key of the file.
//
// **Promise:** opens log, window, runtime and admin socket by the file, and runs until SIGTERM or
// SIGINT. Then it drains, writes the closing report to standard error, and returns the exit code
// for main(). It waits for a server of the window that does not answer, and joins the group after
// that. Workers call the handler at the same time, for messages of different keys.
//
// **Limits:** one service runs at a time, and no thread is started before it. SIGPIPE is ignored
// from then on. A handler that has not returned within `drain_deadline` ends the process here, and
// no destructor runs.
//
// **Failure:** it throws nothing; the reason is written to standard error.
//
//   exit code   meaning
//   0           --help
//   1           it ended by itself, or not everything was given back in time
//   2           wrong arguments, or a file that is refused
//   4           the deliveries do not add up
//   5           it was stopped before any partition had begun
//   7           a partition was stopped; the report says why
//   8           a second signal ended it at once
//   130, 143    it was stopped by SIGINT or SIGTERM, and everything was given back
//
// **Thread safety:** one call, from the thread of main().
#pragma once

#include <memory>
#include <string>

#include "oncemq/base/result.h"
#include "oncemq/dedup/window.h"
#include "oncemq/framework/handler.h"
#include "oncemq/locks/lock_domain.h"

namespace oncemq {

struct ServiceOptions;

// Opens the stores that `locks` of a service file names.
using LockOpener = Result<std::unique_ptr<LockDomain>> (*)(const ServiceOptions& options);

// Opens the window that a service file names; nullptr where it names none.
using WindowOpener = Result<std::unique_ptr<Window>> (*)(const ServiceOptions& options);

struct RunServiceOptions {
  // For a file that names a store of locks: OpenServiceLocks (service_locks.h), in a program that
  // links oncemq::service_locks. Without it such a file is refused, and the program is linked with
  // no client of such a store.
  LockOpener open_locks = nullptr;
  // For a file with the window in PostgreSQL: OpenPostgresServiceWindow (service_postgres.h), in a
  // program that links oncemq::service_postgres. In Redis: OpenRedisServiceWindow
  // (service_redis.h), with oncemq::service_redis. Without it such a file is refused, and the
  // program is linked with no client of these servers.
  WindowOpener open_window = nullptr;
};

// The arguments are `-c FILE` or `--config FILE`, and `--help`; others are refused. After `replay`
// come those of docs/replay.md.
int RunService(int argc, char** argv, Handler handler, const RunServiceOptions& options = {});

// The same for a program with arguments of its own.
int RunServiceFile(const std::string& file, Handler handler, const RunServiceOptions& options = {});

}  // namespace oncemq
