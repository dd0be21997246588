// SPDX-License-Identifier: Apache-2.0
// MemcachedConnection: one connection, and the bytes that came over it. After an Error it is of no
// use any more.
//
// Thread safety: one thread at a time.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "oncemq/base/clock.h"
#include "oncemq/base/result.h"
#include "oncemq/clients/memcached_endpoint.h"

namespace oncemq {

class MemcachedConnection {
 public:
  // Looking up the name of the host is the system's, and bounded by it alone.
  static Result<std::unique_ptr<MemcachedConnection>> Open(const MemcachedEndpoint& endpoint,
                                                           BootTime until);
  ~MemcachedConnection();
  MemcachedConnection(const MemcachedConnection&) = delete;
  MemcachedConnection& operator=(const MemcachedConnection&) = delete;

  // False: the server has hung up, or said something that nobody asked for.
  bool Fresh() const;
  // kNone if nothing of it went out.
  Status Send(std::string_view bytes, BootTime until);
  // Up to the end of a line, without it. Effect::kUnknown on failure, as below.
  Result<std::string> Line(BootTime until);
  // So many bytes, and the end of a line behind them.
  Result<std::string> Block(size_t length, BootTime until);
  // To be closed without a trace: what the system has not sent yet is not sent later.
  void Abandon();

 private:
  explicit MemcachedConnection(int fd) : fd_(fd) {}
  Status Read(BootTime until);

  const int fd_;
  std::string read_;
};

}  // namespace oncemq
