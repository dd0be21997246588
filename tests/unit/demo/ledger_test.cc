// SPDX-License-Identifier: Apache-2.0
#include "ledger.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

#include "oncemq/dedup/local_window.h"
#include "support/temp_dir.h"

namespace oncemq::demo {
namespace {

using Balances = std::map<uint32_t, int64_t>;

const Payment kRent{"pay-00001", 12, 33, 1'999, 1};
const Payment kFood{"pay-00002", 12, 7, 250, 2};
const Payment kBack{"pay-00003", 33, 12, 100, 1};

// Two stores, as the windows of a topic make them.
class LedgerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto opened =
        OpenPartitionWindows({.directory = dir_.path().string(), .level = Level::kAtomic}, clock_);
    ASSERT_TRUE(opened);
    windows_ = *std::move(opened);
    for (const int32_t partition : {0, 1}) {
      ASSERT_TRUE(windows_->Open(
          {.source = 0, .partition = partition, .topic = "payments", .owner = "us"}));
      owner_epoch_.at(static_cast<size_t>(partition)) =
          windows_->RaiseOwnerEpoch(0, partition, 1).value_or(0);
    }
  }
  // Each booking is of an id of its own, so that the window lets a double through.
  void BookIn(int32_t partition, const Payment& payment) {
    const std::string id = std::to_string(++ids_);
    const Token token{1, ids_};
    const Coordinates at{0, partition, static_cast<int64_t>(ids_)};
    const ClaimRequest claim{.id = id,
                             .token = token,
                             .at = at,
                             .owner_epoch = owner_epoch_.at(static_cast<size_t>(partition))};
    ClaimAnswer answer;
    ASSERT_TRUE(windows_->Claim({&claim, 1}, {&answer, 1}));
    ASSERT_EQ(answer.answer, ClaimVerdict::kGranted);
    auto effects = windows_->NewEffects(0, partition, {});
    ASSERT_TRUE(effects);
    (*effects)->Begin();
    EXPECT_TRUE(Book(*(*effects)->rows(), {payment, "A", partition, at.offset, 5}));
    EXPECT_TRUE((*effects)->Keep());
    const CompleteRequest complete{.id = id, .token = token, .at = at};
    MarkerChange change{};
    EXPECT_TRUE(windows_->CompleteWith(**effects, {&complete, 1}, {&change, 1}));
    EXPECT_EQ(change, MarkerChange::kMade);
  }
  Ledger Read() {
    windows_.reset();
    auto ledger = ReadLedger(dir_.path() / "payments", 2);
    EXPECT_TRUE(ledger);
    return ledger ? *std::move(ledger) : Ledger{};
  }

  const testing::TempDir dir_;
  ManualClock clock_;
  std::unique_ptr<Window> windows_;
  std::array<OwnerEpoch, 2> owner_epoch_{};
  uint64_t ids_ = 0;
};

TEST_F(LedgerTest, WhatWasBookedIsReadInTheOrderOfEachAccountAndBalancesAddUpOverStores) {
  BookIn(0, kRent);
  BookIn(1, kBack);
  BookIn(0, kFood);
  const Ledger ledger = Read();
  ASSERT_EQ(ledger.postings.size(), 3u);
  EXPECT_EQ(ledger.postings[0].payment, kRent);
  EXPECT_EQ(ledger.postings[1].payment, kFood);
  EXPECT_EQ(ledger.postings[2].payment, kBack);
  EXPECT_EQ(ledger.postings[2].partition, 1);
  EXPECT_EQ(ledger.postings[2].worker, "A");
  EXPECT_EQ(ledger.debits, 2'349);
  EXPECT_EQ(ledger.credits, 2'349);
  EXPECT_EQ(ledger.balances, (Balances{{7, 250}, {12, -2'149}, {33, 1'899}}));
  EXPECT_EQ(ledger.damaged, 0u);
}

TEST_F(LedgerTest, ItIsBlindSoADoubleIsSeen) {
  BookIn(0, kRent);
  BookIn(0, kRent);
  const Ledger ledger = Read();
  EXPECT_EQ(ledger.postings.size(), 2u);
  EXPECT_EQ(ledger.debits, 2 * kRent.cents);
  EXPECT_EQ(ledger.credits, 2 * kRent.cents);
  EXPECT_EQ(ledger.balances, (Balances{{12, -2 * kRent.cents}, {33, 2 * kRent.cents}}));
}

TEST_F(LedgerTest, MoreThanNinePaymentsOfAnAccountKeepTheirOrder) {
  for (uint32_t i = 1; i <= 11; ++i) {
    BookIn(0, {"p", 1, 2, 1, i});
  }
  uint32_t last = 0;
  for (const Posting& posting : Read().postings) {
    EXPECT_EQ(posting.payment.sequence, ++last);
  }
  EXPECT_EQ(last, 11u);
}

TEST_F(LedgerTest, AStoreThatIsMissingIsAnError) {
  windows_.reset();
  EXPECT_FALSE(ReadLedger(dir_.path() / "payments", 3));
}

TEST(Ledger, RowsThatCannotBeReadAreCounted) {
  Ledger ledger;
  AddRow("debit/00001/000000001", "no posting", ledger);
  AddRow("credit/00001/000000001", "7", ledger);
  AddRow("balance/00001", "7", ledger);
  AddRow("other", "7", ledger);
  EXPECT_EQ(ledger.damaged, 4u);
}

TEST(Ledger, ALineOfAPlainLogIsADebitAndACredit) {
  const Ledger ledger =
      LedgerOf({.postings = {{kRent, "A", 0, 0}, {kRent, "B", 0, 0}}, .damaged = 1});
  EXPECT_EQ(ledger.postings.size(), 2u);
  EXPECT_EQ(ledger.debits, 2 * kRent.cents);
  EXPECT_EQ(ledger.credits, 2 * kRent.cents);
  EXPECT_EQ(ledger.balances, (Balances{{12, -2 * kRent.cents}, {33, 2 * kRent.cents}}));
  EXPECT_EQ(ledger.damaged, 1u);
}

}  // namespace
}  // namespace oncemq::demo
