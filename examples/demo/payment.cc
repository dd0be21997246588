// SPDX-License-Identifier: Apache-2.0
#include "payment.h"

#include "payment.pb.h"

namespace oncemq::demo {

std::string KeyOf(const Payment& payment) {
  return "account-" + std::to_string(payment.from);
}

std::string EncodePayment(const Payment& payment) {
  wire::Payment message;
  message.set_id(payment.id);
  message.set_account_from(payment.from);
  message.set_account_to(payment.to);
  message.set_cents(payment.cents);
  message.set_sequence(payment.sequence);
  return message.SerializeAsString();
}

std::optional<Payment> DecodePayment(std::string_view bytes) {
  wire::Payment message;
  // A message that was cut between two fields parses too. The last field is never 0, so one that
  // has it is whole.
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())) ||
      message.id().empty() || message.sequence() == 0) {
    return std::nullopt;
  }
  return Payment{message.id(), message.account_from(), message.account_to(), message.cents(),
                 message.sequence()};
}

}  // namespace oncemq::demo
