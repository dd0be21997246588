// SPDX-License-Identifier: Apache-2.0
// The records of a park topic, as a client reads them.
#include "park_record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kafka_message.h"
#include "oncemq/framework/park.h"
#include "park_fixture.h"

namespace oncemq::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::Pair;

using ParkRecords = ParkFixture;

TEST_F(ParkRecords, EachKindIsReadAsItWasWritten) {
  std::vector<ParkRecord> written;
  for (int kind = 0; kind <= static_cast<int>(ParkKind::kEdit); kind++) {
    ParkRecord& record = written.emplace_back();
    record = {.kind = static_cast<ParkKind>(kind), .place = kind, .offset = 41, .owner = 9};
    record.why = "no account";
    if (record.kind == ParkKind::kEdit) {
      record.owner = 0;
      record.attempts = 4;
      record.id = "pay-1";
      record.run = "ticket-7";
      record.replaces = 17;
    } else if (IsEntry(record.kind)) {
      record.first = kind % 2 == 0;
      record.attempts = 4;
      record.id = "pay-1";
    } else {
      record.attempts = record.kind == ParkKind::kAgain ? 4 : 0;
      record.run = "ticket-7";
    }
    Send(HasMessage(record.kind) ? EntryHeaders(record, SourceMessage(), "group")
                                 : OtherHeaders(record));
  }
  const std::vector<RecordPtr>& records = Read();
  ASSERT_EQ(records.size(), written.size());
  for (size_t i = 0; i < records.size(); i++) {
    const auto read = ReadParkRecord(*records[i]);
    ASSERT_TRUE(read) << ToString(written[i].kind);
    EXPECT_EQ(read->kind, written[i].kind);
    EXPECT_EQ(read->place, written[i].place) << ToString(read->kind);
    EXPECT_EQ(read->offset, written[i].offset) << ToString(read->kind);
    EXPECT_EQ(read->owner, written[i].owner) << ToString(read->kind);
    EXPECT_EQ(read->first, written[i].first) << ToString(read->kind);
    EXPECT_EQ(read->attempts, written[i].attempts) << ToString(read->kind);
    EXPECT_EQ(read->id, written[i].id) << ToString(read->kind);
    EXPECT_EQ(read->why, written[i].why) << ToString(read->kind);
    EXPECT_EQ(read->run, written[i].run) << ToString(read->kind);
    EXPECT_EQ(read->replaces, written[i].replaces) << ToString(read->kind);
  }
}

TEST_F(ParkRecords, ThoseOfAToolHaveNeitherOffsetNorOwnerUnlessTheySaySo) {
  Send(OtherHeaders({.kind = ParkKind::kCancel, .run = "ticket-7"}));
  const auto read = ReadParkRecord(*Read()[0]);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->offset, -1);
  EXPECT_EQ(read->owner, 0u);
  EXPECT_EQ(read->why, "");
}

TEST_F(ParkRecords, AMessageThatWasParkedBeforeKeepsTheHeadersOfThat) {
  ParkHeaders own{{"twice", "1"}};
  for (auto& header : EntryHeaders(
           {.kind = ParkKind::kFollows, .owner = 2, .first = true, .attempts = 9, .id = "earlier"},
           SourceMessage(), "other")) {
    own.push_back(std::move(header));
  }
  own.emplace_back("twice", std::nullopt);
  own.emplace_back("empty", "");
  ParkHeaders all = own;
  for (auto& header : EntryHeaders({.owner = 5, .why = "no"}, SourceMessage(), "group")) {
    all.push_back(std::move(header));
  }
  Send(all);
  ParkHeaders read_own;
  const auto read = ReadParkRecord(*Read()[0], &read_own);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->kind, ParkKind::kParked);
  EXPECT_EQ(read->owner, 5u);
  EXPECT_EQ(read->attempts, 0u);
  EXPECT_FALSE(read->first) << "of the earlier parking";
  EXPECT_EQ(read->id, "") << "of the earlier parking";
  EXPECT_THAT(read_own, ElementsAreArray(own));
}

TEST_F(ParkRecords, ARedrivenMessageIsTheOneThatWasParkedOrEdited) {
  for (const ParkKind kind : {ParkKind::kParked, ParkKind::kEdit}) {
    ParkHeaders all{{"h", "1"}, {"h", std::nullopt}};
    for (auto& header :
         EntryHeaders({.kind = kind, .offset = 41, .id = "pay-1"}, SourceMessage(), "group")) {
      all.push_back(std::move(header));
    }
    Send(all);
  }
  MessageReader reader(Options(), {.window = true, .max_bytes = 1024});
  for (const RecordPtr& record : Read()) {
    RedrivenArrival arrival;
    reader.ReadParked(record.get(), arrival);
    EXPECT_EQ(arrival.offset, 41);
    EXPECT_EQ(arrival.id, "pay-1");
    const auto view = reader.NewView();
    const Message& message = view->Show(arrival.message);
    EXPECT_EQ(message.topic(), "payments");
    EXPECT_EQ(message.offset(), 41);
    EXPECT_EQ(message.key(), "k");
    EXPECT_EQ(message.value(), "v");
    ParkHeaders headers;
    for (const MessageHeader& header : message.headers()) {
      headers.emplace_back(header.name,
                           header.value ? std::optional<std::string>(*header.value) : std::nullopt);
    }
    EXPECT_THAT(headers, ElementsAre(Pair("h", "1"), Pair("h", std::nullopt)));
    EXPECT_NE(reader.Redriven(arrival.message), nullptr);
    reader.Release(arrival.message);
  }
}

TEST_F(ParkRecords, AnEditOfAMessageThatWasParkedBeforeHasNoOwner) {
  ParkHeaders all = EntryHeaders({.owner = 7}, SourceMessage(), "other");
  for (auto& header : EntryHeaders({.kind = ParkKind::kEdit}, SourceMessage(), "group")) {
    all.push_back(std::move(header));
  }
  Send(all);
  EXPECT_EQ(ReadParkRecord(*Read()[0])->owner, 0u);
}

TEST_F(ParkRecords, WhatIsNotOursIsNoRecord) {
  Send({});
  Send({{"__dlq.errors.topic", "payments"}, {"__dlq.errors.offset", "41"}});
  for (const char* kind :
       {"", "1", "1 ", "1 burned", "2 parked", "parked", "1 parked ", "11 parked"}) {
    Send({{std::string(kParkHeader), kind}});
  }
  Send({{std::string(kParkHeader), std::nullopt}});
  // Another program has copied an entry, and says what has failed there.
  ParkHeaders copied = EntryHeaders({}, SourceMessage(), "group");
  copied.emplace_back("__dlq.errors.topic", "payments.park");
  Send(copied);
  for (const RecordPtr& record : Read()) {
    EXPECT_FALSE(ReadParkRecord(*record)) << record->offset;
  }
}

TEST_F(ParkRecords, NumbersThatCannotBeReadAreNone) {
  const auto entry = [](std::optional<std::string> number) {
    return ParkHeaders{
        {"__dlq.errors.topic", "payments"},      {"__dlq.errors.offset", number},
        {"__dlq.errors.delivery.count", number}, {"__dlq.errors.message", std::nullopt},
        {std::string(kParkHeader), "1 parked"},  {"oncemq-park-owner", number}};
  };
  Send({{std::string(kParkHeader), "1 parked"}});
  Send(entry(std::nullopt));
  for (const char* number : {"", "x", " 1", "0x", "7 ", "99999999999999999999999"}) {
    Send(entry(number));
  }
  for (const RecordPtr& record : Read()) {
    const auto read = ReadParkRecord(*record);
    ASSERT_TRUE(read) << record->offset;
    EXPECT_EQ(read->offset, -1) << record->offset;
    EXPECT_EQ(read->attempts, 0u) << record->offset;
    EXPECT_EQ(read->owner, 0u) << record->offset;
    EXPECT_EQ(read->why, "");
  }
}

TEST_F(ParkRecords, OfALongReasonTheBeginStays) {
  const std::string why(5'000, 'x');
  Send(EntryHeaders({.why = why}, SourceMessage(), "group"));
  Send(OtherHeaders({.kind = ParkKind::kAgain, .offset = 41, .why = why}));
  for (const RecordPtr& record : Read()) {
    EXPECT_EQ(ReadParkRecord(*record)->why.size(), 1'000u);
  }
}

}  // namespace
}  // namespace oncemq::testing
