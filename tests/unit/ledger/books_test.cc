// SPDX-License-Identifier: Apache-2.0
#include "books.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "support/temp_dir.h"

namespace ledger::demo {
namespace {

using ::testing::HasSubstr;

constexpr char kDay[] = "2026-11-21";  // closed
constexpr char kNextDay[] = "2026-11-22";

Sent WhatWasSent() {
  return {{"open-a", OpenAccount{"a"}},       {"open-b", OpenAccount{"b"}},
          {"d-1", Move{"outside", "a", 100}}, {"t-1", Move{"a", "b", 60}},
          {"t-2", Move{"a", "b", 500}},       {"r-1", Statement{"a"}}};
}

Books SoundBooks() {
  Books books;
  books.postings["d-1"] = {{"outside", -100, kDay}, {"a", 100, kDay}};
  books.postings["t-1"] = {{"a", -60, kNextDay}, {"b", 60, kNextDay}};
  books.balances = {{"a", 40}, {"b", 60}};
  books.statements = {{"r-1", 1}};
  books.closings = {{kDay, 2}};
  books.refused = {{"t-2", 1}};
  return books;
}

// The text of the first bad finding; empty: all are good.
std::string Fault(const Books& books, const Sent& sent = WhatWasSent()) {
  const std::vector<Finding> findings = Judge(sent, books);
  EXPECT_EQ(findings.size(), 5u);
  const auto bad = std::find_if(findings.begin(), findings.end(),
                                [](const Finding& finding) { return !finding.good; });
  return bad == findings.end() ? "" : bad->text;
}

TEST(LedgerJudge, SoundBooksAreSound) {
  EXPECT_EQ(Fault(SoundBooks()), "");
}

TEST(LedgerJudge, ALostSettlementIsFound) {
  Books books = SoundBooks();
  books.postings.erase("t-1");
  EXPECT_THAT(Fault(books), HasSubstr("1 MISSING"));
  books = SoundBooks();
  books.refused.clear();
  EXPECT_THAT(Fault(books), HasSubstr("1 MISSING"));
}

TEST(LedgerJudge, ADoubledSettlementIsFound) {
  Books books = SoundBooks();
  auto& rows = books.postings["t-1"];
  rows.insert(rows.end(), {rows[0], rows[1]});
  EXPECT_THAT(Fault(books), HasSubstr("1 DOUBLED"));
}

TEST(LedgerJudge, APostingThatIsNotOfItsEventIsFound) {
  Books books = SoundBooks();
  books.postings["t-1"][1].account = "c";
  EXPECT_THAT(Fault(books), HasSubstr("1 WRONG"));
  books = SoundBooks();
  books.postings["t-9"] = {{"a", -1, kDay}, {"b", 1, kDay}};
  EXPECT_THAT(Fault(books), HasSubstr("1 WRONG"));
  books = SoundBooks();
  books.postings["t-1"].pop_back();
  EXPECT_THAT(Fault(books), HasSubstr("is -0.60 EUR"));
}

TEST(LedgerJudge, ABalanceThatIsNotThatOfTheLogIsFound) {
  Books books = SoundBooks();
  books.balances["b"]++;
  EXPECT_THAT(Fault(books), HasSubstr("DIFFER from the log"));
  books = SoundBooks();
  books.balances.erase("b");
  EXPECT_THAT(Fault(books), HasSubstr("DIFFER from the log"));
}

TEST(LedgerJudge, ANegativeBalanceIsFoundThoughTheLogHasIt) {
  Books books = SoundBooks();
  Sent sent = WhatWasSent();
  sent.erase(sent.begin() + 2);
  books.postings.erase("d-1");
  books.closings = {{kDay, 0}};
  books.balances = {{"a", -60}, {"b", 60}};
  EXPECT_THAT(Fault(books, sent), HasSubstr("1 are negative"));
}

TEST(LedgerJudge, AStatementThatIsWrittenTwiceOrNeverIsFound) {
  Books books = SoundBooks();
  books.statements["r-1"] = 2;
  EXPECT_THAT(Fault(books), HasSubstr("0 of 1 statements"));
  books.statements.clear();
  EXPECT_THAT(Fault(books), HasSubstr("0 of 1 statements"));
}

TEST(LedgerJudge, AClosingThatMissesAPostingOrIsNotThereIsFound) {
  Books books = SoundBooks();
  books.postings["t-1"][0].day = kDay;
  EXPECT_THAT(Fault(books), HasSubstr("2 of its 3 postings"));
  books = SoundBooks();
  books.closings.clear();
  EXPECT_THAT(Fault(books), HasSubstr("0 closings"));
}

TEST(LedgerJudge, OneThatWasRefusedBeforeAKillMayBeBookedAfterIt) {
  Books books = SoundBooks();
  books.refused["t-1"] = 1;
  EXPECT_EQ(Fault(books), "");
  EXPECT_THAT(Judge(WhatWasSent(), books)[1].text, HasSubstr("refused before a kill"));
}

class NoRows final : public oncemq::SqlSession {
 public:
  oncemq::SqlDialect dialect() const override { return oncemq::SqlDialect::kPostgres; }
  oncemq::Result<oncemq::SqlAnswer> Run(const oncemq::SqlStatement&) override {
    return oncemq::SqlAnswer{};
  }
};

TEST(LedgerBooks, TheIdsOfTheFilesOfRefusedMessagesAreRead) {
  const oncemq::testing::TempDir dir;
  const std::vector<std::filesystem::path> journals{dir.path() / "1", dir.path() / "missing"};
  std::ofstream(journals[0])
      << R"({"v":1,"entry":1,"topic":"t","partition":0,"offset":7,"id":"s-7","why":"no"})"
      << "\n"
      << R"({"v":1,"entry":2,"topic":"t","partition":0,"offset":9,"id":"s-9","why":"no"})"
      << "\n"
      << R"({"v":1,"entry":3,"topic":"t","partition":0,"offset":9,"id":"s-9","why":"no"})"
      << "\n";
  NoRows session;
  const auto books = ReadBooks(session, journals);
  ASSERT_TRUE(books);
  EXPECT_EQ(books->refused, (std::map<std::string, int>{{"s-7", 1}, {"s-9", 2}}));
}

}  // namespace
}  // namespace ledger::demo
