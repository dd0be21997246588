// SPDX-License-Identifier: Apache-2.0
#include "message_locks.h"
#include "oncemq/framework/handler.h"

namespace oncemq {
namespace {

// A handler waits no longer than it may run.
AcquireOptions Until(const std::stop_token& stop, AcquireOptions how) {
  if (!how.stop.stop_possible()) {
    how.stop = stop;
  }
  return how;
}

const Error kNoLocks{Code::kInvalid, Effect::kNone, "this call of the handler has no locks"};

}  // namespace

Result<const Lease*> Context::Lock(std::string_view name, AcquireOptions how) {
  return locks_ == nullptr ? kNoLocks : locks_->Take(name, Until(stop_, std::move(how)));
}

Result<std::vector<const Lease*>> Context::LockAll(std::span<const std::string> names,
                                                   AcquireOptions how) {
  if (locks_ == nullptr) {
    return kNoLocks;
  }
  return locks_->TakeAll(names, Until(stop_, std::move(how)));
}

}  // namespace oncemq
