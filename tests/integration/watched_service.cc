// SPDX-License-Identifier: Apache-2.0
// A service that is watched: watched_service -c FILE
// The value of a message says how it is handled: "poison" fails as long as ONCEMQ_POISON is a file,
// "slow" takes 20 ms, "flaky" fails once, "refused" is refused. At the level atomic its effect is a
// row of `effects`, which nothing makes unique.
#include <cstdlib>
#include <filesystem>
#include <string>

#include "oncemq/base/clock.h"
#include "oncemq/dedup/sql_effects.h"
#include "oncemq/framework/run_service.h"
#include "oncemq/framework/service_options.h"
#include "oncemq/framework/service_postgres.h"
#include "oncemq/framework/service_redis.h"

namespace oncemq::testing {
namespace {

Outcome OnMessage(const Message& message, Context& context) {
  const std::string_view value = message.value().value_or("");
  if (value == "poison" && std::filesystem::exists(std::getenv("ONCEMQ_POISON"))) {
    return Retry{.why = "the ledger is closed"};
  }
  if (value == "flaky" && context.attempt() == 1) {
    return Retry{.why = "the ledger is busy"};
  }
  if (value == "refused") {
    return Reject{"not a payment"};
  }
  if (value == "slow") {
    SleepFor(milliseconds(20));
  }
  if (context.sql() == nullptr) {
    return Done{};
  }
  const SqlStatement append{"INSERT INTO effects (id) VALUES ($1)",
                            {int64_t{std::stoll(std::string(context.id()))}}};
  return context.sql()->Add(append) ? Outcome(Done{}) : Outcome(Retry{});
}

Result<std::unique_ptr<Window>> OpenWindow(const ServiceOptions& options) {
  return std::getenv("ONCEMQ_IN_REDIS") != nullptr ? OpenRedisServiceWindow(options)
                                                   : OpenPostgresServiceWindow(options);
}

}  // namespace
}  // namespace oncemq::testing

int main(int argc, char** argv) {
  return oncemq::RunService(argc, argv, oncemq::testing::OnMessage,
                            {.open_window = oncemq::testing::OpenWindow});
}
