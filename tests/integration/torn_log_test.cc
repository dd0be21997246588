// SPDX-License-Identifier: Apache-2.0
// A broker whose power went: the end of its logs is torn, and it cuts off what it cannot read.
// Records are gone that were acknowledged, and maybe handled.
#include <filesystem>

#include "runtime_fixture.h"

namespace oncemq::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class KafkaTornLog : public KafkaRuntimeTest {
 protected:
  void SendInto(int32_t partition, int first, int end) { Send(first, end, 1'000, partition); }
  void Handle(size_t messages) {
    RunningMember member(Options(), window_.get(), Record());
    EXPECT_TRUE(Applied(messages));
    EXPECT_TRUE(member.Stop().clean);
  }
  // In the middle of the last batch.
  void TearTheEnds() {
    KafkaBroker& broker = SharedKafka::Get();
    broker.Kill9();
    for (const int32_t partition : {0, 1}) {
      const std::filesystem::path log =
          broker.data() / (topic_ + "-" + std::to_string(partition)) / "00000000000000000000.log";
      std::filesystem::resize_file(log, std::filesystem::file_size(log) - 20);
    }
    broker.Restart();
  }
};

TEST_F(KafkaTornLog, StopsWhereItWasReadBeyondItsEndAndLosesNothingElsewhere) {
  CreateTopic(2);
  SendInto(0, 0, 10);
  SendInto(1, 10, 20);
  SendInto(0, 20, 25);
  Handle(25);
  SendInto(1, 25, 30);  // nobody has seen these
  TearTheEnds();
  const int64_t end = admin_->QueryWatermarks(topic_, 1).high;
  ASSERT_LT(end, 15) << "nothing was torn";
  ASSERT_LT(admin_->QueryWatermarks(topic_, 0).high, 15);
  SendInto(1, 25, 30);  // the producer sends them again
  RunningMember member(Options(), window_.get(), Record());
  EXPECT_TRUE(Applied(30)) << "the whole partition goes on";
  EXPECT_TRUE(Eventually(seconds(30), [&] { return !member.Now().stops.empty(); }));
  EXPECT_THAT(member.Stop().stops,
              ElementsAre(AllOf(HasSubstr(topic_ + "/0"), HasSubstr("beyond the end of the log"))));
  EXPECT_EQ(CommittedAt(0), 15) << "what comes at these offsets would be passed over";
  EXPECT_EQ(CommittedAt(1), end + 5);
  EXPECT_THAT(effects_.Judge(Ids(0, 30)), ::testing::IsEmpty());
}

}  // namespace
}  // namespace oncemq::testing
