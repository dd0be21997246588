// SPDX-License-Identifier: Apache-2.0
// A stranger's service that shares its window with the other members of its group.
#include "oncemq/framework/run_service.h"
#include "oncemq/framework/service_postgres.h"

oncemq::Outcome OnPayment(const oncemq::Message&, oncemq::Context&) {
  return oncemq::Done{};
}

int main(int argc, char** argv) {
  return oncemq::RunService(argc, argv, OnPayment,
                            {.open_window = oncemq::OpenPostgresServiceWindow});
}
