// SPDX-License-Identifier: Apache-2.0
// A gate and a lock domain without Kafka, for Prometheus.
#include <gmock/gmock.h>

#include "oncemq/gate/gate_metrics.h"
#include "oncemq/locks/lock_domain.h"
#include "oncemq/locks/lock_metrics.h"
#include "oncemq/locks/memory_locks.h"
#include "support/eventually.h"
#include "support/promtool.h"

namespace oncemq::testing {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;

TEST(GateMetrics, EachCountHasItsSample) {
  GateCounts counts;
  counts.permitted = 3;
  counts.in_progress = 2;
  counts.unprotected = 1;
  counts.possible_losses = 4;
  MetricsWriter writer;
  WriteGateMetrics(counts, "orders", writer);
  WriteGateMetrics({}, "refunds", writer);
  const std::string text = writer.Text();
  EXPECT_THAT(text, HasSubstr("answers_total{gate=\"orders\",answer=\"permitted\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("answers_total{gate=\"orders\",answer=\"in_progress\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("answers_total{gate=\"refunds\",answer=\"permitted\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("oncemq_gate_unprotected_total{gate=\"orders\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("losses_total{gate=\"orders\",kind=\"possible\"} 4\n"));
  for (const MetricDef& metric : GateMetrics()) {
    EXPECT_THAT(text, HasSubstr("# TYPE " + std::string(metric.name) + " "));
  }
}

TEST(LockMetrics, ADomainCountsItsGrantsRefusalsAndLosses) {
  const auto domain = LockDomain::Open(MakeMemoryLocks());
  ASSERT_TRUE(domain);
  {
    const auto lease = (*domain)->Acquire("a");
    ASSERT_TRUE(lease && *lease);
    EXPECT_FALSE(*(*domain)->TryAcquire("a"));
    EXPECT_FALSE(*(*domain)->TryAcquire("a"));
    const auto brief = (*domain)->Acquire("b", {.max_hold = milliseconds(1)});
    ASSERT_TRUE(brief);
    EXPECT_TRUE(Eventually(seconds(5), [&] {
      return (*domain)->counts().lost[static_cast<size_t>(LeaseLoss::kTooLong)] == 1;
    }));
  }
  const LockCounts counts = (*domain)->counts();
  EXPECT_GE(counts.granted, 2U);
  EXPECT_EQ(counts.not_granted, 2U);
  EXPECT_EQ(counts.failed, 0U);
  MetricsWriter writer;
  WriteLockMetrics(counts, "accounts", writer);
  const std::string text = writer.Text();
  EXPECT_THAT(text, HasSubstr("requests_total{domain=\"accounts\",answer=\"not_granted\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("losses_total{domain=\"accounts\",why=\"too_long\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("oncemq_lock_wait_seconds_count{domain=\"accounts\"} "));
  for (const MetricDef& metric : LockMetrics()) {
    EXPECT_THAT(text, HasSubstr("# TYPE " + std::string(metric.name) + " "));
  }
}

TEST(LockMetrics, PrometheusTakesTheText) {
  ONCEMQ_REQUIRE_PROMTOOL();
  MetricsWriter writer;
  WriteGateMetrics({}, "orders", writer);
  WriteLockMetrics({}, "accounts", writer);
  EXPECT_EQ(PromtoolCheckMetrics(writer.Text()), "");
}

}  // namespace
}  // namespace oncemq::testing
