// SPDX-License-Identifier: Apache-2.0
#include "payment.h"

#include <gtest/gtest.h>

#include <string>

namespace oncemq::demo {
namespace {

const Payment kPayment{"p-17", 3, 300, 12'345, 70'000};

TEST(Payment, ComesBackAsItWas) {
  EXPECT_EQ(DecodePayment(EncodePayment(kPayment)), kPayment);
}

TEST(Payment, CutAnywhereIsNoPayment) {
  const std::string whole = EncodePayment(kPayment);
  for (size_t size = 0; size < whole.size(); size++) {
    EXPECT_FALSE(DecodePayment(whole.substr(0, size))) << size << " of " << whole.size();
  }
}

TEST(Payment, OtherBytesAreNoPayment) {
  for (const std::string& bytes :
       {std::string("garbage"), std::string(100, '\xff'), std::string(3, '\0'),
        std::string("{\"id\":\"p-17\"}"), EncodePayment(kPayment) + '\x07'}) {
    EXPECT_FALSE(DecodePayment(bytes)) << bytes;
  }
}

}  // namespace
}  // namespace oncemq::demo
