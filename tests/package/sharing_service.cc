// SPDX-License-Identifier: Apache-2.0
// A stranger's service that shares its window with the other members of its group.
#include "oncemq/framework/run_service.h"
#ifdef SHARES_IN_REDIS
#include "oncemq/framework/service_redis.h"
constexpr auto kOpener = oncemq::OpenRedisServiceWindow;
#else
#include "oncemq/framework/service_postgres.h"
constexpr auto kOpener = oncemq::OpenPostgresServiceWindow;
#endif

oncemq::Outcome OnPayment(const oncemq::Message&, oncemq::Context&) {
  return oncemq::Done{};
}

int main(int argc, char** argv) {
  return oncemq::RunService(argc, argv, OnPayment, {.open_window = kOpener});
}
