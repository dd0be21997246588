// SPDX-License-Identifier: Apache-2.0
#include "oncemq/base/outage.h"

#include <gtest/gtest.h>

#include <set>

namespace oncemq {
namespace {

std::set<Code> CodesWhere(bool (*holds)(const Error&)) {
  std::set<Code> codes;
  for (int code = 0; code <= static_cast<int>(Code::kInternal); code++) {
    if (holds({static_cast<Code>(code), Effect::kNone, "any words"})) {
      codes.insert(static_cast<Code>(code));
    }
  }
  return codes;
}

using Codes = std::set<Code>;

TEST(Outage, ABusyStoreIsNotAway) {
  EXPECT_EQ(CodesWhere(IsSilent), (Codes{Code::kUnavailable, Code::kTimeout}));
  EXPECT_EQ(CodesWhere(IsOutage), (Codes{Code::kUnavailable, Code::kTimeout, Code::kRefused}));
}

TEST(Outage, ABusyStoreIsAskedAgain) {
  Codes codes = CodesWhere(IsOutage);
  codes.insert(Code::kBusy);
  EXPECT_EQ(CodesWhere(IsTransient), codes);
  codes.insert(Code::kFull);
  EXPECT_EQ(CodesWhere(MayPass), codes);
}

TEST(Outage, WhatAPersonHasToMendIsAWrongRequestOrLogin) {
  EXPECT_EQ(CodesWhere(IsMisconfigured), (Codes{Code::kInvalid, Code::kRefused}));
}

}  // namespace
}  // namespace oncemq
