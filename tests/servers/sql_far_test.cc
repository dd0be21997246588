// SPDX-License-Identifier: Apache-2.0
// Names that many want, and a client whose messages take longer than those of the others. These
// depend on the speed of the machine, so the gate plays them apart.
#include <atomic>
#include <optional>
#include <thread>
#include <vector>

#include "sql_fixture.h"
#include "support/eventually.h"
#include "support/slow_network.h"
#include "support/tcp_proxy.h"

namespace oncemq::testing {
namespace {

constexpr milliseconds kFarCall{2'000};  // as by default

class SqlFarTest : public SqlTest {
 protected:
  std::unique_ptr<LockDomain> DomainAt(uint16_t port, milliseconds lease) {
    auto domain = LockDomain::Open(OpenLocksAt(port, kFarCall), {.lease = lease});
    EXPECT_TRUE(domain.has_value()) << ToString(domain.error());
    return domain ? *std::move(domain) : nullptr;
  }
  // Ask for the name until the end of the test, over an engine for each of `engines`.
  struct Others {
    size_t engines;
    size_t threads;        // of each engine
    milliseconds give_up;  // so long each waits
    milliseconds hold;
  };
  void Begin(const Others& others) {
    for (size_t i = 0; i < others.engines; i++) {
      near_.push_back(DomainAt(world_->port(), milliseconds(30'000)));
      for (size_t t = 0; t < others.threads; t++) {
        threads_.emplace_back([&domain = *near_.back(), others](const std::stop_token& stop) {
          while (!stop.stop_requested()) {
            const auto lease =
                domain.Acquire("x", {.until = BootNow() + others.give_up, .stop = stop});
            if (lease && *lease) {
              SleepFor(others.hold);
            }
          }
        });
      }
    }
  }
  void TearDown() override {
    for (auto& thread : threads_) {
      thread.request_stop();
    }
    threads_.clear();
    near_.clear();
  }

 private:
  std::vector<std::unique_ptr<LockDomain>> near_;
  std::vector<std::jthread> threads_;
};

TEST_P(SqlFarTest, AskersThatGiveUpEndNoLeaseOfAHolder) {
  SlowNetwork network(world_->port(), milliseconds(1));
  const auto domain = DomainAt(network.port(), milliseconds(3'000));
  auto lease = domain->Acquire("x");
  ASSERT_TRUE(lease.has_value() && lease->has_value());
  Begin({.engines = 2, .threads = 8, .give_up = milliseconds(20), .hold = milliseconds(0)});
  EXPECT_FALSE(Eventually(std::chrono::seconds(10), [&] { return !(*lease)->StillMine(); }))
      << ToString((*lease)->lost());
  EXPECT_EQ((*lease)->Release(), Released::kYes);
}

TEST_P(SqlFarTest, AClientThatIsFurtherAwayHasItsTurn) {
  constexpr int kTurns = 4;
  SlowNetwork network(world_->port(), milliseconds(25));
  const auto domain = DomainAt(network.port(), milliseconds(30'000));
  Begin({.engines = 4, .threads = 1, .give_up = milliseconds(60'000), .hold = milliseconds(50)});
  for (int i = 0; i < kTurns; i++) {
    auto lease = domain->Acquire("x", {.until = BootNow() + std::chrono::seconds(10)});
    ASSERT_TRUE(lease.has_value()) << ToString(lease.error());
    ASSERT_TRUE(lease->has_value()) << "in turn " << i;
    EXPECT_EQ((*lease)->Release(), Released::kYes);
  }
}

TEST_P(SqlFarTest, AnAnswerToARenewalThatIsLostEndsNoLease) {
  TcpProxy network(world_->port());
  const auto domain = DomainAt(network.port(), milliseconds(3'000));
  auto lease = domain->Acquire("x");
  ASSERT_TRUE(lease.has_value() && lease->has_value());
  network.MuteNext();
  ASSERT_TRUE(Eventually(kPatience, [&] { return network.muted() == 1; }));
  EXPECT_FALSE(Eventually(std::chrono::seconds(6), [&] { return !(*lease)->StillMine(); }))
      << ToString((*lease)->lost());
}

INSTANTIATE_TEST_SUITE_P(Sql, SqlFarTest, ::testing::ValuesIn(SqlWorlds()),
                         [](const auto& tested) { return std::string(tested.param.name); });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(SqlFarTest);

}  // namespace
}  // namespace oncemq::testing
