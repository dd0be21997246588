// SPDX-License-Identifier: Apache-2.0
#include "effect_log.h"

#include <gtest/gtest.h>

#include <fstream>

#include "support/temp_dir.h"

namespace oncemq::demo {
namespace {

const Posting kPosting{{"pay-00042", 12, 33, 1'999, 7}, "A", 2, 1'841, 5'021};

TEST(EffectLog, ALineComesBackAsItWas) {
  const std::string line = FormatPosting(kPosting);
  EXPECT_EQ(line, "pay-00042 12 33 7 1999 A 2 1841 5021\n");
  const auto posting = ParsePosting(std::string_view(line).substr(0, line.size() - 1));
  ASSERT_TRUE(posting);
  EXPECT_EQ(posting->payment, kPosting.payment);
  EXPECT_EQ(posting->worker, "A");
  EXPECT_EQ(posting->partition, 2);
  EXPECT_EQ(posting->offset, 1'841);
  EXPECT_EQ(posting->at_ms, 5'021);
}

TEST(EffectLog, APartOfALineIsNoPosting) {
  EXPECT_FALSE(ParsePosting("pay-00042 12 33 7 1999 A 2 1841"));
  EXPECT_FALSE(ParsePosting("pay-00042 12 33 7 1999 A 2 1841 "));
  EXPECT_FALSE(ParsePosting("pay-00042 12 33 7 1999 A 2 1841 5021 9"));
  EXPECT_FALSE(ParsePosting("pay-00042 -12 33 7 1999 A 2 1841 5021"));
  EXPECT_FALSE(ParsePosting(" 12 33 7 1999 A 2 1841 5021"));
  EXPECT_FALSE(ParsePosting(""));
}

TEST(EffectLog, WhatTwoWritersAppendIsAllThereAndDamageIsCounted) {
  const oncemq::testing::TempDir dir;
  const auto path = dir.path() / "effects.log";
  auto a = EffectLog::Open(path);
  auto b = EffectLog::Open(path);
  ASSERT_TRUE(a && b);
  EXPECT_TRUE(a->Append(kPosting));
  EXPECT_TRUE(b->Append(kPosting));
  std::ofstream(path, std::ios::app) << "torn\npay-00043 12 33";
  const EffectLogContent content = ReadEffectLog(path);
  EXPECT_EQ(content.postings.size(), 2u);
  EXPECT_EQ(content.damaged, 2u);
}

TEST(EffectLog, AFileThatIsNotThereHoldsNothing) {
  EXPECT_TRUE(ReadEffectLog("/nowhere/effects.log").postings.empty());
}

}  // namespace
}  // namespace oncemq::demo
