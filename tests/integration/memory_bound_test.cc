// SPDX-License-Identifier: Apache-2.0
// Memory of a member whose handlers retry for long, at full speed: messages that wait must not keep
// the responses of the broker in which they came (docs/policies.md, "Memory of messages").
//
// One key of a hundred answers Retry until a quarter of a gigabyte has passed it. Each response has
// a message of such a key, so a member that keeps responses grows by all that it reads meanwhile.
// ONCEMQ_MEMORY_SECONDS says for how long (20); from 300 on a message waits for four times as much.
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "runtime_fixture.h"
#include "seeded_rounds.h"

namespace oncemq::testing {
namespace {

constexpr uint64_t kMiB = 1 << 20;
constexpr uint64_t kValueBytes = 2'048;
constexpr int64_t kWarmUp = 65'536;  // messages before any has to wait
constexpr int64_t kKeys = 10'000;
constexpr int64_t kMostAhead = 20'000;  // messages that the producer is ahead
constexpr int32_t kPartitionCount = 4;
constexpr uint64_t kProducerMiB = 16;

uint64_t ResidentBytes() {
  std::ifstream statm("/proc/self/statm");
  uint64_t all = 0;
  uint64_t resident = 0;
  statm >> all >> resident;
  return resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

class KafkaMemory : public KafkaRuntimeTest {
 protected:
  const int64_t seconds_ = static_cast<int64_t>(FromEnvironment("ONCEMQ_MEMORY_SECONDS", 20));
  const int64_t waits_for_ = seconds_ < 300 ? 131'072 : 524'288;  // messages that pass it

  // The test's own log must not fill the disk: the records that were read go.
  void CreateShortTopic() {
    CreateTopic(kPartitionCount, {{"retention.bytes", std::to_string(256 * kMiB)},
                                  {"segment.bytes", std::to_string(16 * kMiB)}});
  }
  RuntimeOptions MemoryOptions() const {
    RuntimeOptions options = Options();
    options.core.in_flight_bytes = 16 * kMiB;
    options.core.waiting.bytes = 16 * kMiB;
    options.core.waiting.left_behind_bytes = 8 * kMiB;
    options.core.span = 4'000'000;
    options.kafka.prefetch_bytes = 8 * kMiB;
    // Large responses, so that each has a message that waits.
    options.kafka.properties = {{"fetch.min.bytes", "1000000"}, {"fetch.max.bytes", "4194304"}};
    return options;
  }

  Outcome Handle(const Message& message, Context& context) {
    const int64_t number = std::stoll(std::string(context.id()));
    const bool slow = number >= kWarmUp && number % kKeys % 100 == 7;
    if (slow && !over_ && passed_ < number + waits_for_) {
      return Retry{.after = milliseconds(500), .not_done = true};
    }
    EXPECT_EQ(message.value()->size(), kValueBytes);
    EXPECT_EQ(message.value()->substr(0, context.id().size()), context.id());
    passed_ = std::max(passed_.load(), number);
    return Done{};
  }

  void SendNext(TestProducer& producer) {
    const std::string id = std::to_string(sent_);
    value_.replace(0, id.size(), id);
    SendOne(producer, id, "k" + std::to_string(sent_ % kKeys), value_);
    sent_++;
  }
  // Sends as fast as the member takes it, and says how much memory it took at most.
  uint64_t PeakUntil(TestProducer& producer, RunningMember& member,
                     const std::function<bool()>& over) {
    uint64_t peak = 0;
    while (!over() && !HasFailure()) {
      for (int i = 0; i < 1'000; i++) {
        SendNext(producer);
      }
      peak = std::max(peak, ResidentBytes());
      most_open_ = std::max(most_open_, member.Now().counts.open);
      EXPECT_TRUE(Eventually(seconds(60), [&] { return sent_ - passed_ < kMostAhead; }));
    }
    return peak;
  }

  std::string value_ = std::string(kValueBytes, 'v');
  int64_t sent_ = 0;
  int64_t most_open_ = 0;
  std::atomic<int64_t> passed_ = 0;  // the highest message that was done
  std::atomic<bool> over_ = false;
};

TEST_F(KafkaMemory, StaysWithinItsFormulaWhileOneKeyOfAHundredIsRetriedForLong) {
  CreateShortTopic();
  const RuntimeOptions options = MemoryOptions();
  const auto window =
      *OpenMemoryWindow({.level = Level::kGuarded, .remember = 50'000}, SystemClock::Instance());
  TestProducer producer(
      bootstrap_,
      {.properties = {{"queue.buffering.max.kbytes", std::to_string(kProducerMiB * 1'024)}}});
  RunningMember member(options, window.get(), [this](const Message& message, Context& context) {
    return Handle(message, context);
  });
  const uint64_t before = PeakUntil(producer, member, [&] { return sent_ >= kWarmUp; });
  const BootTime end = SystemClock::Instance().Boot() + seconds(seconds_);
  const uint64_t peak = PeakUntil(producer, member, [&] {
    return sent_ > kWarmUp + 2 * waits_for_ && SystemClock::Instance().Boot() >= end;
  });
  const int64_t waited = most_open_;
  over_ = true;
  producer.Flush();
  EXPECT_TRUE(Eventually(seconds(120), [&] { return member.Now().counts.applied == sent_; }));
  EXPECT_TRUE(member.Stop().clean);

  EXPECT_GT(waited, waits_for_ / 200) << "too few waited: this proves nothing";
  // The formula of docs/policies.md on top of a member that keeps up, and the producer's queue:
  // both queues are full only where the machine is busy. The allocator may need half as much more.
  const WaitingOptions& waiting = options.core.waiting;
  const uint64_t added = options.core.in_flight_bytes + waiting.bytes +
                         waiting.left_behind_bytes / 4 * 5 + options.kafka.prefetch_bytes +
                         kProducerMiB * kMiB;
  EXPECT_LE(peak, before + added / 2 * 3)
      << "MiB: " << before / kMiB << " before, " << peak / kMiB << " at most, of "
      << static_cast<uint64_t>(sent_) * kValueBytes / kMiB << " that were read; " << waited
      << " messages waited at most";
}

}  // namespace
}  // namespace oncemq::testing
