// SPDX-License-Identifier: Apache-2.0
// Compares the ledger of scripts/demo failures with the payments that were sent.
//
// Thread safety: a pure function.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ledger.h"
#include "payment.h"
#include "verdict.h"

namespace failures {

struct SentPayments {
  std::vector<oncemq::demo::Payment> payments = {};  // each once
  size_t first_round = 0;                            // of them, sent to the first release
  uint32_t poisoned = 0;                             // the account with the poison
  uint32_t poison = 0;                               // the poison's sequence
};

// Each payment once, in the order of its account, money kept, other accounts not held up.
std::vector<oncemq::demo::Finding> JudgeBooks(const SentPayments& sent,
                                              const oncemq::demo::Ledger& ledger);

}  // namespace failures
