// SPDX-License-Identifier: Apache-2.0
// Readers and writers.
#include "lock_test.h"

namespace oncemq::conformance {
namespace {

LOCK_TEST(IfShared, ReadersHoldANameTogether) {
  EXPECT_EQ(Ask(NewReader()).kind, Kind::kGranted);
  EXPECT_EQ(Ask(NewReader()).kind, Kind::kGranted);
  EXPECT_EQ(Look().parties.size(), 2u);
}

LOCK_TEST(IfShared, AWriterWaitsForEveryReader) {
  const Requester one = NewReader();
  const Requester two = NewReader();
  const Requester writer = New();
  ASSERT_EQ(Ask(one).kind, Kind::kGranted);
  ASSERT_EQ(Ask(two).kind, Kind::kGranted);
  EXPECT_NE(Ask(writer).kind, Kind::kGranted);
  ASSERT_EQ(Free(one), Freed::kYes);
  EXPECT_NE(Ask(writer).kind, Kind::kGranted);
  ASSERT_EQ(Free(two), Freed::kYes);
  EXPECT_EQ(Ask(writer).kind, Kind::kGranted);
}

LOCK_TEST(IfShared, AReaderWaitsForTheWriter) {
  const Requester writer = New();
  ASSERT_EQ(Ask(writer).kind, Kind::kGranted);
  const Requester reader = NewReader();
  EXPECT_NE(Ask(reader).kind, Kind::kGranted);
  ASSERT_EQ(Free(writer), Freed::kYes);
  EXPECT_EQ(Ask(reader).kind, Kind::kGranted);
}

LOCK_TEST(IfSharedAndFair, ReadersWhoKeepComingDoNotStarveAWriter) {
  const Requester reader = NewReader();
  const Requester writer = New();
  ASSERT_EQ(Ask(reader).kind, Kind::kGranted);
  ASSERT_EQ(Ask(writer).kind, Kind::kQueued);
  const Requester late = NewReader();
  EXPECT_EQ(Ask(late).kind, Kind::kQueued);
  ASSERT_EQ(Free(reader), Freed::kYes);
  EXPECT_EQ(Ask(writer).kind, Kind::kGranted);
  ASSERT_EQ(Free(writer), Freed::kYes);
  EXPECT_EQ(Ask(late).kind, Kind::kGranted);
}

LOCK_TEST(IfSharedAndUnfair, ABargingReaderDoesNotPassAWaitingWriter) {
  ASSERT_EQ(Ask(NewReader()).kind, Kind::kGranted);
  ASSERT_EQ(Ask(New()).kind, Kind::kQueued);
  Requester barging = NewReader();
  barging.barge = true;
  barging.queue = false;
  EXPECT_EQ(Ask(barging).kind, Kind::kBusy);
}

LOCK_TEST(IfSharedAndFair, ReadersBehindAWriterAllGoWhenItIsThrough) {
  const Requester writer = New();
  const Requester one = NewReader();
  const Requester two = NewReader();
  const Requester last = New();
  ASSERT_EQ(Ask(writer).kind, Kind::kGranted);
  ASSERT_EQ(Ask(one).kind, Kind::kQueued);
  ASSERT_EQ(Ask(two).kind, Kind::kQueued);
  ASSERT_EQ(Ask(last).kind, Kind::kQueued);
  ASSERT_EQ(Free(writer), Freed::kYes);
  EXPECT_EQ(Ask(two).kind, Kind::kGranted) << "a reader before it does not stop a reader";
  EXPECT_EQ(Ask(one).kind, Kind::kGranted);
  EXPECT_EQ(Ask(last).kind, Kind::kQueued);
}

LOCK_TEST(IfSharedAndFair, AWriterThatGivesUpLetsTheReadersBehindItGo) {
  const Requester holding = NewReader();
  const Requester writer = New();
  const Requester reader = NewReader();
  ASSERT_EQ(Ask(holding).kind, Kind::kGranted);
  ASSERT_EQ(Ask(writer).kind, Kind::kQueued);
  ASSERT_EQ(Ask(reader).kind, Kind::kQueued);
  EXPECT_EQ(Free(writer), Freed::kNotHeld);
  EXPECT_EQ(Ask(reader).kind, Kind::kGranted);
}

}  // namespace
}  // namespace oncemq::conformance
