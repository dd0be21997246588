// SPDX-License-Identifier: Apache-2.0
#include "row_ledger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace ledger {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class RowsInMemory final : public oncemq::Effects {
 public:
  oncemq::Result<std::optional<std::string>> Get(std::string_view key) override {
    const auto row = rows_.find(key);
    if (row != rows_.end()) {
      return std::optional(row->second);
    }
    const auto sum = sums_.find(key);
    return sum == sums_.end() ? std::nullopt : std::optional(Bytes(sum->second));
  }
  oncemq::Result<std::optional<std::string>> Watch(std::string_view key) override {
    return Get(key);
  }
  oncemq::Status Put(std::string_view key, std::string_view value) override {
    EXPECT_TRUE(rows_.emplace(key, value).second) << key << " is written over";
    return {};
  }
  oncemq::Status Delete(std::string_view) override { return {}; }
  oncemq::Status Add(std::string_view key, int64_t delta) override {
    sums_[std::string(key)] += delta;
    return {};
  }
  int64_t Balance(const std::string& account) const {
    const auto sum = sums_.find("balance/" + account);
    return sum == sums_.end() ? 0 : sum->second;
  }
  const auto& rows() const { return rows_; }

 private:
  static std::string Bytes(int64_t sum) {
    std::string bytes;
    for (int i = 0; i < 8; i++) {
      bytes.push_back(static_cast<char>(static_cast<uint64_t>(sum) >> 8 * i));
    }
    return bytes;
  }

  std::map<std::string, std::string, std::less<>> rows_;
  std::map<std::string, int64_t, std::less<>> sums_;
};

class RowLedger : public ::testing::Test {
 protected:
  std::string Refused(const Event& event, std::string_view id) {
    const oncemq::Status booked = BookRows(rows_, event, id);
    return booked ? "" : booked.error().message;
  }
  void Book(const Event& event, std::string_view id) { EXPECT_EQ(Refused(event, id), ""); }

  RowsInMemory rows_;
};

TEST_F(RowLedger, ATransferIsTwoRowsAndTwoBalances) {
  Book(Move{"outside", "anna", 100}, "d-1");
  Book(Move{"anna", "ben", 60}, "t-1");
  EXPECT_EQ(rows_.Balance("outside"), -100);
  EXPECT_EQ(rows_.Balance("anna"), 40);
  EXPECT_EQ(rows_.Balance("ben"), 60);
  EXPECT_THAT(rows_.rows(), ElementsAre(std::pair("posting/anna/000000001/0", "d-1 outside -100"),
                                        std::pair("posting/anna/000000001/1", "d-1 anna 100"),
                                        std::pair("posting/anna/000000002/0", "t-1 anna -60"),
                                        std::pair("posting/anna/000000002/1", "t-1 ben 60")));
}

TEST_F(RowLedger, ABalanceThatWouldBeNegativeIsRefusedAndNothingIsWritten) {
  Book(Move{"outside", "anna", 100}, "d-1");
  const auto before = rows_.rows();
  EXPECT_THAT(Refused(Move{"anna", "ben", 101}, "t-1"), HasSubstr("negative"));
  EXPECT_EQ(rows_.rows(), before);
  Book(Move{"anna", "ben", 100}, "t-2");
  EXPECT_EQ(rows_.Balance("anna"), 0);
}

// So a test that counts rows sees a copy that was let through.
TEST_F(RowLedger, WhatIsBookedTwiceStandsThereTwice) {
  Book(Move{"outside", "anna", 100}, "d-1");
  Book(Move{"outside", "anna", 100}, "d-1");
  Book(Statement{"anna"}, "s-1");
  Book(Statement{"anna"}, "s-1");
  EXPECT_EQ(rows_.rows().size(), 6u);
  EXPECT_EQ(rows_.rows().at("statement/anna/000000003"), "s-1 200");
}

TEST_F(RowLedger, ADayIsClosedInPostgreSqlOnly) {
  EXPECT_THAT(Refused(CloseDay{"2026-11-21"}, "c-1"), HasSubstr("no day is closed"));
  EXPECT_THAT(rows_.rows(), IsEmpty());
}

}  // namespace
}  // namespace ledger
