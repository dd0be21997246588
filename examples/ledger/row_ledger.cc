// SPDX-License-Identifier: Apache-2.0
#include "row_ledger.h"

#include <cstdio>
#include <string>

namespace ledger {
namespace {

using oncemq::Effects;
using oncemq::Result;
using oncemq::Status;

std::string Key(std::string_view kind, std::string_view account) {
  return std::string(kind).append("/").append(account);
}

// Watched: where messages of another key change the row at the same time, this run comes again.
Result<int64_t> SumAt(Effects& rows, const std::string& key) {
  const auto row = rows.Watch(key);
  if (!row) {
    return row.error();
  }
  return *row ? oncemq::SumOf(**row).value_or(0) : 0;
}

// "<kind>/<account>/<number>", with zeros so that keys come in the order of numbers.
Result<std::string> NextKey(Effects& rows, std::string_view kind, std::string_view account) {
  const std::string lines = Key("lines", account);
  const auto used = SumAt(rows, lines);
  if (!used) {
    return used.error();
  }
  if (const Status counted = rows.Add(lines, 1); !counted) {
    return counted.error();
  }
  char number[24];
  std::snprintf(number, sizeof(number), "/%09lld", static_cast<long long>(*used + 1));
  return Key(kind, account).append(number);
}

Status BookRow(Effects& rows, const OpenAccount& open, std::string_view) {
  return rows.Put(Key("account", open.account), "");
}

Status BookRow(Effects& rows, const Move& move, std::string_view id) {
  if (move.payer != kOutside) {
    const auto balance = SumAt(rows, Key("balance", move.payer));
    if (!balance) {
      return balance.error();
    }
    if (*balance < move.cents) {
      return Refusal("the balance of the payer would be negative");
    }
  }
  const auto key = NextKey(rows, "posting", KeyOf(move));
  if (!key) {
    return key.error();
  }
  int side = 0;
  for (const Posting& posting : PostingsOf(move)) {
    const std::string line =
        std::string(id).append(" ").append(posting.account) + " " + std::to_string(posting.cents);
    if (const Status put = rows.Put(*key + "/" + std::to_string(side++), line); !put) {
      return put;
    }
    if (const Status added = rows.Add(Key("balance", posting.account), posting.cents); !added) {
      return added;
    }
  }
  return {};
}

Status BookRow(Effects&, const CloseDay&, std::string_view) {
  return Refusal("in RocksDB each partition has a ledger of its own, and no day is closed");
}

Status BookRow(Effects& rows, const Statement& statement, std::string_view id) {
  const auto balance = SumAt(rows, Key("balance", statement.account));
  const auto key = balance ? NextKey(rows, "statement", statement.account)
                           : Result<std::string>(balance.error());
  if (!key) {
    return key.error();
  }
  return rows.Put(*key, std::string(id).append(" ") + std::to_string(*balance));
}

}  // namespace

Status BookRows(Effects& rows, const Event& event, std::string_view id) {
  return std::visit([&](const auto& one) { return BookRow(rows, one, id); }, event);
}

}  // namespace ledger
