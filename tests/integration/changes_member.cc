// SPDX-License-Identifier: Apache-2.0
// A service as users write it, for the matrix of changes: changes_member -c FILE
// Its handler appends "<topic> <id>" to the file that ONCEMQ_LEDGER names, and asks nobody whether
// it is there: the window alone decides.
#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "oncemq/framework/run_service.h"
#include "oncemq/framework/service_options.h"
#include "oncemq/framework/service_postgres.h"
#include "oncemq/framework/service_redis.h"

namespace {

oncemq::Outcome Append(const oncemq::Message& message, oncemq::Context& context) {
  static const int ledger =
      ::open(std::getenv("ONCEMQ_LEDGER"), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  const std::string line = std::string(message.topic()) + " " + std::string(context.id()) + "\n";
  const ssize_t written = ::write(ledger, line.data(), line.size());
  return written == static_cast<ssize_t>(line.size()) ? oncemq::Outcome(oncemq::Done{})
                                                      : oncemq::Outcome(oncemq::Retry{});
}

oncemq::Result<std::unique_ptr<oncemq::Window>> OpenWindow(const oncemq::ServiceOptions& options) {
  // The other engines are opened by either.
  return options.engine == oncemq::ServiceOptions::Engine::kRedis
             ? oncemq::OpenRedisServiceWindow(options)
             : oncemq::OpenPostgresServiceWindow(options);
}

}  // namespace

int main(int argc, char** argv) {
  return oncemq::RunService(argc, argv, Append, {.open_window = OpenWindow});
}
