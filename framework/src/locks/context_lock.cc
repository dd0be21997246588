// SPDX-License-Identifier: Apache-2.0
#include "message_locks.h"
#include "oncemq/base/either_stop.h"
#include "oncemq/framework/handler.h"

namespace oncemq {
namespace {

const Error kNoLocks{Code::kInvalid, Effect::kNone, "this call of the handler has no locks"};

}  // namespace

Result<Granted<const Lease&>> Context::Lock(std::string_view name, AcquireOptions how) {
  if (locks_ == nullptr) {
    return kNoLocks;
  }
  const EitherStop stop(stop_, how.stop);  // it waits no longer than it may run
  how.stop = stop.token();
  return locks_->Take(name, how);
}

Result<Granted<std::vector<const Lease*>>> Context::LockAll(std::span<const std::string> names,
                                                            AcquireOptions how) {
  if (locks_ == nullptr) {
    return kNoLocks;
  }
  const EitherStop stop(stop_, how.stop);
  how.stop = stop.token();
  return locks_->TakeAll(names, how);
}

}  // namespace oncemq
