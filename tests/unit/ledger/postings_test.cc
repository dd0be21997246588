// SPDX-License-Identifier: Apache-2.0
#include "postings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace ledger {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string RefusalOf(const Event& event) {
  const auto decoded = Decode(Encode(event));
  if (decoded) {
    return "";
  }
  EXPECT_EQ(decoded.error().code, oncemq::Code::kInvalid);
  return decoded.error().message;
}

std::vector<std::string> Shown(const oncemq::SqlStatement& statement) {
  std::vector<std::string> shown;
  for (const oncemq::SqlValue& value : statement.values) {
    const auto* number = std::get_if<int64_t>(&value);
    shown.push_back(number != nullptr ? std::to_string(*number)
                                      : std::string(std::get<std::string_view>(value)));
  }
  return shown;
}

TEST(LedgerEvents, EachKindComesBackAsItWasSent) {
  const auto opened = Decode(Encode(OpenAccount{"anna"}));
  ASSERT_TRUE(opened);
  EXPECT_EQ(std::get<OpenAccount>(*opened).account, "anna");
  for (const std::string payer : {"ben", "outside"}) {
    const auto moved = Decode(Encode(Move{payer, "anna", 2'500}));
    ASSERT_TRUE(moved) << payer;
    EXPECT_EQ(std::get<Move>(*moved).payer, payer);
    EXPECT_EQ(std::get<Move>(*moved).payee, "anna");
    EXPECT_EQ(std::get<Move>(*moved).cents, 2'500);
  }
  const auto close = Decode(Encode(CloseDay{"2026-11-21"}));
  ASSERT_TRUE(close);
  EXPECT_EQ(std::get<CloseDay>(*close).day, "2026-11-21");
  const auto statement = Decode(Encode(Statement{"anna"}));
  ASSERT_TRUE(statement);
  EXPECT_EQ(std::get<Statement>(*statement).account, "anna");
}

TEST(LedgerEvents, OneThatCannotBeBookedIsRefusedWithTheReason) {
  EXPECT_THAT(RefusalOf(Move{"anna", "anna", 1}), HasSubstr("the same account"));
  EXPECT_THAT(RefusalOf(Move{"anna", "ben", 0}), HasSubstr("more than 0"));
  EXPECT_THAT(RefusalOf(Move{"outside", "ben", -5}), HasSubstr("more than 0"));
  EXPECT_THAT(RefusalOf(Move{"anna", "outside", 1}), HasSubstr("an account has"));
  for (const std::string& name :
       {std::string(), std::string("a/b"), std::string("a b"), std::string(65, 'a'),
        std::string("\0", 1), std::string("outside")}) {
    EXPECT_THAT(RefusalOf(OpenAccount{name}), HasSubstr("an account has")) << name;
    EXPECT_THAT(RefusalOf(Statement{name}), HasSubstr("an account has")) << name;
  }
  for (const std::string day : {"", "2026-1-1", "2026/11/21", "2026-11-21 ", "yesterday!"}) {
    EXPECT_THAT(RefusalOf(CloseDay{day}), HasSubstr("a day is written")) << day;
  }
  EXPECT_FALSE(Decode(""));
  EXPECT_FALSE(Decode("no event"));
  const std::string whole = Encode(Move{"anna", "ben", 2'500});
  for (size_t size = 0; size < whole.size(); size++) {
    EXPECT_FALSE(Decode(std::string_view(whole).substr(0, size))) << "cut at " << size;
  }
}

TEST(LedgerEvents, TheKeyIsTheAccountThatPaysOrIsNamed) {
  EXPECT_EQ(KeyOf(Move{"anna", "ben", 1}), "anna");
  EXPECT_EQ(KeyOf(Move{"outside", "ben", 1}), "ben");
  EXPECT_EQ(KeyOf(OpenAccount{"anna"}), "anna");
  EXPECT_EQ(KeyOf(Statement{"anna"}), "anna");
}

TEST(LedgerPostings, TheirSumIsZero) {
  for (const int64_t cents : {int64_t{1}, std::numeric_limits<int64_t>::max()}) {
    const Move move{"anna", "ben", cents};
    const auto [debit, credit] = PostingsOf(move);
    EXPECT_EQ(debit.account, "anna");
    EXPECT_EQ(credit.account, "ben");
    EXPECT_EQ(debit.cents, -cents);
    EXPECT_EQ(debit.cents + credit.cents, 0);
  }
}

TEST(LedgerStatements, ATransferLocksThePayerFirstAndWritesTwoRows) {
  const Event event = Move{"anna", "ben", 2'500};
  const SqlBooking booking = BookingOf(event, "s-1", 1'000);
  ASSERT_TRUE(booking.before);
  EXPECT_THAT(std::string(booking.before->text), HasSubstr("FOR NO KEY UPDATE"));
  EXPECT_THAT(Shown(*booking.before), ElementsAre("anna"));
  EXPECT_THAT(Shown(booking.book), ElementsAre("s-1", "anna", "ben", "2500", "1000"));
  EXPECT_EQ(booking.rows, 2u);
  EXPECT_EQ(booking.otherwise, "the payer has no account");
}

TEST(LedgerStatements, ADepositLocksNoAccount) {
  const Event event = Move{"outside", "ben", 2'500};
  const SqlBooking booking = BookingOf(event, "s-2", 1'000);
  EXPECT_FALSE(booking.before);
  EXPECT_THAT(Shown(booking.book), ElementsAre("s-2", "ben", "2500", "1000"));
}

TEST(LedgerStatements, AnEventClosesADayAsTheCommandDoes) {
  const Event event = CloseDay{"2026-11-21"};
  const SqlBooking by_event = BookingOf(event, "host/7", 0);
  const SqlBooking by_command = BookingOf(CloseDay{"2026-11-21"}, "host/7");
  ASSERT_TRUE(by_event.before);
  EXPECT_EQ(by_event.before->text, by_command.before->text);
  EXPECT_EQ(by_event.book.text, by_command.book.text);
  EXPECT_EQ(by_event.rows, 0u) << "a day that is closed stays so";
}

}  // namespace
}  // namespace ledger
