// SPDX-License-Identifier: Apache-2.0
// What will be sent, and in which order: payments between accounts, and copies of some of them, as
// a producer sends them again when an answer got lost. The same seed gives the same plan.
//
// Thread safety: values and a pure function.
#pragma once

#include <cstdint>
#include <vector>

#include "payment.h"

namespace oncemq::demo {

struct PlanOptions {
  uint64_t seed = 1;
  uint32_t payments = 20'000;
  uint32_t accounts = 97;
  uint32_t copy_one_in = 10;  // of so many payments in a row one is sent again, drawn by the seed
  uint32_t farthest = 500;    // a copy comes at most so many payments after its original
};

struct PaymentPlan {
  std::vector<Payment> payments;  // each once
  std::vector<uint32_t> sends;    // indices into `payments`, copies included
};

PaymentPlan MakePlan(const PlanOptions& options);

}  // namespace oncemq::demo
