// SPDX-License-Identifier: Apache-2.0
#include "oncemq/base/connection_listener.h"

#include <gtest/gtest.h>

#include <atomic>

#include "support/eventually.h"

namespace oncemq {
namespace {

using testing::Eventually;
constexpr std::chrono::seconds kSoon{30};

// Hears nothing, until it is hung up.
class FakeConnection {
 public:
  void Hang() { hung_ = true; }
  bool hung() const { return hung_; }

 private:
  std::atomic<bool> hung_{false};
};

struct Counts {
  std::atomic<int> opened{0};
  std::atomic<int> lost{0};
  std::atomic<bool> fails{false};
};

ConnectionListener<FakeConnection>::Calls CallsOf(Counts& counts,
                                                  std::function<bool(FakeConnection&)> listen) {
  return {.area = "test",
          .open = [&counts]() -> Result<std::unique_ptr<FakeConnection>> {
            counts.opened++;
            if (counts.fails) {
              return Error{Code::kUnavailable, Effect::kNone, "nobody is there"};
            }
            return std::make_unique<FakeConnection>();
          },
          .listen = std::move(listen),
          .lost = [&counts] { counts.lost++; }};
}

TEST(ConnectionListener, OpensAnotherLineForEachThatIsLost) {
  Counts counts;
  ConnectionListener<FakeConnection> listener(
      CallsOf(counts, [](FakeConnection&) { return true; }));
  ASSERT_TRUE(listener.Start("test-listener"));
  EXPECT_TRUE(Eventually(kSoon, [&] { return counts.lost >= 3; }));
  EXPECT_GE(counts.opened, 3);
}

TEST(ConnectionListener, TriesAgainWhereNobodyIsAndSaysOfNoLineThatItIsLost) {
  Counts counts;
  counts.fails = true;
  ConnectionListener<FakeConnection> listener(
      CallsOf(counts, [](FakeConnection&) { return true; }));
  ASSERT_TRUE(listener.Start("test-listener"));
  EXPECT_TRUE(Eventually(kSoon, [&] { return counts.opened >= 3; }));
  EXPECT_EQ(counts.lost, 0);
}

TEST(ConnectionListener, ItsEndHangsUpTheLineThatListens) {
  Counts counts;
  std::atomic<bool> listens{false};
  {
    ConnectionListener<FakeConnection> listener(CallsOf(counts, [&](FakeConnection& connection) {
      listens = true;
      return Eventually(kSoon, [&] { return connection.hung(); });
    }));
    ASSERT_TRUE(listener.Start("test-listener"));
    EXPECT_TRUE(Eventually(kSoon, [&] { return listens.load(); }));
  }
  EXPECT_EQ(counts.lost, 1);
  EXPECT_EQ(counts.opened, 1) << "and no other is opened";
}

}  // namespace
}  // namespace oncemq
