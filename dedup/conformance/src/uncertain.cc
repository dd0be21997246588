// SPDX-License-Identifier: Apache-2.0
// The record of uncertain calls (rule 11). It covers a call whoever dies, and outlives the claim.
#include "window_test.h"

namespace oncemq::conformance {
namespace {

class UncertainTest : public WindowTest {
 public:
  using WindowTest::WindowTest;

 protected:
  void Record(std::string_view id, const Coordinates& at, uint32_t attempt = 2) {
    const UncertainCall call{id, at, attempt};
    const Status recorded = window().RecordUncertain({&call, 1});
    ASSERT_TRUE(recorded) << ToString(recorded.error());
  }
  std::vector<UncertainRecord> List(WallTime since = {}) {
    auto records = window().ListUncertain(since);
    EXPECT_TRUE(records) << ToString(records.error());
    return records.value_or(std::vector<UncertainRecord>());
  }
};

}  // namespace

WINDOW_TEST_F(UncertainTest, AtOpaque, AnUncertainCallIsListedWithItsPlaceAndTheHighestAttempt) {
  const std::string id("binary\0id", 9);
  Record(id, {0, 3, 5}, 2);
  Record(id, {0, 3, 5}, 4);
  Record(id, {0, 3, 5}, 3);
  Record("other", {0, 3, 7});
  const std::vector<UncertainRecord> records = List();
  ASSERT_EQ(records.size(), 2u) << "one for each message";
  const auto found = std::find_if(records.begin(), records.end(),
                                  [&](const UncertainRecord& one) { return one.id == id; });
  ASSERT_NE(found, records.end());
  EXPECT_EQ(found->at, (Coordinates{0, 3, 5}));
  EXPECT_EQ(found->attempt, 4u);
  EXPECT_LE(found->first, found->last);
}

WINDOW_TEST_F(UncertainTest, AtOpaque, EachCopyOfAnIdHasARecordAndSoHasAMessageWithoutAnId) {
  Record("x", {0, 3, 5});
  Record("x", {0, 3, 8});
  Record("", {0, 3, 9});
  const std::vector<UncertainRecord> records = List();
  ASSERT_EQ(records.size(), 3u);
  EXPECT_EQ(std::count_if(records.begin(), records.end(),
                          [](const UncertainRecord& one) { return one.id.empty(); }),
            1);
}

WINDOW_TEST_F(UncertainTest, AtOpaque, AFinishedIdStaysMarkedByItsUncertainCall) {
  const Attempt marked = New("marked");
  const Attempt plain = New("plain");
  Claim(marked);
  Claim(plain);
  Record("marked", marked.at);
  Complete(marked);
  Complete(plain);
  EXPECT_EQ(Peek("marked").state, MarkerState::kDone);
  EXPECT_TRUE(Peek("marked").uncertain);
  EXPECT_FALSE(Peek("plain").uncertain);
}

WINDOW_TEST_F(UncertainTest, AtOpaque, NothingIsListedOfBeforeTheTimeThatIsAsked) {
  Record("early", {0, 3, 5});
  const std::vector<UncertainRecord> early = List();
  ASSERT_EQ(early.size(), 1u);
  const WallTime after{early[0].last.micros + 1'000'000};
  EXPECT_TRUE(List(after).empty());
  Advance(milliseconds(2'000));
  Record("late", {0, 3, 6});
  const std::vector<UncertainRecord> late = List(after);
  ASSERT_EQ(late.size(), 1u);
  EXPECT_EQ(late[0].id, "late");
}

WINDOW_TEST_F(UncertainTest, (All<AtOpaque, IfDurable>), TheRecordOutlivesItsProcess) {
  Record("x", {0, 3, 5});
  Reopen();
  ASSERT_EQ(List().size(), 1u);
  EXPECT_EQ(List()[0].id, "x");
}

}  // namespace oncemq::conformance
