// SPDX-License-Identifier: Apache-2.0
// A million messages, a broker that dies: nothing twice, nothing missing, each key in order, and
// the verdict adds up.
#include <gtest/gtest.h>

#include "storm.h"
#include "support/kafka_broker.h"
#include "support/require_backend.h"

namespace oncemq::testing {
namespace {

void PlayStorm(const std::string& name, StormWindow window, int64_t& handed_back) {
  KafkaBroker& kafka = SharedKafka::Get();
  const StormSize size;
  Storm storm(kafka.bootstrap(), name, size, window);
  StormProducer producer(kafka.bootstrap(), name, size);
  producer.SendUpTo(size.ids / 2);

  auto a = storm.Join();
  auto b = storm.Join(/*workers=*/2);
  ASSERT_TRUE(storm.Reached(size.ids / 20));
  auto c = storm.Join();  // while the others work
  producer.SendUpTo(size.ids * 7 / 10);
  ASSERT_TRUE(producer.FeedUntil(size.ids * 3 / 4, [&] { return Storm::Works(*c); }));
  ASSERT_TRUE(storm.Reached(size.ids / 2));
  storm.Leave(a);
  ASSERT_TRUE(storm.Reached(size.ids * 6 / 10));
  kafka.Kill9();
  kafka.Restart();
  a = storm.Join();
  ASSERT_TRUE(producer.FeedUntil(size.ids * 8 / 10, [&] { return Storm::Works(*a); }));
  producer.SendTheRest();
  ASSERT_TRUE(storm.Reached(size.ids * 9 / 10));
  storm.Leave(b);
  EXPECT_TRUE(storm.Reached(size.ids));
  storm.Leave(c);
  EXPECT_TRUE(storm.AllCommitted(producer.sent()));  // the last copies lie behind the last new id
  storm.Leave(a);
  storm.Judge(producer.sent());
  handed_back = storm.handed_back();
}

// How much a rebalance finds queued depends on the machine; that members came and went while others
// worked is what FeedUntil has waited for.
TEST(KafkaStorm, AMillionMessagesThroughMembersThatComeAndGoAndABrokerThatDies) {
  ONCEMQ_REQUIRE_KAFKA();
  int64_t handed_back = 0;
  PlayStorm("storm", StormWindow::kMemory, handed_back);
  RecordProperty("handed_back", std::to_string(handed_back));
}

TEST(KafkaStorm, AMillionMessagesIntoStoresThatGoFromMemberToMember) {
  ONCEMQ_REQUIRE_KAFKA();
  int64_t handed_back = 0;
  PlayStorm("storm-disk", StormWindow::kDisk, handed_back);
  RecordProperty("handed_back", std::to_string(handed_back));
}

}  // namespace
}  // namespace oncemq::testing
