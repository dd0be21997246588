// SPDX-License-Identifier: Apache-2.0
// The ledger: what a payment writes into the store of its partition, in one batch with the marker
// of its id; and what can be read there when the work is over.
//
// The rows are blind: booking a payment twice makes two debits, two credits and moves both balances
// twice. Nothing here looks for a copy.
//
//   lines/<payer>             how many payments this account has made
//   debit/<payer>/<number>    the posting, as a line of effect_log.h
//   credit/<payer>/<number>   "<receiver> <cents>"
//   balance/<account>         a sum; an account has one in each partition's store
//
// Thread safety: Book belongs to the handler's call; the rest are values and functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string_view>
#include <vector>

#include "effect_log.h"
#include "oncemq/base/result.h"
#include "oncemq/dedup/effects.h"

namespace oncemq::demo {

// As Effects fails, with nothing booked.
Status Book(Effects& effects, const Posting& posting);

struct Ledger {
  std::vector<Posting> postings;  // debits; those of one account in their order
  size_t damaged = 0;             // rows that can't be read
  int64_t debits = 0;             // cents
  int64_t credits = 0;
  std::map<uint32_t, int64_t> balances;  // of all stores together
};

// Takes one row of a store.
void AddRow(std::string_view key, std::string_view value, Ledger& ledger);

// All stores of a topic. Errors: as ScanEffects.
Result<Ledger> ReadLedger(const std::filesystem::path& stores, int partitions);

// The same of a plain log: each line is a debit and a credit.
Ledger LedgerOf(EffectLogContent content);

}  // namespace oncemq::demo
