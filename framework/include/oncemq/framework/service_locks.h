// SPDX-License-Identifier: Apache-2.0
// What a service file says of locks, opened.
//
//   auto locks = OpenServiceLocks(*options);
//   if (!locks) { ... }
//   options->runtime.locks.domain = *std::move(locks);  // nullptr: the file names no store
//   auto runtime = Runtime::Open(options->runtime, window->get(), OnPayment);
//
// RunService takes the same function: RunServiceOptions::open_locks (run_service.h).
#pragma once

#include <memory>

#include "oncemq/base/result.h"
#include "oncemq/framework/service_options.h"
#include "oncemq/locks/lock_domain.h"

namespace oncemq {

// Link oncemq::service_locks for it: with that come the clients of all lock stores of the build.
// nullptr: the options say no store. Failures: kInvalid for what is refused, by the catalogue or by
// a store; kNotFound where there is no such catalogue; else the engine's. No secret is in them.
//
// Thread safety: any thread.
Result<std::unique_ptr<LockDomain>> OpenServiceLocks(const ServiceOptions& options);

// The same as far as no store has to be asked: the catalogue is read; the application is
// registered, proves itself and may use its scope; the stores can be opened here, together, with
// this lease, and can do what is needed.
Status CheckServiceLocks(const ServiceOptions& options);

// How the domain over these stores is opened.
LockOptions ServiceLockOptions(const ServiceLocks& locks);

// What these stores can do, all of them, as far as none has to be asked: the catalogue is read, and
// refuses as above. Precondition: locks.any().
Result<LockCapabilities> ServiceLockCapabilities(const ServiceLocks& locks);

}  // namespace oncemq
