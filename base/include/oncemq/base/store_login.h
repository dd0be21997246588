// SPDX-License-Identifier: Apache-2.0
// StoreLogin: how this process logs in to one server. Servers lock an account after a few refused
// logins, so a refused one is not repeated at the pace of the calls.
//
//   const auto login = StoreLogin::Of(endpoint);
//   auto connection = login->Enter(endpoint, until, [&](const auto& as) { return Connect(as); });
//
// **Promise:** After a refusal (Code::kRefused) the next login follows after 1 s, then 2 s, 4 s, at
// most 30 s. Calls in between get the same refusal without a connection. While one login is under
// way the others wait for its outcome, so a whole pool costs one refusal. After a refusal, then
// once a second, user and password are read again. New ones are tried at once.
//
// **Failure:** the one of `open`; kTimeout where another login is under way until then.
//
// **Thread safety:** any thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "oncemq/base/address.h"
#include "oncemq/base/clock.h"
#include "oncemq/base/mutex.h"
#include "oncemq/base/result.h"

namespace oncemq {

class StoreLogin {
 public:
  // The process has one for each server, user and password. An endpoint has the members `user`,
  // `password` and `read_login`, and ToString(), which leaves out the first two.
  template <class Endpoint>
  static std::shared_ptr<StoreLogin> Of(const Endpoint& endpoint) {
    return Of(ToString(endpoint), {endpoint.user, endpoint.password}, endpoint.read_login);
  }
  // "<server> refuses the login: <why>", of each login that is refused and was wanted lately.
  static std::vector<std::string> Refusals();

  StoreLogin(std::string server, UserAndPassword who, ReadLogin read_again,
             const Clock& clock = SystemClock::Instance())
      : server_(std::move(server)),
        first_(std::move(who)),
        clock_(clock),
        who_(first_),
        read_again_(std::move(read_again)) {}
  StoreLogin(const StoreLogin&) = delete;
  StoreLogin& operator=(const StoreLogin&) = delete;

  // `open` is given the endpoint with the user and password in force. It returns a Result.
  template <class Endpoint, class Open>
  auto Enter(Endpoint endpoint, BootTime until, const Open& open) -> decltype(open(endpoint)) {
    Attempt attempt;
    if (auto refusal = Begin(until, attempt)) {
      return *std::move(refusal);
    }
    for (;;) {
      endpoint.user = attempt.who.user;
      endpoint.password = attempt.who.password;
      auto connection = open(endpoint);
      if (!TriesAgain(attempt, connection ? nullptr : &connection.error())) {
        return connection;
      }
    }
  }
  // Nothing: the server lets us in, or nobody has asked for a minute.
  std::optional<std::string> Refusal();

 private:
  struct Attempt {
    UserAndPassword who;
    bool finds = false;  // the others wait for its outcome
  };

  static std::shared_ptr<StoreLogin> Of(const std::string& server, const UserAndPassword& who,
                                        const ReadLogin& read_again);
  std::optional<Error> Begin(BootTime until, Attempt& attempt);
  // After an attempt. True: with the user and password that were read again.
  bool TriesAgain(Attempt& attempt, const Error* failure);
  bool MayRead(BootTime now) const REQUIRES(mutex_);
  bool ReadsOthers() REQUIRES(mutex_);
  void Refuse(const Error& why) REQUIRES(mutex_);
  void StopFinding() REQUIRES(mutex_);

  const std::string server_;
  const UserAndPassword first_;
  const Clock& clock_;
  Mutex mutex_;
  ConditionVariable changed_;
  UserAndPassword who_ GUARDED_BY(mutex_);
  ReadLogin read_again_ GUARDED_BY(mutex_);
  std::optional<BootTime> read_at_ GUARDED_BY(mutex_);
  bool finding_ GUARDED_BY(mutex_) = false;
  std::optional<Error> refusal_ GUARDED_BY(mutex_);  // of who_
  microseconds pause_ GUARDED_BY(mutex_){0};
  BootTime next_ GUARDED_BY(mutex_){};
  BootTime wanted_at_ GUARDED_BY(mutex_){};
};

// What `parse` makes of an address. With `read` its user and password can be read again; the rest
// must stay as it is.
template <class Endpoint>
Result<Endpoint> ParseReadable(std::string_view address, ReadAddress read,
                               Result<Endpoint> (*parse)(std::string_view)) {
  auto endpoint = parse(address);
  if (!endpoint || !read) {
    return endpoint;
  }
  endpoint->read_login = [read = std::move(read), parse,
                          server = ToString(*endpoint)]() -> Result<UserAndPassword> {
    const auto text = read();
    if (!text) {
      return text.error();
    }
    const auto now = parse(*text);
    if (!now) {
      return now.error();
    }
    if (ToString(*now) != server) {
      return Error{Code::kInvalid, Effect::kNone,
                   "the address names another server now, " + ToString(*now) +
                       "; start again to change servers"};
    }
    return UserAndPassword{now->user, now->password};
  };
  return endpoint;
}

}  // namespace oncemq
