// SPDX-License-Identifier: Apache-2.0
// HttpServer: answers GET and HEAD on a listening socket, one request a connection.
//
//   auto server = HttpServer::Start(fd, {.answer = [](const std::string& target) {
//     return HttpAnswer{.body = "ok\n", .type = "text/plain"};
//   }});
//
// **Promise:** A slow, silent or hostile client keeps one of `connections` threads for two
// `deadline`s and a command at most. It costs 64 KiB and the answer. The backlog of the system
// holds further clients.
//
// **Thread safety:** Start and the destructor from one thread. `answer` is called from several. The
// destructor ends all conversations at once, and waits for an `answer` that runs.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>

#include "http_answer.h"
#include "oncemq/base/clock.h"
#include "oncemq/base/result.h"

namespace oncemq {

inline constexpr size_t kMostHttpRequest = 64 << 10;

class HttpServer {
 public:
  struct Options {
    // For a client to send its request, and again to take the answer.
    milliseconds deadline{5'000};
    uint32_t connections = 8;
    // Whether a user may ask, on a Unix socket. Empty: each may.
    std::function<bool(uid_t)> may_query = {};
    // `target` as in the request line: "/v1/status".
    std::function<HttpAnswer(const std::string& target)> answer;
  };
  // `listening` is borrowed, blocks, and listens no more afterwards.
  static Result<std::unique_ptr<HttpServer>> Start(int listening, Options options);
  virtual ~HttpServer() = default;
};

// The service's own user, and root.
bool MayQuery(uid_t user, uid_t service);

}  // namespace oncemq
