// SPDX-License-Identifier: Apache-2.0
#include <stop_token>

#include "message_locks.h"
#include "oncemq/base/mutant.h"
#include "oncemq/framework/handler.h"

namespace oncemq {
namespace {

// A handler waits no longer than it may run, whatever else is to end its wait.
class EitherStop {
 public:
  EitherStop(const std::stop_token& one, const std::stop_token& other)
      : on_one_(one, Request{both_}), on_other_(other, Request{both_}) {}
  EitherStop(const EitherStop&) = delete;
  EitherStop& operator=(const EitherStop&) = delete;

  std::stop_token token() const { return both_.get_token(); }

 private:
  struct Request {
    std::stop_source& stop;
    void operator()() const { stop.request_stop(); }
  };

  std::stop_source both_;
  std::stop_callback<Request> on_one_;
  std::stop_callback<Request> on_other_;
};

const Error kNoLocks{Code::kInvalid, Effect::kNone, "this call of the handler has no locks"};

}  // namespace

Result<const Lease*> Context::Lock(std::string_view name, AcquireOptions how) {
  if (locks_ == nullptr) {
    return kNoLocks;
  }
  const EitherStop stop(stop_, how.stop);
  how.stop = ONCEMQ_MUTANT("handler-waits-past-its-stop") ? how.stop : stop.token();
  return locks_->Take(name, how);
}

Result<std::vector<const Lease*>> Context::LockAll(std::span<const std::string> names,
                                                   AcquireOptions how) {
  if (locks_ == nullptr) {
    return kNoLocks;
  }
  const EitherStop stop(stop_, how.stop);
  how.stop = stop.token();
  return locks_->TakeAll(names, how);
}

}  // namespace oncemq
