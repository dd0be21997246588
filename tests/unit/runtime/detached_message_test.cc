// SPDX-License-Identifier: Apache-2.0
// Messages that wait while others go: their copies are the same to a handler, in every form in
// which the reader keeps them, and hold nothing of librdkafka's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "kafka_message.h"
#include "oncemq/base/mutex.h"
#include "oncemq/dedup/memory_window.h"
#include "support/eventually.h"
#include "support/mock_cluster.h"
#include "support/test_producer.h"

namespace oncemq::testing {
namespace {

using std::chrono::seconds;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr char kPlace[] = "topic";
const std::string kLongId(200, 'i');

class DetachedMessages : public ::testing::Test {
 protected:
  void SetUp() override {
    cluster_.CreateTopic(kPlace, 1);
    producer_.emplace(cluster_.address());
  }

  void Send(OutMessage message) {
    message.topic = kPlace;
    message.partition = 0;
    producer_->Send(message);
    sent_++;
  }
  void SendAllKinds() {
    Send({.key = "k", .value = "v", .headers = {{"message-id", "pay-1"}}});
    Send({.key = "", .value = "", .headers = {{"message-id", kLongId}}});
    Send({.headers = {{"message-id", "pay-3"}, {"h", "first"}, {"h", "last"}, {"empty", ""}}});
    Send({.headers = {{"h", "1"}, {"message-id", "pay-4"}, {"h", std::nullopt}, {"", "\xff"}}});
    Send({.key = std::string_view("a\0b", 3), .value = std::string_view("\0", 1)});
    Send({.key = "k", .value = "v", .timestamp_ms = 1'600'000'000'000});
  }

  // All that was sent, without a group.
  void Open() {
    producer_->Flush();
    char error[256];
    rd_kafka_conf_t* const conf = rd_kafka_conf_new();
    for (const auto& [name, value] :
         std::map<std::string, std::string>{{"bootstrap.servers", cluster_.address()},
                                            {"group.id", "reader"},
                                            {"auto.offset.reset", "error"}}) {
      rd_kafka_conf_set(conf, name.c_str(), value.c_str(), error, sizeof error);
    }
    client_.reset(rd_kafka_new(RD_KAFKA_CONSUMER, conf, error, sizeof error));
    const PartitionListPtr list(rd_kafka_topic_partition_list_new(1));
    rd_kafka_topic_partition_list_add(list.get(), kPlace, 0)->offset = 0;
    rd_kafka_assign(client_.get(), list.get());
  }
  void ReadAll(MessageReader& reader) {
    Open();
    EXPECT_TRUE(Eventually(seconds(20), [&] {
      if (rd_kafka_message_t* const message = rd_kafka_consumer_poll(client_.get(), 10)) {
        reader.Read(message, arrivals_.emplace_back());
      }
      return arrivals_.size() == sent_;
    }));
  }

  // All that a handler can ask, and the id.
  static std::string Text(MessageView& view, void* pointer, std::string_view id) {
    const Message& message = view.Show(pointer);
    const auto or_none = [](std::optional<std::string_view> text) {
      return text ? "\"" + std::string(*text) + "\"" : "none";
    };
    std::string text = std::string(message.topic()) + "/" + std::to_string(message.partition()) +
                       "/" + std::to_string(message.offset()) + " at " +
                       std::to_string(message.timestamp_ms()) + ": " + or_none(message.key()) +
                       " = " + or_none(message.value()) + ", id " + std::string(id);
    for (const char* name : {"message-id", "h", "empty", "other", ""}) {
      text += ", " + or_none(message.header(name));
    }
    for (const MessageHeader& header : message.headers()) {
      text += "; " + std::string(header.name) + " = " + or_none(header.value);
    }
    return text;
  }

  MockCluster cluster_{1};
  std::optional<TestProducer> producer_;
  ClientPtr client_;
  size_t sent_ = 0;
  std::vector<Arrival> arrivals_;
};

class DetachedForms : public DetachedMessages, public ::testing::WithParamInterface<IdFrom> {};

INSTANTIATE_TEST_SUITE_P(Ids, DetachedForms,
                         ::testing::Values(IdFrom::kHeader, IdFrom::kKey, IdFrom::kCoordinates));

TEST_P(DetachedForms, ACopyIsTheSameToItsHandlerAndOutlivesTheClient) {
  SendAllKinds();
  RuntimeOptions options;
  options.id_from = GetParam();
  MessageReader reader(options, {.window = true, .max_bytes = 1024});
  const auto view = reader.NewView();
  ReadAll(reader);
  std::vector<std::string> before;
  std::vector<LeftBehind> copies;
  for (const Arrival& arrival : arrivals_) {
    before.push_back(Text(*view, arrival.message, arrival.id));
    LeftBehind& copy = copies.emplace_back(LeftBehind{0, arrival.message, arrival.id, 0});
    ASSERT_NE(reader.Raw(copy.message), nullptr);
    reader.Detach(copy);
    EXPECT_EQ(reader.Raw(copy.message), nullptr);
  }
  EXPECT_EQ(reader.copies(), sent_);
  client_.reset();
  for (size_t i = 0; i < copies.size(); i++) {
    EXPECT_EQ(Text(*view, copies[i].message, copies[i].id), before[i]);
    reader.Release(copies[i].message);
  }
  EXPECT_EQ(reader.copies(), 0u);
}

TEST_F(DetachedMessages, HeadersAreAllInOrderAndNullIsNotEmpty) {
  const std::string_view binary("a\0\xff", 3);
  Send({.headers = {{"h", "first"}, {"bytes", binary}, {"h", ""}, {"h", std::nullopt}}});
  Send({.value = "without"});
  MessageReader reader(RuntimeOptions{}, {.window = false});
  const auto view = reader.NewView();
  ReadAll(reader);
  const auto all = ElementsAre(MessageHeader{"h", "first"}, MessageHeader{"bytes", binary},
                               MessageHeader{"h", ""}, MessageHeader{"h", std::nullopt});
  for (const bool copied : {false, true}) {
    for (Arrival& arrival : arrivals_) {
      if (copied) {
        LeftBehind copy{0, arrival.message, arrival.id, 0};
        reader.Detach(copy);
        arrival.message = copy.message;
      }
    }
    const Message& with = view->Show(arrivals_[0].message);
    EXPECT_THAT(with.headers(), all) << copied;
    EXPECT_THAT(with.headers(), all) << "asked twice";
    EXPECT_EQ(with.header("h"), "") << "null, and the last one";
    EXPECT_THAT(view->Show(arrivals_[1].message).headers(), IsEmpty()) << copied;
    EXPECT_THAT(view->Show(arrivals_[0].message).headers(), all) << "shown again";
  }
  for (const Arrival& arrival : arrivals_) {
    reader.Release(arrival.message);
  }
}

TEST_F(DetachedMessages, KeyValueAndHeadersCountBeforeAndAfter) {
  const std::string large(10'000, 'h');
  Send({.key = "key", .value = "value", .headers = {{"message-id", "pay-1"}, {"name", large}}});
  Send({.key = "key", .value = "value"});
  RuntimeOptions options;
  options.missing_id = MissingId::kPass;
  MessageReader reader(options, {.window = true, .max_bytes = 1024});
  ReadAll(reader);
  EXPECT_GE(arrivals_[0].bytes, 10'000u + 3 + 5 + 4 + 10 + 5);
  EXPECT_LT(arrivals_[0].bytes, 10'500u);
  EXPECT_GE(arrivals_[1].bytes, 3u + 5);
  EXPECT_LT(arrivals_[1].bytes, 500u);
  for (const Arrival& arrival : arrivals_) {
    LeftBehind copy{0, arrival.message, arrival.id, arrival.bytes};
    reader.Detach(copy);
    EXPECT_EQ(copy.bytes, arrival.bytes + std::string(kPlace).size());
    reader.Release(copy.message);
  }
}

TEST_F(DetachedMessages, WhereHeadersAreNotReadTheirSizeIsLearnt) {
  const std::string large(10'000, 'h');
  for (int i = 0; i < 130; i++) {
    Send({.key = "key", .value = "value", .headers = {{"name", large}}});
  }
  MessageReader reader(RuntimeOptions{}, {.window = false});
  const auto view = reader.NewView();
  ReadAll(reader);
  EXPECT_LT(arrivals_[0].bytes, 500u) << "not known yet";
  EXPECT_GE(arrivals_[64].bytes, 10'000u);
  EXPECT_GE(arrivals_[129].bytes, 10'000u);
  EXPECT_EQ(view->Show(arrivals_[63].message).header("name"), large) << "it was looked at";
  for (const Arrival& arrival : arrivals_) {
    reader.Release(arrival.message);
  }
}

// The whole way: a message that waits is copied while others go, handled as it was sent, and
// released once.
TEST_F(DetachedMessages, ARuntimeCopiesWhatWaitsAndHandlesItAsItWasSent) {
  constexpr int kOthers = 200;
  RuntimeOptions options;
  options.kafka = {.brokers = cluster_.address(), .group = "group", .topics = {kPlace}};
  options.ids_partition_owned = true;
  options.core.session_timeout = seconds(10);
  options.core.commit_interval = milliseconds(50);
  options.core.waiting.left_behind_bytes = 1'000;
  const auto window = *OpenMemoryWindow({.level = Level::kGuarded}, SystemClock::Instance());
  std::atomic<int> others = 0;
  Mutex mutex;
  std::vector<std::string> seen;
  auto runtime = Runtime::Open(
      options, window.get(), [&](const Message& message, Context& context) -> Outcome {
        if (message.key() != "waits") {
          others++;
          return Done{};
        }
        MutexLock lock(mutex);
        seen.push_back(std::string(message.topic()) + " " + std::string(*message.value()) + " " +
                       std::string(context.id()) + " " +
                       std::string(message.header("h").value_or("")));
        return others < 2 * kOthers ? Outcome(Retry{.after = milliseconds(20)}) : Outcome(Done{});
      });
  ASSERT_TRUE(runtime) << ToString(runtime.error());
  const auto send_others = [&](int first) {
    for (int i = first; i < first + kOthers; i++) {
      const std::string id = std::to_string(i);
      Send({.key = id, .value = "v", .headers = {{"message-id", id}}});
    }
    producer_->Flush();
  };
  Send({.key = "waits", .value = "mine", .headers = {{"message-id", kLongId}, {"h", "x"}}});
  send_others(0);
  RunReport report;
  {
    std::jthread run([&](const std::stop_token& stop) { report = (*runtime)->Run(stop); });
    EXPECT_TRUE(Eventually(seconds(30), [&] { return others == kOthers; }));
    send_others(kOthers);
    EXPECT_TRUE(Eventually(seconds(30),
                           [&] { return (*runtime)->Report().counts.applied == 2 * kOthers + 1; }));
  }
  EXPECT_TRUE(report.clean);
  MutexLock lock(mutex);
  EXPECT_THAT(seen, SizeIs(::testing::Gt(1)));
  EXPECT_THAT(seen, Each("topic mine " + kLongId + " x"));
}

}  // namespace
}  // namespace oncemq::testing
