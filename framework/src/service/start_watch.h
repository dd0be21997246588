// SPDX-License-Identifier: Apache-2.0
// StartWatch answers probes and scrapes at `admin.listen` while a start waits for a store.
//
//   StartWatch watch(options);
//   watch.Waits("the store of the window", error);   // each time
//
// **Promise:** the port is open from the first wait on, until its end. Then the service opens it.
//
// **Failure:** it leaves an unusable port to the service.
//
// **Thread safety:** one thread.
#pragma once

#include <memory>
#include <string>

#include "oncemq/framework/admin.h"
#include "oncemq/framework/service_options.h"

namespace oncemq {

class StartWatch {
 public:
  explicit StartWatch(const ServiceOptions& options);
  ~StartWatch();

  // `window`: it is the store of the window.
  void Waits(const std::string& store, const Error& why, bool window);
  // The port of `admin.listen`, or 0.
  uint16_t port() const { return admin_ == nullptr ? 0 : admin_->port(); }

 private:
  class WaitingRuntime;

  const ServiceOptions& options_;
  const std::unique_ptr<WaitingRuntime> runtime_;
  std::unique_ptr<AdminSocket> admin_;
};

}  // namespace oncemq
