// SPDX-License-Identifier: Apache-2.0
// AdminSocket: an HTTP server on which a running service answers `oncemq status`, Prometheus and
// health probes. docs/formats.md has its paths.
//
//   auto runtime = Runtime::Open(options, window.get(), OnPayment);
//   auto admin = AdminSocket::Open({.socket = "/run/payments/admin.sock", .listen = "9464"},
//                                  {.runtime = runtime->get(), .window = window.get()});
//   (*runtime)->Run(stop);
//
// **Promise:** It changes nothing. On the Unix socket only the service's own user and root may ask.
// A slow, silent or hostile client never holds up the service. Its cost is bounded.
//
// **Failure:** A live service or a file of another kind is never replaced, the socket of a dead
// process is. A killed process leaves its socket to the next one.
//
// **Thread safety:** Open and the destructor from one thread. The destructor waits for a running
// command, for the time of the window to answer.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "oncemq/base/clock.h"
#include "oncemq/base/result.h"
#include "oncemq/framework/runtime.h"

namespace oncemq {

struct AdminOptions {
  // The file of its Unix socket. A relative one is taken from the working directory. Its own
  // directory is made (0700) if it is missing. It must belong to the service's user or root, and
  // others may not write to it, unless it is sticky. Empty for none.
  std::string socket = {};
  // A port of 127.0.0.1, or an address with a port, for /metrics, /livez and /readyz alone. Port 0
  // takes a free one. Empty for none.
  std::string listen = {};
  // Turn it off for thousands of partitions: metrics then are sums and maxima of topics.
  bool metrics_by_partition = true;
  // For a client to send its request, and again to take the answer.
  milliseconds deadline{5'000};
  // At a time, on each of the two. More wait in the system's queue.
  uint32_t connections = 8;
};

// What it answers about. Borrowed: they outlive the socket.
struct AdminSubject {
  const Runtime* runtime = nullptr;
  Window* window = nullptr;  // nullptr: the service has none
  std::string group;
  // What `explain guarantee` shows, as ExplainGuarantee() tells it; empty: the runtime's line.
  std::string guarantee;
  // Gives the text of /metrics, on several threads. Empty where the service has none.
  std::function<std::string()> metrics = {};
  // All that the service reads. Empty: not known.
  std::vector<std::string> topics = {};
};

class AdminSocket {
 public:
  // kInvalid: socket or address cannot be used. kUnavailable: another process answers there.
  static Result<std::unique_ptr<AdminSocket>> Open(const AdminOptions& options,
                                                   AdminSubject subject);
  // Whether Open() could succeed now. Makes the directory of the socket, and nothing else.
  static Status CheckFree(const AdminOptions& options);
  // Ends every conversation and removes the file, if it is still ours.
  virtual ~AdminSocket() = default;

  // The port of `listen`, or 0.
  virtual uint16_t port() const = 0;
};

// Whether a socket can have this name at all: the system's limit is short.
Status CheckAdminSocket(std::string_view path);

struct AdminAddress {
  std::string host;  // in digits
  uint16_t port = 0;
  bool loopback = false;
};
// AdminOptions::listen. kInvalid begins with "is".
Result<AdminAddress> ParseAdminAddress(std::string_view text);
// A warning about the readers of an address beyond this host, or empty.
std::string AdminExposure(const AdminOptions& options);

}  // namespace oncemq
