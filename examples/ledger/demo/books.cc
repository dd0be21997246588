// SPDX-License-Identifier: Apache-2.0
#include "books.h"

#include <algorithm>
#include <fstream>

#include "oncemq/base/bytes.h"
#include "words.h"

namespace ledger::demo {
namespace {

using oncemq::demo::Grouped;
using oncemq::demo::MoneyOf;

int64_t NumberOf(const oncemq::SqlCell& cell) {
  return oncemq::ParseDecimal(cell.value_or("")).value_or(0);
}

// The ids of a file of refused messages (docs/formats.md).
void ReadJournal(const std::filesystem::path& path, std::map<std::string, int>& refused) {
  constexpr std::string_view kId = "\"id\":\"";
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const size_t begin = line.find(kId);
    if (begin != std::string::npos) {
      const size_t id = begin + kId.size();
      refused[line.substr(id, line.find('"', id) - id)]++;
    }
  }
}

// The fate of the settlements that were sent.
struct Settled {
  int64_t booked = 0;
  int64_t refused = 0;
  int64_t missing = 0;
  int64_t doubled = 0;
  int64_t wrong = 0;    // postings that are not the event's, or of no event at all
  int64_t changed = 0;  // refused before a kill, and booked after it
  std::map<std::string, int64_t> balances;  // as the log has them

  bool good() const { return missing + doubled + wrong == 0; }
};

bool Fits(const Move& move, const std::vector<Books::Row>& rows) {
  const auto [debit, credit] = PostingsOf(move);
  return rows.size() == 2 && rows[0].account == debit.account && rows[0].cents == debit.cents &&
         rows[1].account == credit.account && rows[1].cents == credit.cents;
}

void Settle(const Move& move, const std::vector<Books::Row>* rows, bool refused, Settled& settled) {
  if (rows == nullptr) {
    (refused ? settled.refused : settled.missing)++;
    return;
  }
  settled.changed += refused ? 1 : 0;
  if (!Fits(move, *rows)) {
    (rows->size() > 2 ? settled.doubled : settled.wrong)++;
    return;
  }
  settled.booked++;
  settled.balances[move.payer] -= move.cents;
  settled.balances[move.payee] += move.cents;
}

Settled SettlementsOf(const Sent& sent, const Books& books) {
  Settled settled;
  int64_t known = 0;
  for (const auto& [id, event] : sent) {
    if (const auto* open = std::get_if<OpenAccount>(&event)) {
      settled.balances.try_emplace(open->account, 0);
    }
    if (const auto* move = std::get_if<Move>(&event)) {
      const auto rows = books.postings.find(id);
      known += rows != books.postings.end() ? 1 : 0;
      Settle(*move, rows == books.postings.end() ? nullptr : &rows->second,
             books.refused.contains(id), settled);
    }
  }
  settled.wrong += static_cast<int64_t>(books.postings.size()) - known;
  settled.balances.erase(std::string(kOutside));
  return settled;
}

Finding OfSum(const Books& books) {
  int64_t sum = 0;
  int64_t rows = 0;
  for (const auto& [id, postings] : books.postings) {
    rows += static_cast<int64_t>(postings.size());
    for (const Books::Row& row : postings) {
      sum += row.cents;
    }
  }
  return {sum == 0 && rows > 0, "the sum of " + Grouped(rows) + " postings is " + MoneyOf(sum)};
}

Finding OfSettlements(const Settled& settled) {
  std::string text = Grouped(settled.booked) + " settlements are booked, each once; " +
                     Grouped(settled.refused) + " are refused, with the reason";
  if (settled.changed > 0) {
    text += "; " + Grouped(settled.changed) + " were refused before a kill and booked after it";
  }
  if (!settled.good()) {
    text += "; " + Grouped(settled.missing) + " MISSING, " + Grouped(settled.doubled) +
            " DOUBLED, " + Grouped(settled.wrong) + " WRONG";
  }
  return {settled.good(), text};
}

Finding OfBalances(const Settled& settled, const Books& books) {
  const auto negative = std::count_if(books.balances.begin(), books.balances.end(),
                                      [](const auto& one) { return one.second < 0; });
  const bool equal = settled.balances == books.balances;
  return {equal && negative == 0, std::to_string(books.balances.size()) + " balances " +
                                      (equal ? "equal the log" : "DIFFER from the log") + "; " +
                                      std::to_string(negative) + " are negative"};
}

Finding OfStatements(const Sent& sent, const Books& books) {
  size_t requests = 0;
  size_t once = 0;
  for (const auto& [id, event] : sent) {
    if (std::holds_alternative<Statement>(event)) {
      const auto written = books.statements.find(id);
      requests++;
      once += written != books.statements.end() && written->second == 1 ? 1 : 0;
    }
  }
  return {once == requests && books.statements.size() == requests,
          std::to_string(once) + " of " + std::to_string(requests) +
              " statements are written once; each was requested three times"};
}

Finding OfClosing(const Books& books) {
  if (books.closings.size() != 1) {
    return {false, "the day has " + std::to_string(books.closings.size()) + " closings, not one"};
  }
  const Books::Closing& closing = books.closings.front();
  int64_t there = 0;
  for (const auto& [id, rows] : books.postings) {
    there += std::count_if(rows.begin(), rows.end(),
                           [&](const Books::Row& row) { return row.day == closing.day; });
  }
  return {there == closing.postings, closing.day + " is closed once, with " +
                                         Grouped(closing.postings) + " of its " + Grouped(there) +
                                         " postings"};
}

}  // namespace

oncemq::Result<Books> ReadBooks(oncemq::SqlSession& session,
                                std::span<const std::filesystem::path> journals) {
  Books books;
  const auto postings = session.Run({"SELECT id, account, cents, day FROM postings ORDER BY n"});
  const auto balances = session.Run({"SELECT name, cents FROM balances"});
  const auto statements = session.Run({"SELECT request, count(*) FROM statements GROUP BY 1"});
  const auto closings = session.Run({"SELECT day, postings FROM closings"});
  for (const auto* answer : {&postings, &balances, &statements, &closings}) {
    if (!*answer) {
      return answer->error();
    }
  }
  for (const oncemq::SqlRow& row : postings->rows) {
    books.postings[row[0].value_or("")].push_back(
        {row[1].value_or(""), NumberOf(row[2]), row[3].value_or("")});
  }
  for (const oncemq::SqlRow& row : balances->rows) {
    books.balances[row[0].value_or("")] = NumberOf(row[1]);
  }
  for (const oncemq::SqlRow& row : statements->rows) {
    books.statements[row[0].value_or("")] = static_cast<int>(NumberOf(row[1]));
  }
  for (const oncemq::SqlRow& row : closings->rows) {
    books.closings.push_back({row[0].value_or(""), NumberOf(row[1])});
  }
  for (const std::filesystem::path& journal : journals) {
    ReadJournal(journal, books.refused);
  }
  return books;
}

std::vector<Finding> Judge(const Sent& sent, const Books& books) {
  const Settled settled = SettlementsOf(sent, books);
  return {OfSum(books), OfSettlements(settled), OfBalances(settled, books),
          OfStatements(sent, books), OfClosing(books)};
}

}  // namespace ledger::demo
