// SPDX-License-Identifier: Apache-2.0
// A ledger of payments. A payment to an account that this release does not know is tried four
// times, then parked with the later payments of its payer. scripts/demo failures runs it.
//
//   RELEASE=1 LAST_ACCOUNT=9 failures -c examples/failures/service.yaml
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>

#include "ledger.h"
#include "oncemq/base/bytes.h"
#include "oncemq/framework/run_service.h"
#include "payment.h"

namespace {

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string release = Variable("RELEASE");
  const int64_t last_account = oncemq::ParseDecimal(Variable("LAST_ACCOUNT")).value_or(0);
  const auto on_payment = [&](const oncemq::Message& message,
                              oncemq::Context& context) -> oncemq::Outcome {
    const auto payment = oncemq::demo::DecodePayment(message.value().value_or(""));
    if (!payment) {
      return oncemq::Reject{"not a payment"};
    }
    if (payment->to > last_account) {
      return oncemq::Retry{.why = "account " + std::to_string(payment->to) + " is not known"};
    }
    const oncemq::Status booked =
        oncemq::demo::Book(*context.effects(), {.payment = *payment,
                                                .worker = release,
                                                .partition = message.partition(),
                                                .offset = message.offset()});
    return booked ? oncemq::Outcome(oncemq::Done{}) : oncemq::Retry{.why = booked.error().message};
  };
  return oncemq::RunService(argc, argv, on_payment);
}
