// SPDX-License-Identifier: Apache-2.0
// A whole service: prints each payment once, the payments of one key in order.
//
//   hello -c examples/hello/service.yaml
#include <iostream>

#include "oncemq/framework/run_service.h"

oncemq::Outcome OnPayment(const oncemq::Message& message, oncemq::Context& context) {
  if (!message.value()) {
    return oncemq::Reject{"no payment in it"};
  }
  // Nobody can check a line that was printed: the file says level opaque, which is at least once.
  std::cout << context.id() << ": " << *message.value() << std::endl;
  return oncemq::Done{};
}

int main(int argc, char** argv) {
  return oncemq::RunService(argc, argv, OnPayment);
}
