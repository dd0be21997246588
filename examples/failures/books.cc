// SPDX-License-Identifier: Apache-2.0
#include "books.h"

#include <algorithm>
#include <map>
#include <string>

#include "words.h"

namespace failures {
namespace {

using oncemq::demo::Finding;
using oncemq::demo::Grouped;
using oncemq::demo::Ledger;
using oncemq::demo::MoneyOf;
using oncemq::demo::Payment;
using oncemq::demo::Posting;

Finding OfPayments(const SentPayments& sent, const Ledger& ledger) {
  std::map<std::string, int> booked;
  for (const Posting& posting : ledger.postings) {
    booked[posting.payment.id]++;
  }
  const auto missing =
      std::ranges::count_if(sent.payments, [&](const Payment& one) { return !booked[one.id]; });
  const auto again = std::ranges::count_if(booked, [](const auto& one) { return one.second > 1; });
  const bool ok = missing + again == 0 && booked.size() == sent.payments.size();
  return {ok, "each payment once",
          Grouped(static_cast<int64_t>(ledger.postings.size())) + " bookings for " +
              Grouped(static_cast<int64_t>(sent.payments.size())) + " payments, " +
              Grouped(missing) + " missing, " + Grouped(again) + " booked again",
          ""};
}

// The ledger has the postings of an account in their order.
Finding OfOrder(const Ledger& ledger) {
  std::map<uint32_t, uint32_t> last;
  int64_t wrong = 0;
  for (const Posting& posting : ledger.postings) {
    uint32_t& before = last[posting.payment.from];
    wrong += posting.payment.sequence == before + 1 ? 0 : 1;
    before = posting.payment.sequence;
  }
  return {wrong == 0, "order of each account",
          Grouped(static_cast<int64_t>(last.size())) + " accounts, " + Grouped(wrong) +
              " payments out of order",
          ""};
}

Finding OfMoney(const SentPayments& sent, const Ledger& ledger) {
  int64_t cents = 0;
  for (const Payment& payment : sent.payments) {
    cents += payment.cents;
  }
  const bool ok = ledger.debits == cents && ledger.credits == cents && ledger.damaged == 0;
  return {ok, "money",
          "sent " + MoneyOf(cents) + ", debits " + MoneyOf(ledger.debits) + ", credits " +
              MoneyOf(ledger.credits),
          ""};
}

// The first release has booked all it was sent, the poison and its followers excepted.
Finding OfOthers(const SentPayments& sent, const Ledger& ledger) {
  std::map<std::string, std::string> releases;
  for (const Posting& posting : ledger.postings) {
    releases.try_emplace(posting.payment.id, posting.worker);
  }
  int64_t held = 0;
  int64_t others = 0;
  int64_t wrong = 0;
  for (size_t i = 0; i < sent.first_round; i++) {
    const Payment& payment = sent.payments[i];
    const bool parked = payment.from == sent.poisoned && payment.sequence >= sent.poison;
    (parked ? held : others)++;
    wrong += releases[payment.id] == (parked ? "2" : "1") ? 0 : 1;
  }
  return {wrong == 0, "nothing else waited",
          "release 1 booked " + Grouped(others) + " payments while " + Grouped(held) +
              " stood in the park topic; " + Grouped(wrong) + " otherwise",
          ""};
}

}  // namespace

std::vector<Finding> JudgeBooks(const SentPayments& sent, const Ledger& ledger) {
  return {OfPayments(sent, ledger), OfOrder(ledger), OfMoney(sent, ledger), OfOthers(sent, ledger)};
}

}  // namespace failures
