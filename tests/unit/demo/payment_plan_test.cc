// SPDX-License-Identifier: Apache-2.0
#include "payment_plan.h"

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <set>

namespace oncemq::demo {
namespace {

TEST(PaymentPlan, TheSameSeedGivesTheSamePlan) {
  EXPECT_EQ(MakePlan({.seed = 7}).payments, MakePlan({.seed = 7}).payments);
  EXPECT_EQ(MakePlan({.seed = 7}).sends, MakePlan({.seed = 7}).sends);
  EXPECT_NE(MakePlan({.seed = 7}).sends, MakePlan({.seed = 8}).sends);
}

TEST(PaymentPlan, ATenthIsSentTwiceAndNothingThrice) {
  const PaymentPlan plan = MakePlan({});
  EXPECT_EQ(plan.payments.size(), 20'000u);
  EXPECT_EQ(plan.sends.size(), 22'000u);
  std::map<uint32_t, int> times;
  for (const uint32_t index : plan.sends) {
    times[index]++;
  }
  EXPECT_EQ(times.size(), 20'000u);
  for (const auto& [index, count] : times) {
    EXPECT_LE(count, 2) << plan.payments[index].id;
  }
}

TEST(PaymentPlan, CopiesComeAfterTheirOriginalsSomeAtOnceSomeMuchLater) {
  const PaymentPlan plan = MakePlan({});
  std::map<uint32_t, size_t> first;
  int adjacent = 0;
  int late = 0;
  for (size_t at = 0; at < plan.sends.size(); ++at) {
    const auto [original, fresh] = first.emplace(plan.sends[at], at);
    if (!fresh) {
      const size_t distance = at - original->second;
      EXPECT_LE(distance, 700u);  // at most 500 payments, and the copies between them
      adjacent += distance <= 2 ? 1 : 0;
      late += distance >= 300 ? 1 : 0;
    }
  }
  EXPECT_GT(adjacent, 600);
  EXPECT_GT(late, 300);
}

TEST(PaymentPlan, SequencesOfAnAccountCountFromOneInTheOrderOfSending) {
  const PaymentPlan plan = MakePlan({});
  std::map<uint32_t, uint32_t> latest;
  std::set<std::string> ids;
  for (const Payment& payment : plan.payments) {
    EXPECT_EQ(payment.sequence, ++latest[payment.from]);
    EXPECT_NE(payment.from, payment.to);
    EXPECT_GT(payment.cents, 0);
    EXPECT_TRUE(ids.insert(payment.id).second);
  }
  EXPECT_EQ(latest.size(), 97u);
}

TEST(Payment, BytesComeBackAsTheyWere) {
  const Payment payment{"pay-00001", 12, 33, 1'999, 7};
  EXPECT_EQ(DecodePayment(EncodePayment(payment)), payment);
  EXPECT_EQ(DecodePayment("no payment"), std::nullopt);
  EXPECT_EQ(DecodePayment(""), std::nullopt);
}

}  // namespace
}  // namespace oncemq::demo
