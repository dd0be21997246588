// SPDX-License-Identifier: Apache-2.0
// One parked message as a tool sees it, and the edits of its body.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "oncemq/framework/park.h"
#include "park_fixture.h"

namespace oncemq::testing {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ParkEditTest : public ParkFixture {
 protected:
  static constexpr std::string_view kIdHeader = "message-id";

  void Park(int64_t offset, std::string id = "pay-1", ParkKind kind = ParkKind::kParked) {
    ParkHeaders headers{{std::string(kIdHeader), id}, {"null", std::nullopt}, {"empty", ""}};
    for (auto& header :
         EntryHeaders({.kind = kind, .id = id, .why = "no account"}, SourceMessage(), "group")) {
      headers.push_back(std::move(header));
    }
    headers.emplace_back("__dlq.errors.offset", std::to_string(offset));
    Send(headers);
    producer_->Flush();
  }
  void Write(ParkKind kind, int64_t offset, const std::string& run = "") {
    Send(OtherHeaders({.kind = kind, .offset = offset, .run = run}));
    producer_->Flush();
  }
  ParkedMessage Message(int64_t offset) const {
    auto message = ReadParkedMessage(Options(), {.topic = "payments", .offset = offset}, kWithin);
    EXPECT_TRUE(message) << ToString(message.error());
    return message ? *std::move(message) : ParkedMessage{};
  }
  std::vector<ParkedEntry> Parked() const {
    std::vector<ParkedEntry> entries;
    EXPECT_TRUE(ReadParked(Options(), kWithin, [&](const ParkedEntry& entry) {
      entries.push_back(entry);
      return true;
    }));
    return entries;
  }
  // Kind and, for a void record, an exclamation mark.
  static std::vector<std::string> HistoryOf(const ParkedMessage& message) {
    std::vector<std::string> kinds;
    for (const ParkEvent& event : message.history) {
      kinds.push_back(event.kind + (event.counts ? "" : "!"));
    }
    return kinds;
  }

  static constexpr seconds kWithin{20};
};

TEST_F(ParkEditTest, AnEditIsTheBodyOfTheMessageAndOfTwoTheFirstCounts) {
  Park(41);
  Park(42, "pay-2", ParkKind::kFollows);
  const ParkedMessage before = Message(42);
  EXPECT_EQ(before.entry.body_offset, 1);
  EXPECT_THAT(before.chain, ElementsAre(41, 42));
  ParkedEntry edited = before.entry;
  edited.value = "corrected";
  edited.headers.emplace_back("twice", std::nullopt);
  const auto first = EditParked(Options(), edited, "ticket-7", kWithin);
  ASSERT_TRUE(first) << ToString(first.error());
  EXPECT_TRUE(*first);
  edited.value = "corrected otherwise";
  const auto second = EditParked(Options(), edited, "ticket-8", kWithin);
  ASSERT_TRUE(second) << ToString(second.error());
  EXPECT_FALSE(*second) << "it was made of the body before the first one";
  const ParkedMessage after = Message(42);
  EXPECT_THAT(HistoryOf(after), ElementsAre("follows", "edit", "edit!"));
  EXPECT_EQ(after.history[1].run, "ticket-7");
  EXPECT_EQ(after.entry.park_offset, 1);
  EXPECT_EQ(after.entry.body_offset, 2);
  EXPECT_EQ(after.entry.timestamp_ms, before.entry.timestamp_ms);
  const std::vector<ParkedEntry> all = Parked();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].value, "v");
  for (const ParkedEntry& entry : {all[1], after.entry}) {
    EXPECT_EQ(entry.offset, 42);
    EXPECT_EQ(entry.id, "pay-2");
    EXPECT_EQ(entry.key, "k");
    EXPECT_EQ(entry.value, "corrected");
    EXPECT_EQ(entry.headers.size(), 4u);
    EXPECT_EQ(entry.headers[1].second, std::nullopt);
    EXPECT_EQ(entry.headers[2].second, "");
    EXPECT_EQ(entry.head, 41);
  }
}

TEST_F(ParkEditTest, AMessageThatIsRedrivenOrHasEndedIsNotEdited) {
  Park(41);
  Write(ParkKind::kRedrive, 41, "ticket-7");
  const ParkedEntry entry = Message(41).entry;
  EXPECT_TRUE(entry.redriving);
  for (const auto& [kind, why] : {std::pair(ParkKind::kCancel, "is being redriven"),
                                  std::pair(ParkKind::kEnded, "since a cancelled redrive"),
                                  std::pair(ParkKind::kRedrive, "it has ended")}) {
    const auto refused = EditParked(Options(), entry, "late", kWithin);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::kInvalid);
    EXPECT_THAT(refused.error().message, HasSubstr(why));
    Write(kind, 41, "ticket-7");
  }
  const ParkedMessage ended = Message(41);
  EXPECT_FALSE(ended.parked);
  EXPECT_THAT(ended.chain, ElementsAre());
  EXPECT_EQ(ended.entry.value, "v") << "its record has the body";
  EXPECT_THAT(HistoryOf(ended), ElementsAre("parked", "redrive", "cancel", "ended", "redrive!"));
}

TEST_F(ParkEditTest, AFollowerIsRedrivenWithItsHead) {
  Park(41);
  Park(42, "pay-2", ParkKind::kFollows);
  Write(ParkKind::kRedrive, 41, "ticket-7");
  Write(ParkKind::kAgain, 41);
  const ParkedMessage follower = Message(42);
  EXPECT_THAT(HistoryOf(follower), ElementsAre("follows", "redrive", "again"));
  EXPECT_EQ(follower.history[1].run, "ticket-7");
  EXPECT_EQ(follower.history[1].offset, 41);
  EXPECT_EQ(follower.entry.redrives, 0u) << "its head was refused again";
  EXPECT_TRUE(follower.editable);
}

TEST_F(ParkEditTest, MessagesAreFoundByTheirIdAlsoAfterTheirEnd) {
  Park(41);
  Park(41);
  Park(42, "pay-2");
  Park(43);
  Write(ParkKind::kEnded, 43);
  const auto found = FindParked(Options(), "pay-1", kWithin);
  ASSERT_TRUE(found) << ToString(found.error());
  ASSERT_EQ(found->size(), 2u);
  EXPECT_EQ((*found)[0].offset, 41);
  EXPECT_EQ((*found)[1].offset, 43);
  EXPECT_TRUE(FindParked(Options(), "pay-3", kWithin)->empty());
  const auto never = ReadParkedMessage(Options(), {.topic = "payments", .offset = 7}, kWithin);
  ASSERT_FALSE(never);
  EXPECT_EQ(never.error().code, Code::kNotFound);
}

// By the recipe of the service.
TEST(ParkEditCheck, KeyAndIdStay) {
  RuntimeOptions options;
  ParkedMessage message{.entry = {.topic = "payments",
                                  .key = "k",
                                  .value = "v",
                                  .headers = {{"message-id", "a"}, {"message-id", "pay-1"}}},
                        .parked = true,
                        .editable = true};
  const auto why = [&](const ParkedEntry& edited) {
    const Status fits = CheckEdit(options, message, edited);
    EXPECT_TRUE(fits || fits.error().code == Code::kInvalid);
    return fits ? "" : fits.error().message;
  };
  ParkedEntry other_value = message.entry;
  other_value.value = std::nullopt;
  other_value.headers = {{"message-id", "pay-1"}, {"more", "1"}};
  EXPECT_EQ(why(other_value), "") << "the last header of the name counts";
  ParkedEntry other_key = message.entry;
  other_key.key = std::nullopt;
  EXPECT_THAT(why(other_key), HasSubstr("its key is the order"));
  for (const std::optional<std::string>& id :
       {std::optional<std::string>("pay-2"), std::optional<std::string>()}) {
    ParkedEntry other_id = message.entry;
    other_id.headers.emplace_back("message-id", id);
    EXPECT_THAT(why(other_id), HasSubstr("the header message-id is its id"));
    options.missing_id = MissingId::kCoordinates;
    EXPECT_THAT(why(other_id), HasSubstr("the header message-id is its id"));
    options.missing_id = MissingId::kRefuse;
    options.id_from = IdFrom::kCoordinates;
    EXPECT_EQ(why(other_id), "");
    options.id_from = IdFrom::kKey;
    EXPECT_EQ(why(other_id), "");
    options.id_from = IdFrom::kHeader;
  }
  message.entry.headers.clear();
  ParkedEntry with_id = message.entry;
  with_id.headers.emplace_back("message-id", "pay-1");
  EXPECT_THAT(why(with_id), HasSubstr("the header message-id is its id"));
}

}  // namespace
}  // namespace oncemq::testing
