// SPDX-License-Identifier: Apache-2.0
#include "ledger.h"

#include <cstdio>
#include <string>
#include <utility>

#include "oncemq/base/bytes.h"
#include "oncemq/dedup/local_window.h"

namespace oncemq::demo {
namespace {

constexpr std::string_view kLines = "lines/";
constexpr std::string_view kDebit = "debit/";
constexpr std::string_view kCredit = "credit/";
constexpr std::string_view kBalance = "balance/";

// With zeros in front, so that keys come in the order of numbers.
std::string Key(std::string_view kind, int64_t number, int digits) {
  char text[24];
  std::snprintf(text, sizeof(text), "%0*lld", digits, static_cast<long long>(number));
  return std::string(kind) += text;
}

std::string AccountKey(std::string_view kind, uint32_t account) {
  return Key(kind, account, 5);
}

// Counts one more payment of the account. Messages of one account are handled one after the other,
// so nobody else changes the row between.
Result<int64_t> NextLine(Effects& effects, uint32_t account) {
  const std::string key = AccountKey(kLines, account);
  if (const Status added = effects.Add(key, 1); !added) {
    return added.error();
  }
  const auto row = effects.Get(key);
  if (!row) {
    return row.error();
  }
  return *row ? SumOf(**row).value_or(0) : 0;
}

void AddCredit(std::string_view value, Ledger& ledger) {
  const size_t space = value.find(' ');
  const auto cents =
      space == std::string_view::npos ? std::nullopt : ParseDecimal(value.substr(space + 1));
  if (cents) {
    ledger.credits += *cents;
  } else {
    ledger.damaged++;
  }
}

void AddBalance(std::string_view account, std::string_view value, Ledger& ledger) {
  const auto number = ParseDecimal(account);
  const auto sum = SumOf(value);
  if (number && sum) {
    ledger.balances[static_cast<uint32_t>(*number)] += *sum;
  } else {
    ledger.damaged++;
  }
}

void AddDebit(std::string_view value, Ledger& ledger) {
  auto posting = ParsePosting(value.substr(0, value.find('\n')));
  if (posting) {
    ledger.debits += posting->payment.cents;
    ledger.postings.push_back(*std::move(posting));
  } else {
    ledger.damaged++;
  }
}

}  // namespace

Status Book(Effects& effects, const Posting& posting) {
  const Payment& payment = posting.payment;
  const auto line = NextLine(effects, payment.from);
  if (!line) {
    return line.error();
  }
  const std::string place = AccountKey("", payment.from) + Key("/", *line, 9);
  for (const Status& written :
       {effects.Put(std::string(kDebit) + place, FormatPosting(posting)),
        effects.Put(std::string(kCredit) + place,
                    std::to_string(payment.to) + " " + std::to_string(payment.cents)),
        effects.Add(AccountKey(kBalance, payment.from), -payment.cents),
        effects.Add(AccountKey(kBalance, payment.to), payment.cents)}) {
    if (!written) {
      return written;
    }
  }
  return {};
}

void AddRow(std::string_view key, std::string_view value, Ledger& ledger) {
  if (key.starts_with(kDebit)) {
    AddDebit(value, ledger);
  } else if (key.starts_with(kCredit)) {
    AddCredit(value, ledger);
  } else if (key.starts_with(kBalance)) {
    AddBalance(key.substr(kBalance.size()), value, ledger);
  } else if (!key.starts_with(kLines)) {
    ledger.damaged++;
  }
}

Result<Ledger> ReadLedger(const std::filesystem::path& stores, int partitions) {
  Ledger ledger;
  for (int i = 0; i < partitions; ++i) {
    const Status read = ScanEffects((stores / std::to_string(i)).string(),
                                    [&](std::string_view key, std::string_view value) {
                                      AddRow(key, value, ledger);
                                      return true;
                                    });
    if (!read) {
      return read.error();
    }
  }
  return ledger;
}

Ledger LedgerOf(EffectLogContent content) {
  Ledger ledger;
  ledger.damaged = content.damaged;
  for (const Posting& posting : content.postings) {
    const Payment& payment = posting.payment;
    ledger.debits += payment.cents;
    ledger.credits += payment.cents;
    ledger.balances[payment.from] -= payment.cents;
    ledger.balances[payment.to] += payment.cents;
  }
  ledger.postings = std::move(content.postings);
  return ledger;
}

}  // namespace oncemq::demo
