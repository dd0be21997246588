// SPDX-License-Identifier: Apache-2.0
// What Runtime::Open refuses, before any broker is asked.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "oncemq/dedup/memory_window.h"
#include "oncemq/framework/runtime.h"
#include "support/log_file.h"
#include "support/no_more_threads.h"

namespace oncemq {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

RuntimeOptions Good() {
  RuntimeOptions options;
  options.kafka.brokers = "127.0.0.1:1";
  options.kafka.group = "g";
  options.kafka.topics = {"t"};
  return options;
}

std::string Refusal(const RuntimeOptions& options, Window* window = nullptr) {
  const auto runtime =
      Runtime::Open(options, window, [](const Message&, Context&) -> Outcome { return Done{}; });
  return runtime ? "" : runtime.error().message;
}

TEST(RuntimeOpen, TakesGoodOptionsWithoutAskingABroker) {
  EXPECT_EQ(Refusal(Good()), "");
}

TEST(RuntimeOpen, NeedsBrokersAGroupAndTopics) {
  for (const auto field : {&KafkaOptions::brokers, &KafkaOptions::group}) {
    RuntimeOptions options = Good();
    options.kafka.*field = "";
    EXPECT_THAT(Refusal(options), HasSubstr("are needed"));
  }
  RuntimeOptions options = Good();
  options.kafka.topics.clear();
  EXPECT_THAT(Refusal(options), HasSubstr("are needed"));
}

TEST(RuntimeOpen, RefusesBrokersThatTheServiceFileRefuses) {
  for (const char* brokers : {"localhost:port", "localhost:0", "k1:9092, k2:9092", "a,,b",
                              "PLAINTEXT://localhost:9092"}) {
    RuntimeOptions options = Good();
    options.kafka.brokers = brokers;
    EXPECT_THAT(Refusal(options), HasSubstr("brokers must be host:port, several")) << brokers;
  }
  RuntimeOptions options = Good();
  options.kafka.brokers = "k1,k2:9092,[::1]:9092";
  EXPECT_EQ(Refusal(options), "");
}

TEST(RuntimeOpen, RefusesAGroupThatTheServiceFileRefuses) {
  RuntimeOptions options = Good();
  for (const std::string& group : {std::string("a b"), std::string("a\n"), std::string("a\0", 2),
                                   std::string("a\x7F"), std::string(250, 'a')}) {
    options.kafka.group = group;
    EXPECT_THAT(Refusal(options), HasSubstr("the group must be 1 to 249 characters")) << group;
  }
  for (const std::string& group : {std::string("a:b/c"), std::string(249, 'a')}) {
    options.kafka.group = group;
    EXPECT_EQ(Refusal(options), "") << group;
  }
}

TEST(RuntimeOpen, RefusesTopicsThatTheServiceFileRefuses) {
  RuntimeOptions options = Good();
  for (const std::string& topic :
       {std::string(), std::string("."), std::string(".."), std::string("^t.*"), std::string("a b"),
        std::string("a/b"), std::string("t\0", 2), std::string(250, 'a')}) {
    options.kafka.topics = {"t", topic};
    EXPECT_THAT(Refusal(options), HasSubstr("is no topic name")) << topic;
  }
  options.kafka.topics = {"t", "t"};
  EXPECT_THAT(Refusal(options), HasSubstr("`t` stands here twice"));
  options.kafka.topics = {std::string(249, 'a'), "A.b_c-9"};
  EXPECT_EQ(Refusal(options), "");
}

TEST(RuntimeOpen, RefusesPropertiesThatWouldMoveThePositionBehindItsBack) {
  for (const char* name : {"enable.auto.commit", "auto.offset.reset", "isolation.level", "group.id",
                           "plugin.library.paths", "no.such.property"}) {
    RuntimeOptions options = Good();
    options.kafka.properties = {{name, "true"}};
    EXPECT_THAT(Refusal(options), HasSubstr(name));
  }
}

TEST(RuntimeOpen, NeverTellsTheValueOfAProperty) {
  RuntimeOptions options = Good();
  for (const std::string name : {"fetch.wait.max.ms", "security.protocol"}) {
    options.kafka.properties = {{name, "hunter2"}};
    EXPECT_THAT(Refusal(options), HasSubstr(name));
    EXPECT_THAT(Refusal(options), Not(HasSubstr("hunter2")));
  }
}

TEST(RuntimeOpen, RefusesLimitsThatCannotWork) {
  RuntimeOptions options = Good();
  options.core.in_flight = 0;
  EXPECT_THAT(Refusal(options), HasSubstr("in_flight must be 1 to"));
  options = Good();
  options.core.waiting.park = true;
  EXPECT_THAT(Refusal(options), HasSubstr("waiting.park: to park messages"));
  options = Good();
  options.core.session_margin = options.core.session_timeout;
  EXPECT_THAT(Refusal(options), HasSubstr("margin"));
}

TEST(RuntimeOpen, RefusesLimitsThatNoMachineHasRoomFor) {
  for (const auto field : {&CoreOptions::in_flight, &CoreOptions::partition_credit,
                           &CoreOptions::span, &CoreOptions::batch, &CoreOptions::lane_batch}) {
    RuntimeOptions options = Good();
    options.core.*field = UINT32_MAX;
    EXPECT_THAT(Refusal(options), HasSubstr("not 4294967295"));
  }
  RuntimeOptions waiting = Good();
  waiting.core.waiting.messages = UINT32_MAX;
  EXPECT_THAT(Refusal(waiting), HasSubstr("not 4294967295"));
  for (const auto field : {&RuntimeOptions::workers, &RuntimeOptions::workers_when_blocking,
                           &RuntimeOptions::spare_workers}) {
    RuntimeOptions options = Good();
    options.*field = UINT32_MAX;
    EXPECT_THAT(Refusal(options), HasSubstr("not 4294967295"));
  }
}

TEST(RuntimeOpen, RefusesTimesThatCannotBeCounted) {
  for (const auto field : {&RuntimeOptions::poll_budget, &RuntimeOptions::drain_deadline,
                           &RuntimeOptions::renew_every, &RuntimeOptions::hang_after}) {
    for (const milliseconds time : {milliseconds(-1), milliseconds::max()}) {
      RuntimeOptions options = Good();
      options.*field = time;
      EXPECT_THAT(Refusal(options), HasSubstr("at most a day"));
    }
  }
}

TEST(RuntimeOpen, RefusesRenewalsThatComeTooLateForTheLease) {
  MemoryWindowOptions window;
  window.level = Level::kGuarded;
  window.times.lease = milliseconds(9'000);
  const auto opened = OpenMemoryWindow(window, SystemClock::Instance());
  ASSERT_TRUE(opened);
  RuntimeOptions options = Good();
  options.ids_partition_owned = true;
  options.id_header = "id";
  options.renew_every = milliseconds(3'000);
  EXPECT_EQ(Refusal(options, opened->get()), "");
  options.renew_every = milliseconds(3'001);
  EXPECT_THAT(Refusal(options, opened->get()),
              HasSubstr("may be at most a third of the window's lease, which is 9000 ms"));
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // they end at a failed mmap
TEST(RuntimeOpen, LimitsThatThisMachineHasNoMemoryForAreAnError) {
  RuntimeOptions options = Good();
  options.core.in_flight = options.core.partition_credit = 4'000'000;
  rlimit old{};
  getrlimit(RLIMIT_AS, &old);
  const rlimit none{64 << 20, old.rlim_max};
  setrlimit(RLIMIT_AS, &none);
  const std::string refusal = Refusal(options);
  setrlimit(RLIMIT_AS, &old);
  EXPECT_THAT(refusal, HasSubstr("can't be set up"));
}
#endif

TEST(RuntimeOpen, RefusesAHeartbeatThatComesTooLateForTheSessionMargin) {
  RuntimeOptions options = Good();
  options.core.session_margin = milliseconds(2000);
  options.kafka.properties = {{"heartbeat.interval.ms", "2001"}};
  EXPECT_THAT(Refusal(options), HasSubstr("2000 ms"));
  for (const std::string value : {"0x36EE80", " 3600000", "+3600000", "3600000ms"}) {
    options.kafka.properties = {{"heartbeat.interval.ms", value}};
    EXPECT_THAT(Refusal(options), HasSubstr("2000 ms")) << value;
  }
  options.kafka.properties = {{"heartbeat.interval.ms", "2000"}};
  EXPECT_EQ(Refusal(options), "");
}

TEST(RuntimeOpen, ASessionMayBeLongerThanTheClientsTimeBetweenPolls) {
  RuntimeOptions options = Good();
  for (const auto session : {std::chrono::minutes(5), std::chrono::minutes(10)}) {
    options.core.session_timeout = session;
    EXPECT_EQ(Refusal(options), "");
  }
}

TEST(RuntimeOpen, RefusesAJournalPolicyWithoutAJournal) {
  RuntimeOptions options = Good();
  options.policy.reject = RejectPolicy::kJournal;
  EXPECT_THAT(Refusal(options), HasSubstr("journal"));
}

TEST(RuntimeOpen, RefusesALevelThatTheWindowWasNotOpenedWith) {
  const auto window = *OpenMemoryWindow({.level = Level::kOpaque}, SystemClock::Instance());
  RuntimeOptions options = Good();
  options.ids_partition_owned = true;
  EXPECT_EQ(Refusal(options, window.get()), "") << "the window's level counts";
  options.policy.level = Level::kGuarded;
  EXPECT_EQ(Refusal(options, window.get()),
            "the window was opened opaque and the policy says guarded");
  options.policy.level = Level::kOpaque;
  EXPECT_EQ(Refusal(options, window.get()), "");
}

TEST(RuntimeOpen, RefusesIdsThatMayCrossPartitionsWhereTheWindowIsNotShared) {
  const auto window = *OpenMemoryWindow({.level = Level::kGuarded}, SystemClock::Instance());
  RuntimeOptions options = Good();
  EXPECT_THAT(Refusal(options, window.get()), HasSubstr("ids_partition_owned"));
  options.id_from = IdFrom::kCoordinates;
  EXPECT_EQ(Refusal(options, window.get()), "") << "coordinates cannot cross";
  options.id_from = IdFrom::kKey;
  options.ids_partition_owned = true;
  EXPECT_EQ(Refusal(options, window.get()), "");
}

// A window with the capabilities that a test states. No call is expected.
class StatedWindow final : public Window {
 public:
  WindowCapabilities can;

  const WindowCapabilities& capabilities() const override { return can; }
  Result<OwnerEpoch> RaiseOwnerEpoch(uint32_t, int32_t, OwnerEpoch) override { return NotAsked(); }
  Status Claim(std::span<const ClaimRequest>, std::span<ClaimAnswer>) override {
    return NotAsked();
  }
  Status Complete(std::span<const CompleteRequest>, std::span<MarkerChange>) override {
    return NotAsked();
  }
  Status Release(std::span<const ReleaseRequest>, std::span<MarkerChange>) override {
    return NotAsked();
  }
  Status Park(std::span<const ParkRequest>, std::span<MarkerChange>) override { return NotAsked(); }
  Status Renew(std::span<const RenewRequest>, std::span<MarkerChange>) override {
    return NotAsked();
  }
  Status Restore(std::span<const RestoreRequest>, std::span<MarkerChange>) override {
    return NotAsked();
  }
  Status Peek(std::span<const std::string_view>, std::span<MarkerView>) override {
    return NotAsked();
  }

 private:
  static Error NotAsked() { return {Code::kInvalid, ::oncemq::Effect::kNone, "not asked"}; }
};

// After a restore its lost effects would count as done.
TEST(RuntimeOpen, RefusesAWindowThatIsSharedAndDurable) {
  StatedWindow window;
  RuntimeOptions options = Good();
  window.can = {.engine = "server", .shared = true, .durable = true};
  EXPECT_THAT(Refusal(options, &window),
              AllOf(HasSubstr("window `server`"), HasSubstr("is shared and durable")));
  window.can.by_partition = true;
  EXPECT_THAT(Refusal(options, &window), HasSubstr("is shared and durable"));
  window.can = {.engine = "server", .shared = true};
  EXPECT_EQ(Refusal(options, &window), "") << "nothing of it outlives its processes";
}

// Else one of them would call a message a copy that the other takes for an operation of its own.
TEST(RuntimeOpen, RefusesAWindowForWhichAnIdNamesSomethingElse) {
  StatedWindow window;
  window.can = {.engine = "server", .shared = true, .partition_owned = false};
  RuntimeOptions options = Good();
  EXPECT_EQ(Refusal(options, &window), "");
  options.ids_partition_owned = true;
  EXPECT_THAT(Refusal(options, &window), HasSubstr("open it with partition_owned"));
  window.can.still_crossing = true;
  EXPECT_EQ(Refusal(options, &window), "") << "its scope is of an earlier version";
  window.can = {.engine = "server", .shared = true, .partition_owned = true};
  EXPECT_EQ(Refusal(options, &window), "");
  options.ids_partition_owned = false;
  EXPECT_THAT(Refusal(options, &window), HasSubstr("say ids_partition_owned"));
  options.id_from = IdFrom::kCoordinates;
  EXPECT_EQ(Refusal(options, &window), "") << "coordinates are the same either way";
}

TEST(RuntimeOpen, LogsWhatHolds) {
  const auto window = *OpenMemoryWindow({.level = Level::kOpaque}, SystemClock::Instance());
  RuntimeOptions options = Good();
  options.ids_partition_owned = true;
  testing::LogFile log;
  EXPECT_EQ(Refusal(options, window.get()), "");
  EXPECT_THAT(log.End(), HasSubstr("opaque: at least once"));
}

TEST(RuntimeOpen, RefusesARuntimeWithoutAHandler) {
  EXPECT_FALSE(Runtime::Open(Good(), nullptr, nullptr));
}

TEST(RuntimeOpen, ARunWithoutThreadsIsRefusedAndNotTheEndOfTheProcess) {
  const auto runtime =
      Runtime::Open(Good(), nullptr, [](const Message&, Context&) -> Outcome { return Done{}; });
  ASSERT_TRUE(runtime);
  const testing::NoMoreThreads none;
  EXPECT_THAT((*runtime)->Run({}).error, HasSubstr("no thread"));
}

}  // namespace
}  // namespace oncemq
