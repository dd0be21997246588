// SPDX-License-Identifier: Apache-2.0
// A payment, and its bytes on the wire (payment.proto).
//
// Thread safety: values and pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace oncemq::demo {

struct Payment {
  std::string id;
  uint32_t from = 0;  // the account that pays
  uint32_t to = 0;    // the account that receives
  int64_t cents = 0;
  uint32_t sequence = 0;  // counts the payments of `from`, from 1 on
  friend bool operator==(const Payment&, const Payment&) = default;
};

// The message's key: payments of one account stay in order.
std::string KeyOf(const Payment& payment);

std::string EncodePayment(const Payment& payment);

// Nothing: these bytes are no payment.
std::optional<Payment> DecodePayment(std::string_view bytes);

}  // namespace oncemq::demo
