// SPDX-License-Identifier: Apache-2.0
#include "zookeeper_nodes.h"

#include <gtest/gtest.h>

#include <limits>

namespace oncemq {
namespace {

std::string Child(char mode, uint64_t number, const std::string& order) {
  return ChildPrefix(mode == 'x' ? LockMode::kExclusive : LockMode::kShared, 0xAB, number) + order;
}

TEST(ZooKeeperNodes, AnyBytesAreOnePartOfAPathAndComeBack) {
  for (int byte = 0; byte < 256; byte++) {
    const std::string bytes = {'a', static_cast<char>(byte), 'b'};
    const std::string part = EncodePart(bytes);
    for (const char c : part) {
      EXPECT_TRUE(c > 0x20 && c < 0x7f && c != '/' && c != '.') << byte;
    }
    EXPECT_EQ(DecodePart(part), bytes) << byte;
  }
  for (const std::string bytes : {"", ".", "..", "/", "%", "%2f", "=", "seal"}) {
    EXPECT_EQ(DecodePart(EncodePart(bytes)), bytes);
    EXPECT_NE(EncodePart(bytes), "seal");
  }
  EXPECT_EQ(EncodePart("a/b"), "=a%2fb");
}

TEST(ZooKeeperNodes, WhatWeDidNotEncodeIsNoPart) {
  for (const char* part : {"", "a", "seal", "=%", "=%2", "=%2F", "=%zz", "=a.b", "=a/b", "= "}) {
    EXPECT_FALSE(DecodePart(part)) << part;
  }
}

TEST(ZooKeeperNodes, ALineIsInTheOrderOfItsNumbers) {
  const auto queue = QueueOf(
      {Child('s', 3, "0000000010"), Child('x', 1, "0000000009"), Child('x', 2, "0000000011")});
  ASSERT_EQ(queue.size(), 3u);
  EXPECT_EQ(queue[0].number, 1u);
  EXPECT_EQ(queue[0].session, 0xABu);
  EXPECT_EQ(queue[1].number, 3u);
  EXPECT_EQ(queue[1].mode, LockMode::kShared);
  EXPECT_EQ(queue[2].order, 11);
  EXPECT_EQ(ModesOf(queue),
            (std::vector{LockMode::kExclusive, LockMode::kShared, LockMode::kExclusive}));
  EXPECT_FALSE(OutOfNumbers(queue));
}

TEST(ZooKeeperNodes, WhatIsNotOursIsLeftOutOfALine) {
  const std::string good = Child('x', 1, "0000000009");
  const auto queue =
      QueueOf({"", "junk", "x-", "y" + good.substr(1), good.substr(0, good.size() - 10), good + "x",
               "x_" + good.substr(2), Child('x', 1, "--5"), Child('x', 1, "2147483649"),
               "x-zzzzzzzzzzzzzzzz" + good.substr(18)});
  EXPECT_TRUE(queue.empty());
}

TEST(ZooKeeperNodes, TheLastNumberAndThoseBehindItTellNoOrder) {
  EXPECT_TRUE(OutOfNumbers(QueueOf({Child('x', 1, "2147483647")})));
  const auto queue = QueueOf({Child('x', 1, "-2147483648")});
  ASSERT_EQ(queue.size(), 1u);
  EXPECT_EQ(queue[0].order, std::numeric_limits<int32_t>::min());
  EXPECT_TRUE(OutOfNumbers(queue));
  EXPECT_FALSE(OutOfNumbers(QueueOf({Child('x', 1, "2147483646")})));
}

TEST(ZooKeeperNodes, WhetherSomebodyCameOrWentIsKnownByTheNumberOfChanges) {
  using Stat = ZooKeeperReply::Stat;
  const Stat before{.created = 7, .children_changes = 4};
  EXPECT_TRUE(SameChildren(before, {.created = 7, .children_changes = 4}));
  EXPECT_FALSE(SameChildren(before, {.created = 7, .children_changes = 6})) << "came and went";
  EXPECT_FALSE(SameChildren(before, {.created = 9, .children_changes = 4})) << "another parent";
}

TEST(ZooKeeperNodes, WhatANodeSaysComesBack) {
  for (const std::string& who :
       {std::string(), std::string("host/1 job"), std::string("\0 \n", 3)}) {
    const ZooKeeperWords words{4'294'967'295u, milliseconds(30'000), milliseconds(5'000), who};
    const auto read = ParseWords(ToText(words));
    ASSERT_TRUE(read.has_value());
    EXPECT_EQ(read->epoch, words.epoch);
    EXPECT_EQ(read->lease, words.lease);
    EXPECT_EQ(read->queue_lease, words.queue_lease);
    EXPECT_EQ(read->who, words.who);
  }
}

TEST(ZooKeeperNodes, WhatIsNotOursSaysNothing) {
  for (const char* text : {"", "1", "1 2", "1 2 3", "1 2 3 4", "2 0 1 1 ", "1 -1 1 1 ",
                           "1 4294967296 1 1 ", "1 0 -1 1 ", "1 0 1 x ", " 1 0 1 1 "}) {
    EXPECT_FALSE(ParseWords(text)) << text;
  }
}

}  // namespace
}  // namespace oncemq
