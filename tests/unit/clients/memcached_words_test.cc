// SPDX-License-Identifier: Apache-2.0
#include "memcached_words.h"

#include <gtest/gtest.h>

namespace oncemq {
namespace {

using Command = MemcachedCommand::Kind;
using Kind = MemcachedReply::Kind;

TEST(MemcachedWords, AKeyHasNoByteThatEndsAWordWhateverTheName) {
  const std::string key = MemcachedKey("p:", std::string("a b\r\n\0\xff", 7));
  EXPECT_EQ(key.size(), 2u + 64u);
  EXPECT_EQ(key.find_first_not_of("p:0123456789abcdef"), std::string::npos);
  EXPECT_NE(key, MemcachedKey("p:", "a b"));
  EXPECT_EQ(MemcachedKey("p:", std::string(1'024, '\xff')).size(), key.size());
}

TEST(MemcachedWords, AnAnswerWithTheNumberOfAnotherCommandIsNone) {
  EXPECT_TRUE(ParseHead("VA 3 c1 t9 O7", Command::kGet, 7).has_value());
  EXPECT_EQ(ParseHead("VA 3 c1 t9 O6", Command::kGet, 7).error().code, Code::kCorrupt);
  EXPECT_EQ(ParseHead("HD O6", Command::kDrop, 7).error().code, Code::kCorrupt);
}

TEST(MemcachedWords, AnAnswerToAnotherKindOfCommandIsNone) {
  for (const char* line : {"", "VA", "VA x", "VA -1 c1", "VA 99999999999 c1", "HD", "STORED",
                           "VALUE k 0 1", "END", "ERROR", "CLIENT_ERROR bad data chunk"}) {
    const auto head = ParseHead(line, Command::kGet, 1);
    ASSERT_FALSE(head.has_value()) << line;
    EXPECT_EQ(head.error().effect, Effect::kUnknown);
  }
  for (const char* line : {"EN", "VA 1 c1", "OK", "SERVER_ERROR object too large for cache"}) {
    EXPECT_FALSE(ParseHead(line, Command::kAdd, 1).has_value()) << line;
  }
}

TEST(MemcachedWords, WhatTheServerRefusesForWantOfRoomWasNotDone) {
  const auto head = ParseHead("SERVER_ERROR out of memory storing object", Command::kAdd, 1);
  ASSERT_FALSE(head.has_value());
  EXPECT_EQ(head.error().code, Code::kFull);
  EXPECT_EQ(head.error().effect, Effect::kNone);
}

TEST(MemcachedWords, AFoundValueHasItsVersionAndWhatIsLeftOfItsTime) {
  const auto head = ParseHead("VA 12 c345 t-1 O1", Command::kGet, 1);
  ASSERT_TRUE(head.has_value()) << ToString(head.error());
  EXPECT_EQ(head->reply.kind, Kind::kFound);
  EXPECT_EQ(head->block, 12u);
  EXPECT_EQ(head->reply.version, 345u);
  EXPECT_EQ(head->reply.left, std::chrono::seconds(-1));
}

}  // namespace
}  // namespace oncemq
