// SPDX-License-Identifier: Apache-2.0
// Messages that are refused for good, in a park topic on a real broker.
#include "oncemq/framework/park.h"

#include <gtest/gtest.h>

#include <optional>

#include "oncemq/dedup/local_window.h"
#include "runtime_fixture.h"

namespace oncemq::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

class KafkaPark : public KafkaRuntimeTest {
 protected:
  RuntimeOptions Parking() const {
    RuntimeOptions options = Options();
    options.policy.reject = RejectPolicy::kPark;
    return options;
  }
  void CreatePark() {
    const auto made = CreateParkTopics(Parking(), seconds(20));
    ASSERT_TRUE(made) << ToString(made.error());
    EXPECT_THAT(*made, ElementsAre(topic_ + ".park"));
  }
  std::vector<ParkedEntry> Parked() const {
    std::vector<ParkedEntry> entries;
    const Status read = ReadParked(Parking(), seconds(20), [&](const ParkedEntry& entry) {
      entries.push_back(entry);
      return true;
    });
    EXPECT_TRUE(read) << (read ? "" : ToString(read.error()));
    return entries;
  }
  // Refuses id "bad", and answers Retry to "down".
  Handler Picky() {
    return [this](const Message& message, Context& context) -> Outcome {
      calls_[std::string(context.id())]++;
      if (context.id() == "bad") {
        return Reject{"not a payment"};
      }
      if (context.id() == "down") {
        return Retry{.after = milliseconds(5), .why = "the ledger is closed"};
      }
      effects_.Append(message, context);
      return Done{};
    };
  }
  std::vector<ParkedEntry> Heads() const {
    std::vector<ParkedEntry> heads = Parked();
    std::erase_if(heads, [](const ParkedEntry& entry) { return entry.head != entry.offset; });
    return heads;
  }
  ParkProgress Command(ParkCommand::Kind kind, const std::vector<ParkedEntry>& messages,
                       milliseconds patience = seconds(20)) const {
    const auto done =
        CommandParked(Parking(), {.kind = kind, .run = "run"}, messages, patience, {});
    EXPECT_TRUE(done) << (done ? "" : ToString(done.error()));
    return done.value_or(ParkProgress{});
  }
  std::string ErrorOfRun(const RuntimeOptions& options) {
    auto runtime = Runtime::Open(options, window_.get(), Picky());
    EXPECT_TRUE(runtime);
    return (*runtime)->Run(std::stop_token()).error;
  }

  // Two owners, each with a window of its own from `open`.
  void MoveToAnEmptyWindow(const std::function<std::unique_ptr<Window>()>& open);

  std::map<std::string, int> calls_;  // handlers run on one thread
};

TEST_F(KafkaPark, AnEntryIsTheWholeMessage) {
  CreateTopic(3, {{"retention.ms", "-1"}});  // one message is old
  CreatePark();
  const std::string binary("\x00\xff\"\\\n", 5);
  TestProducer producer(bootstrap_);
  producer.Send({.topic = topic_,
                 .partition = 2,
                 .key = binary,
                 .value = "a payment",
                 .headers = {{"message-id", "bad"},
                             {"twice", "1"},
                             {"twice", binary},
                             {"null", std::nullopt},
                             {"empty", ""}},
                 .timestamp_ms = 1'700'000'000'123});
  producer.Send({.topic = topic_, .partition = 1, .headers = {{"message-id", "bad"}}});
  producer.Flush();
  RunningMember member(Parking(), window_.get(), Picky());
  ASSERT_TRUE(Eventually(seconds(30), [&] { return CommittedAt(2) == 1 && CommittedAt(1) == 1; }));
  const RunReport& report = member.Stop();
  EXPECT_EQ(report.counts.parked, 2);
  EXPECT_EQ(report.counts.rejected, 0);
  const std::vector<ParkedEntry> entries = Parked();
  ASSERT_EQ(entries.size(), 2u);
  const ParkedEntry& tombstone = entries[0];
  EXPECT_EQ(tombstone.partition, 1);
  EXPECT_EQ(tombstone.key, std::nullopt);
  EXPECT_EQ(tombstone.value, std::nullopt);
  const ParkedEntry& entry = entries[1];
  EXPECT_EQ(entry.topic, topic_);
  EXPECT_EQ(entry.partition, 2);
  EXPECT_EQ(entry.offset, 0);
  EXPECT_EQ(entry.id, "bad");
  EXPECT_EQ(entry.why, "not a payment");
  EXPECT_EQ(entry.timestamp_ms, 1'700'000'000'123);
  EXPECT_EQ(entry.key, binary);
  EXPECT_EQ(entry.value, "a payment");
  const auto text = [](std::string value) { return std::optional(std::move(value)); };
  EXPECT_THAT(entry.headers, ElementsAre(Pair("message-id", text("bad")), Pair("twice", text("1")),
                                         Pair("twice", text(binary)), Pair("null", std::nullopt),
                                         Pair("empty", text(""))));
}

TEST_F(KafkaPark, AMessageIsParkedAtTheEndOfItsAttemptsAndSoIsOneThatCannotBeRead) {
  CreateTopic(1);
  CreatePark();
  TestProducer producer(bootstrap_);
  SendOne(producer, "down", "k", "1");
  producer.Send({.topic = topic_, .key = "k", .value = "2"});  // no id
  SendOne(producer, "good", "m", "3");
  producer.Flush();
  RuntimeOptions options = Parking();
  options.policy.retry.attempts = 3;
  options.policy.retry.at_end = AtEnd::kPark;
  RunningMember member(options, window_.get(), Picky());
  ASSERT_TRUE(Eventually(seconds(30), [&] { return CommittedAt() == 3; }));
  EXPECT_EQ(member.Stop().counts.parked, 2);
  EXPECT_EQ(calls_["down"], 3);
  const std::vector<ParkedEntry> entries = Parked();
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[0].why, "gave up after 3 attempts: the ledger is closed");
  EXPECT_EQ(entries[0].value, "1");
  EXPECT_EQ(entries[0].attempts, 3u);
  EXPECT_THAT(entries[1].why, HasSubstr("the message has no id"));
  EXPECT_EQ(entries[1].value, "2");
  EXPECT_EQ(entries[1].attempts, 0u);
}

TEST_F(KafkaPark, TheLaterMessagesOfAParkedKeyFollowItAlsoUnderTheNextOwner) {
  CreateTopic(1);
  CreatePark();
  TestProducer producer(bootstrap_);
  for (int owner = 0; owner < 2; owner++) {
    const std::string round = std::to_string(owner);
    SendOne(producer, owner == 0 ? "bad" : "fine", "k", round);
    SendOne(producer, "k" + round, "k", round);
    SendOne(producer, "other" + round, "l", round);
    producer.Flush();
    RunningMember member(Parking(), window_.get(), Picky());
    ASSERT_TRUE(Eventually(seconds(30), [&] { return CommittedAt() == 3 * (owner + 1); }));
    EXPECT_EQ(member.Stop().counts.parked, 2);
    ASSERT_TRUE(admin_->WaitUntilEmpty(group_, seconds(20)));
  }
  EXPECT_EQ(calls_["other0"] + calls_["other1"], 2);
  EXPECT_EQ(calls_["k0"] + calls_["fine"] + calls_["k1"], 0);
  std::vector<std::string> ids;
  for (const ParkedEntry& entry : Parked()) {
    ids.push_back(entry.id);
    EXPECT_EQ(entry.head, 0) << entry.id;
  }
  EXPECT_THAT(ids, ElementsAre("bad", "k0", "fine", "k1"));
}

TEST_F(KafkaPark, ARedriveRunsAKeyInOrderAndWhatComesMeanwhileComesAfter) {
  CreateTopic(1);
  CreatePark();
  TestProducer producer(bootstrap_);
  std::atomic<bool> fixed = false;
  std::vector<std::string> order;
  const Handler handler = [&](const Message& message, Context& context) -> Outcome {
    if (context.id() == "bad" && !fixed) {
      return Reject{"not a payment"};
    }
    EXPECT_EQ(message.topic(), topic_);
    EXPECT_EQ(message.headers().size(), 1u);
    order.emplace_back(context.id());
    effects_.Append(message, context);
    return Done{};
  };
  for (const std::string id : {"bad", "k1", "k2"}) {
    SendOne(producer, id, "k", id);
  }
  producer.Flush();
  RunningMember member(Parking(), window_.get(), handler);
  ASSERT_TRUE(Eventually(seconds(30), [&] { return CommittedAt() == 3; }));
  EXPECT_EQ(Command(ParkCommand::Kind::kRedrive, Heads()).refused_again, 1u);
  EXPECT_EQ(Parked().size(), 3u);
  EXPECT_EQ(Parked()[0].redrives, 1u);
  fixed = true;
  SendOne(producer, "k3", "k", "k3");
  producer.Flush();
  ASSERT_TRUE(Eventually(seconds(30), [&] { return CommittedAt() == 4; }));
  const ParkProgress progress = Command(ParkCommand::Kind::kRedrive, Heads());
  EXPECT_EQ(progress.ended, 4u);
  EXPECT_EQ(progress.open, 0u);
  EXPECT_TRUE(Parked().empty());
  SendOne(producer, "k4", "k", "k4");
  producer.Flush();
  ASSERT_TRUE(Eventually(seconds(30), [&] { return CommittedAt() == 5; }));
  member.Stop();
  EXPECT_THAT(order, ElementsAre("bad", "k1", "k2", "k3", "k4"));
}

TEST_F(KafkaPark, ARedriveRunsTheEditedMessagesOnceAndInOrder) {
  CreateTopic(1);
  CreatePark();
  TestProducer producer(bootstrap_);
  std::vector<std::string> order;
  const Handler handler = [&](const Message& message, Context& context) -> Outcome {
    if (message.value() == "poison") {
      return Reject{"not a payment"};
    }
    order.push_back(std::string(context.id()) + "=" + std::string(*message.value()) + "," +
                    std::string(message.header("kind").value_or("none")));
    effects_.Append(message, context);
    return Done{};
  };
  for (const std::string id : {"bad", "k1", "k2"}) {
    SendOne(producer, id, "k", id == "bad" ? "poison" : id);
  }
  producer.Flush();
  RunningMember member(Parking(), window_.get(), handler);
  ASSERT_TRUE(Eventually(seconds(30), [&] { return CommittedAt() == 3; }));
  std::vector<ParkedEntry> parked = Parked();
  ASSERT_EQ(parked.size(), 3u);
  // The follower first, so that its record is before that of its head.
  for (const size_t edited : {1, 0}) {
    parked[edited].value = "corrected";
    parked[edited].headers.emplace_back("kind", "new");
    const auto counts = EditParked(Parking(), parked[edited], "edit", seconds(20));
    ASSERT_TRUE(counts) << ToString(counts.error());
    EXPECT_TRUE(*counts);
  }
  EXPECT_EQ(Command(ParkCommand::Kind::kRedrive, Heads()).ended, 3u);
  // Copies of the first one, as it was corrected and as it came.
  SendOne(producer, "bad", "k", "corrected");
  SendOne(producer, "bad", "k", "poison");
  SendOne(producer, "k3", "l", "k3");
  producer.Flush();
  ASSERT_TRUE(Eventually(seconds(30), [&] { return CommittedAt() == 6; }));
  const RunReport& report = member.Stop();
  EXPECT_THAT(order,
              ElementsAre("bad=corrected,new", "k1=corrected,new", "k2=k2,none", "k3=k3,none"));
  EXPECT_EQ(report.counts.suppressed, 1);
  EXPECT_EQ(report.counts.conflict, 1) << "the body of the done message is the corrected one";
}

TEST_F(KafkaPark, ADroppedMessageIsGivenUpAndTheNextOneIsTheHead) {
  CreateTopic(1);
  CreatePark();
  TestProducer producer(bootstrap_);
  for (const std::string id : {"bad", "k1"}) {
    SendOne(producer, id, "k", id);
  }
  producer.Flush();
  RunningMember member(Parking(), window_.get(), Picky());
  ASSERT_TRUE(Eventually(seconds(30), [&] { return CommittedAt() == 2; }));
  EXPECT_EQ(Command(ParkCommand::Kind::kDrop, Heads()).ended, 1u);
  const std::vector<ParkedEntry> left = Heads();
  ASSERT_EQ(left.size(), 1u);
  EXPECT_EQ(left[0].id, "k1");
  EXPECT_EQ(Command(ParkCommand::Kind::kRedrive, left).ended, 1u);
  member.Stop();
  EXPECT_EQ(calls_["bad"], 1);
  EXPECT_EQ(calls_["k1"], 1);
}

// The first owner dies before a commit shows the messages that it has parked and dropped.
TEST_F(KafkaPark, ADroppedMessageDoesNotComeBackUnderTheNextOwner) {
  CreateTopic(1);
  CreatePark();
  std::map<int32_t, CommittedOffset> shown;
  TestProducer producer(bootstrap_);
  {
    RunningMember member(Parking(), window_.get(), Picky());
    ASSERT_TRUE(Eventually(seconds(30), [&] { return CommittedAt() == 0; }));
    shown = admin_->Committed(group_, topic_);
    SendOne(producer, "bad", "k", "1");
    SendOne(producer, "k1", "k", "2");
    producer.Flush();
    ASSERT_TRUE(Eventually(seconds(30), [&] { return CommittedAt() == 2; }));
    ASSERT_EQ(Command(ParkCommand::Kind::kDrop, Parked()).ended, 2u);
  }
  ASSERT_TRUE(admin_->WaitUntilEmpty(group_, seconds(20)));
  admin_->Commit(group_, topic_, shown);
  RunningMember member(Parking(), window_.get(), Picky());
  SendOne(producer, "k2", "k", "3");
  producer.Flush();
  ASSERT_TRUE(Eventually(seconds(30), [&] { return CommittedAt() == 3; }));
  member.Stop();
  EXPECT_EQ(calls_["bad"], 1);
  EXPECT_EQ(calls_["k1"], 0);
  EXPECT_EQ(calls_["k2"], 1);
  EXPECT_TRUE(Parked().empty());
}

// The first owner dies before a commit shows the message that it has parked and redriven.
TEST_F(KafkaPark, AnEditedMessageDoesNotComeBackUnderTheNextOwner) {
  CreateTopic(1);
  CreatePark();
  std::map<int32_t, CommittedOffset> shown;
  TestProducer producer(bootstrap_);
  const Handler handler = [&](const Message& message, Context& context) -> Outcome {
    calls_[std::string(*message.value())]++;
    return context.id() == "bad" && message.value() == "poison" ? Outcome(Reject{"not a payment"})
                                                                : Done{};
  };
  {
    RunningMember member(Parking(), window_.get(), handler);
    ASSERT_TRUE(Eventually(seconds(30), [&] { return CommittedAt() == 0; }));
    shown = admin_->Committed(group_, topic_);
    SendOne(producer, "bad", "k", "poison");
    producer.Flush();
    ASSERT_TRUE(Eventually(seconds(30), [&] { return CommittedAt() == 1; }));
    ParkedEntry edited = Parked().at(0);
    edited.value = "corrected";
    ASSERT_TRUE(*EditParked(Parking(), edited, "edit", seconds(20)));
    ASSERT_EQ(Command(ParkCommand::Kind::kRedrive, Heads()).ended, 1u);
  }
  ASSERT_TRUE(admin_->WaitUntilEmpty(group_, seconds(20)));
  admin_->Commit(group_, topic_, shown);
  RunningMember member(Parking(), window_.get(), handler);
  SendOne(producer, "k1", "k", "next");
  producer.Flush();
  ASSERT_TRUE(Eventually(seconds(30), [&] { return CommittedAt() == 2; }));
  EXPECT_EQ(member.Stop().counts.conflict, 0);
  EXPECT_EQ(calls_["poison"], 1);
  EXPECT_EQ(calls_["corrected"], 1);
  EXPECT_EQ(calls_["next"], 1);
  EXPECT_TRUE(Parked().empty());
}

// Its window is its own, so it does not tell the member that it is no owner any more. Then the
// member becomes the owner again, and no commit shows the message.
TEST_F(KafkaPark, AMessageIsNotLostWhoseRecordCameAfterTheNextOwner) {
  CreateTopic(1);
  CreatePark();
  std::map<int32_t, CommittedOffset> shown;
  TestProducer producer(bootstrap_);
  {
    const Handler handler = [&](const Message&, Context&) -> Outcome {
      const std::string owner = std::to_string(SystemClock::Instance().Wall().micros);
      TestProducer next_owner(bootstrap_);
      next_owner.Send({.topic = topic_ + ".park",
                       .partition = 0,
                       .headers = {{"oncemq-park", "1 owner"}, {"oncemq-park-owner", owner}}});
      next_owner.Flush();
      return Reject{"not a payment"};
    };
    RunningMember member(Parking(), window_.get(), handler);
    ASSERT_TRUE(Eventually(seconds(30), [&] { return CommittedAt() == 0; }));
    shown = admin_->Committed(group_, topic_);
    SendOne(producer, "x", "k", "1");
    producer.Flush();
    ASSERT_TRUE(Eventually(seconds(30), [&] { return CommittedAt() == 1; }));
    EXPECT_TRUE(Parked().empty()) << "its record counts";
  }
  ASSERT_TRUE(admin_->WaitUntilEmpty(group_, seconds(20)));
  admin_->Commit(group_, topic_, shown);
  RunningMember member(Parking(), window_.get(), Picky());
  ASSERT_TRUE(Eventually(seconds(30), [&] { return CommittedAt() == 1; }));
  member.Stop();
  ASSERT_EQ(Parked().size(), 1u);
  EXPECT_EQ(Parked()[0].id, "x");
}

TEST_F(KafkaPark, ACommandWaitsForAnOwnerAndACancelledOneDoesNotCome) {
  CreateTopic(1);
  CreatePark();
  TestProducer producer(bootstrap_);
  SendOne(producer, "bad", "k", "1");
  SendOne(producer, "k1", "k", "2");
  SendOne(producer, "bad", "l", "1");
  producer.Flush();
  {
    RunningMember member(Parking(), window_.get(), Picky());
    ASSERT_TRUE(Eventually(seconds(30), [&] { return CommittedAt() == 3; }));
  }
  EXPECT_EQ(Command(ParkCommand::Kind::kDrop, Heads(), seconds(1)).open, 1u) << "nobody owns it";
  {
    RunningMember member(Parking(), window_.get(), Picky());
    ASSERT_TRUE(Eventually(seconds(30), [&] { return Parked().size() == 1; }));
  }
  ASSERT_EQ(Heads().size(), 1u);
  EXPECT_EQ(Command(ParkCommand::Kind::kRedrive, Heads(), seconds(1)).open, 1u);
  Command(ParkCommand::Kind::kCancel, Heads());
  SendOne(producer, "k2", "k", "3");
  producer.Flush();
  RunningMember member(Parking(), window_.get(), Picky());
  ASSERT_TRUE(Eventually(seconds(30), [&] { return CommittedAt() == 4; }));
  member.Stop();
  EXPECT_EQ(Parked().size(), 2u);
  EXPECT_EQ(calls_["k1"], 0);
}

TEST_F(KafkaPark, ACopyOfAParkedMessageFollowsIt) {
  CreateTopic(1);
  CreatePark();
  TestProducer producer(bootstrap_);
  for (int copy = 0; copy < 3; copy++) {
    SendOne(producer, "bad", "k" + std::to_string(copy), "1");
  }
  producer.Flush();
  RunningMember member(Parking(), window_.get(), Picky());
  ASSERT_TRUE(Eventually(seconds(30), [&] { return CommittedAt() == 3; }));
  const RunReport& report = member.Stop();
  EXPECT_EQ(report.counts.parked, 3);
  EXPECT_EQ(report.counts.attached, 2);
  EXPECT_EQ(calls_["bad"], 1);
  EXPECT_EQ(Parked().size(), 1u);
}

// The next owner has only the log, the commit and the park topic. What was done is suppressed, what
// is parked runs at its redrive, and no refusal makes the rest unknown.
void KafkaPark::MoveToAnEmptyWindow(const std::function<std::unique_ptr<Window>()>& open) {
  CreateTopic(1);
  CreatePark();
  TestProducer producer(bootstrap_);
  std::set<std::string> refused{"bad", "late", "gone"};
  const Handler handler = [&](const Message& message, Context& context) -> Outcome {
    const std::string id(context.id());
    calls_[id]++;
    if (refused.contains(id)) {
      return Reject{"no account"};
    }
    effects_.Append(message, context);
    return Done{};
  };
  const auto send = [&](std::vector<std::pair<std::string, std::string>> messages) {
    for (const auto& [id, key] : messages) {
      SendOne(producer, id, key, id);
    }
    producer.Flush();
  };
  const auto entry = [&](const std::string& id) {
    std::vector<ParkedEntry> entries = Parked();
    std::erase_if(entries, [&](const ParkedEntry& one) { return one.id != id; });
    EXPECT_EQ(entries.size(), 1u) << id;
    return entries;
  };
  RuntimeOptions options = Parking();
  options.incomplete = IncompletePolicy::kStop;
  {
    const auto window = open();
    RunningMember member(options, window.get(), handler);
    send({{"good", "a"}, {"late", "b"}, {"gone", "c"}, {"bad", "d"}});
    ASSERT_TRUE(Eventually(seconds(30), [&] { return CommittedAt() == 4; }));
    send({{"bad", "copy"}, {"good", "d"}, {"next", "d"}});  // attached, and two that follow
    ASSERT_TRUE(Eventually(seconds(30), [&] { return CommittedAt() == 7; }));
    refused.erase("late");
    EXPECT_EQ(Command(ParkCommand::Kind::kRedrive, entry("late")).ended, 1u);
    EXPECT_EQ(Command(ParkCommand::Kind::kDrop, entry("gone")).ended, 1u);
    EXPECT_EQ(member.Stop().counts.attached, 1);
    ASSERT_TRUE(admin_->WaitUntilEmpty(group_, seconds(20)));
  }
  EXPECT_EQ(Metadata().RecordedFrom(), 0);
  calls_.clear();
  refused.clear();
  const auto window = open();
  RunningMember member(options, window.get(), handler);
  send({{"good", "x"}, {"late", "y"}, {"gone", "z"}});
  ASSERT_TRUE(Eventually(seconds(30), [&] { return CommittedAt() == 10; }));
  EXPECT_THAT(calls_, ElementsAre(Pair("gone", 1))) << "given up, so a copy is a new message";
  EXPECT_EQ(Command(ParkCommand::Kind::kRedrive, entry("bad")).ended, 3u);
  send({{"bad", "x"}, {"next", "y"}});
  ASSERT_TRUE(Eventually(seconds(30), [&] { return CommittedAt() == 12; }));
  const RunReport& report = member.Stop();
  EXPECT_EQ(report.caught_up, 2);
  EXPECT_TRUE(report.stops.empty());
  EXPECT_THAT(calls_, ElementsAre(Pair("bad", 1), Pair("gone", 1), Pair("next", 1)));
  EXPECT_TRUE(Parked().empty());
}

TEST_F(KafkaPark, AWindowInMemoryIsCompletedOverParkedMessages) {
  MoveToAnEmptyWindow([] { return NewWindow(); });
}

TEST_F(KafkaPark, ALostWindowOnDiskIsCompletedOverParkedMessages) {
  const TempDir dir;
  int hosts = 0;
  MoveToAnEmptyWindow([&] {
    LocalWindowOptions options;
    options.directory = dir.path() / ("host" + std::to_string(hosts++));
    options.level = Level::kGuarded;
    auto window = OpenPartitionWindows(options, SystemClock::Instance());
    EXPECT_TRUE(window);
    return *std::move(window);
  });
}

// Without a window only the topic tells that the first owner has parked it.
TEST_F(KafkaPark, AMessageThatIsParkedTwiceIsOneEntry) {
  CreateTopic(1);
  CreatePark();
  Send(0, 1, 1);
  const Handler refuse = [](const Message&, Context&) -> Outcome { return Reject{"no"}; };
  for (int owner = 0; owner < 2; owner++) {
    RunningMember member(Parking(), nullptr, refuse);
    ASSERT_TRUE(Eventually(seconds(30), [&] { return CommittedAt() == 1; }));
    member.Stop();
    ASSERT_TRUE(admin_->WaitUntilEmpty(group_, seconds(20)));
    // Each owner says that it has begun.
    EXPECT_EQ(admin_->QueryWatermarks(topic_ + ".park", 0).high, owner + 2);
    EXPECT_EQ(Parked().size(), 1u);
    if (owner == 0) {
      admin_->AlterOffsets(group_, topic_, {{0, 0}});
    }
  }
}

TEST_F(KafkaPark, NothingIsConsumedWithoutAPlaceForWhatIsRefused) {
  CreateTopic(2);
  EXPECT_THAT(ErrorOfRun(Parking()), HasSubstr("`oncemq park create` makes it"));
  admin_->CreateTopic({.name = topic_ + ".park",
                       .partitions = 1,
                       .config = {{"retention.ms", "-1"}, {"retention.bytes", "-1"}}});
  EXPECT_THAT(ErrorOfRun(Parking()), HasSubstr("has 1 partitions"));
  const auto made = CreateParkTopics(Parking(), seconds(20));
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, Code::kInvalid) << ToString(made.error());
  admin_->DeleteTopic(topic_ + ".park");
  admin_->CreateTopic({.name = topic_ + ".park", .partitions = 2});
  EXPECT_THAT(ErrorOfRun(Parking()), HasSubstr("retention.ms is 604800000, and must be -1"));
}

}  // namespace
}  // namespace oncemq::testing
