// SPDX-License-Identifier: Apache-2.0
// Readers and writers.
#include "lock_test.h"

namespace oncemq::conformance {
namespace {

LOCK_TEST(IfShared, ReadersHoldANameTogether) {
  EXPECT_EQ(Request(NewReader()).kind, Kind::kGranted);
  EXPECT_EQ(Request(NewReader()).kind, Kind::kGranted);
  EXPECT_EQ(Read().parties.size(), 2u);
}

LOCK_TEST(IfShared, AWriterWaitsForEveryReader) {
  const Requester one = NewReader();
  const Requester two = NewReader();
  const Requester writer = New();
  ASSERT_EQ(Request(one).kind, Kind::kGranted);
  ASSERT_EQ(Request(two).kind, Kind::kGranted);
  EXPECT_NE(Request(writer).kind, Kind::kGranted);
  ASSERT_EQ(Free(one), Freed::kYes);
  EXPECT_NE(Request(writer).kind, Kind::kGranted);
  ASSERT_EQ(Free(two), Freed::kYes);
  EXPECT_EQ(Request(writer).kind, Kind::kGranted);
}

LOCK_TEST(IfShared, AReaderWaitsForTheWriter) {
  const Requester writer = New();
  ASSERT_EQ(Request(writer).kind, Kind::kGranted);
  const Requester reader = NewReader();
  EXPECT_NE(Request(reader).kind, Kind::kGranted);
  ASSERT_EQ(Free(writer), Freed::kYes);
  EXPECT_EQ(Request(reader).kind, Kind::kGranted);
}

LOCK_TEST(IfSharedAndFair, ReadersWhoKeepComingDoNotStarveAWriter) {
  const Requester reader = NewReader();
  const Requester writer = New();
  ASSERT_EQ(Request(reader).kind, Kind::kGranted);
  ASSERT_EQ(Request(writer).kind, Kind::kQueued);
  const Requester late = NewReader();
  EXPECT_EQ(Request(late).kind, Kind::kQueued);
  ASSERT_EQ(Free(reader), Freed::kYes);
  EXPECT_EQ(Request(writer).kind, Kind::kGranted);
  ASSERT_EQ(Free(writer), Freed::kYes);
  EXPECT_EQ(Request(late).kind, Kind::kGranted);
}

LOCK_TEST(IfSharedAndUnfair, ABargingReaderDoesNotPassAWaitingWriter) {
  ASSERT_EQ(Request(NewReader()).kind, Kind::kGranted);
  ASSERT_EQ(Request(New()).kind, Kind::kQueued);
  Requester barging = NewReader();
  barging.barge = true;
  barging.queue = false;
  EXPECT_EQ(Request(barging).kind, Kind::kBusy);
}

LOCK_TEST(IfSharedAndFair, ReadersBehindAWriterAllGoWhenItIsThrough) {
  const Requester writer = New();
  const Requester one = NewReader();
  const Requester two = NewReader();
  const Requester last = New();
  ASSERT_EQ(Request(writer).kind, Kind::kGranted);
  ASSERT_EQ(Request(one).kind, Kind::kQueued);
  ASSERT_EQ(Request(two).kind, Kind::kQueued);
  ASSERT_EQ(Request(last).kind, Kind::kQueued);
  ASSERT_EQ(Free(writer), Freed::kYes);
  EXPECT_EQ(Request(two).kind, Kind::kGranted) << "a reader before it does not stop a reader";
  EXPECT_EQ(Request(one).kind, Kind::kGranted);
  EXPECT_EQ(Request(last).kind, Kind::kQueued);
}

LOCK_TEST(IfSharedAndFair, AWriterThatGivesUpLetsTheReadersBehindItGo) {
  const Requester holding = NewReader();
  const Requester writer = New();
  const Requester reader = NewReader();
  ASSERT_EQ(Request(holding).kind, Kind::kGranted);
  ASSERT_EQ(Request(writer).kind, Kind::kQueued);
  ASSERT_EQ(Request(reader).kind, Kind::kQueued);
  EXPECT_EQ(Free(writer), Freed::kNotHeld);
  EXPECT_EQ(Request(reader).kind, Kind::kGranted);
}

}  // namespace
}  // namespace oncemq::conformance
