// SPDX-License-Identifier: Apache-2.0
// Small enough for the sanitizers; also what a newer librdkafka has to pass.
#include <gtest/gtest.h>

#include "storm.h"
#include "support/kafka_broker.h"
#include "support/require_backend.h"

namespace oncemq::testing {
namespace {

void PlaySmallStorm(const std::string& name, StormWindow window) {
  KafkaBroker& kafka = SharedKafka::Get();
  const StormSize size{.ids = 60'000, .keys = 499, .far = 5'000, .partitions = 4};
  Storm storm(kafka.bootstrap(), name, size, window);
  StormProducer producer(kafka.bootstrap(), name, size);
  producer.SendUpTo(size.ids / 10);
  auto a = storm.Join();
  ASSERT_TRUE(storm.Reached(1));
  auto b = storm.Join(/*workers=*/2);
  ASSERT_TRUE(producer.FeedUntil(size.ids / 2, [&] { return Storm::Works(*b); }));
  storm.Leave(a);
  auto c = storm.Join();
  ASSERT_TRUE(producer.FeedUntil(size.ids * 9 / 10, [&] { return Storm::Works(*c); }));
  producer.SendTheRest();
  EXPECT_TRUE(storm.Reached(size.ids));
  storm.Leave(b);
  EXPECT_TRUE(storm.AllCommitted(producer.sent()));
  storm.Leave(c);
  storm.Judge(producer.sent());
}

TEST(KafkaStormSmall, MembersComeAndGoWhileOthersWork) {
  ONCEMQ_REQUIRE_KAFKA();
  PlaySmallStorm("storm-small", StormWindow::kMemory);
}

TEST(KafkaStormSmall, StoresGoFromMemberToMemberWhileTheyWork) {
  ONCEMQ_REQUIRE_KAFKA();
  PlaySmallStorm("storm-small-disk", StormWindow::kDisk);
}

}  // namespace
}  // namespace oncemq::testing
