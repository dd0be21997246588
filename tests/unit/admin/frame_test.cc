// SPDX-License-Identifier: Apache-2.0
#include "frame.h"

#include <gtest/gtest.h>

namespace oncemq {
namespace {

using State = FrameReader::State;

TEST(Frame, ItsHeadIsTheLengthHighestByteFirst) {
  EXPECT_EQ(Framed("abc"), std::string("\0\0\0\3abc", 7));
  EXPECT_EQ(Framed(std::string(0x10203, 'x')).substr(0, 4), std::string("\0\1\2\3", 4));
}

TEST(Frame, ItIsReadHoweverItsBytesCome) {
  const std::string frame = Framed("hello");
  for (size_t first = 0; first <= frame.size(); first++) {
    for (size_t second = first; second <= frame.size(); second++) {
      FrameReader reader(100);
      State state = State::kPartial;
      for (const auto& [from, to] : {std::pair(size_t{0}, first), std::pair(first, second),
                                     std::pair(second, frame.size())}) {
        if (to > from) {
          EXPECT_EQ(state, State::kPartial);
          state = reader.Take(std::string_view(frame).substr(from, to - from));
        }
      }
      EXPECT_EQ(state, State::kComplete);
      EXPECT_EQ(reader.body(), "hello");
    }
  }
}

TEST(Frame, AnEmptyBodyIsWhole) {
  FrameReader reader(0);
  EXPECT_EQ(reader.Take(Framed("")), State::kComplete);
  EXPECT_EQ(reader.body(), "");
}

TEST(Frame, WhatFollowsItIsDropped) {
  FrameReader reader(100);
  EXPECT_EQ(reader.Take(Framed("one") + Framed("two")), State::kComplete);
  EXPECT_EQ(reader.body(), "one");
}

TEST(Frame, OneAtTheLimitIsTakenAndOneAboveItIsNot) {
  FrameReader at(5);
  EXPECT_EQ(at.Take(Framed("12345")), State::kComplete);
  FrameReader above(5);
  EXPECT_EQ(above.Take(Framed("123456")), State::kTooLong);
  EXPECT_EQ(above.announced(), 6u);
  EXPECT_EQ(above.taken(), kFrameHead) << "nothing of it is kept";
}

TEST(Frame, AnAnnouncementAloneCostsNothing) {
  FrameReader reader(kMostRequest);
  EXPECT_EQ(reader.Take("\xFF\xFF\xFF\xFF"), State::kTooLong);
  EXPECT_EQ(reader.announced(), 0xFFFFFFFFu);
  EXPECT_EQ(reader.Take("more"), State::kTooLong);
  EXPECT_EQ(reader.taken(), kFrameHead);
}

}  // namespace
}  // namespace oncemq
