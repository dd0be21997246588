// SPDX-License-Identifier: Apache-2.0
// A stranger's service whose handler takes names from the store that the service file says.
#include "oncemq/framework/run_service.h"
#include "oncemq/framework/service_locks.h"

oncemq::Outcome OnPayment(const oncemq::Message&, oncemq::Context& context) {
  const auto lease = context.Lock("ledger");
  return lease && *lease ? oncemq::Outcome(oncemq::Done{}) : oncemq::Retry{};
}

int main(int argc, char** argv) {
  return oncemq::RunService(argc, argv, OnPayment, {.open_locks = oncemq::OpenServiceLocks});
}
