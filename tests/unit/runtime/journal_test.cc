// SPDX-License-Identifier: Apache-2.0
#include "journal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "support/temp_dir.h"

namespace oncemq::testing {
namespace {

class JournalTest : public ::testing::Test {
 protected:
  std::unique_ptr<Journal> Open() {
    auto journal = Journal::Open(path(), {"orders", "refunds"});
    EXPECT_TRUE(journal) << ToString(journal.error());
    return journal ? *std::move(journal) : nullptr;
  }
  std::string path() const { return dir_.path() / "refused.jsonl"; }

  static BatchItem Item(std::string_view id, int64_t offset, uint32_t source = 0) {
    BatchItem item;
    item.id = id;
    item.at = {source, 3, offset};
    return item;
  }
  static uint64_t Append(Journal& journal, const BatchItem& item, std::string_view why) {
    const JournalEntry entry{&item, why};
    const auto first = journal.Append({&entry, 1});
    EXPECT_TRUE(first);
    return first.value_or(0);
  }
  std::vector<nlohmann::json> Lines() const {
    std::vector<nlohmann::json> lines;
    std::ifstream in(path());
    for (std::string line; std::getline(in, line);) {
      lines.push_back(nlohmann::json::parse(line));
    }
    return lines;
  }
  void Write(const std::string& bytes) const { std::ofstream(path(), std::ios::app) << bytes; }

  TempDir dir_;
};

TEST_F(JournalTest, NobodyElseMayReadIt) {
  const mode_t before = umask(022);
  const auto journal = Open();
  umask(before);
  struct stat facts {};
  ASSERT_EQ(stat(path().c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 07777, 0600u);
}

TEST_F(JournalTest, AnEntryNamesWhereAndWhichAndWhy) {
  const auto journal = Open();
  EXPECT_EQ(Append(*journal, Item("p-17", 1042, 1), "not a payment"), 1U);
  const auto lines = Lines();
  ASSERT_EQ(lines.size(), 1U);
  std::string first;
  std::ifstream in(path());
  std::getline(in, first);
  EXPECT_THAT(first, ::testing::StartsWith("{\"v\":1,\"entry\":1,"));
  EXPECT_EQ(lines[0], nlohmann::json::parse(R"({"v":1,"entry":1,"topic":"refunds","partition":3,
      "offset":1042,"id":"p-17","why":"not a payment"})"));
}

// A shared window numbers topics for all members, in its own order.
TEST_F(JournalTest, ATopicHasTheNumberThatItsWindowGivesIt) {
  const auto journal = Open();
  journal->Name(0, "refunds");
  journal->Name(7, "orders");
  Append(*journal, Item("p-1", 1, 0), "no");
  Append(*journal, Item("p-2", 2, 7), "no");
  EXPECT_EQ(Lines().at(0)["topic"], "refunds");
  EXPECT_EQ(Lines().at(1)["topic"], "orders");
}

TEST_F(JournalTest, AnEntryOfAMessageThatPassedSaysSo) {
  const auto journal = Open();
  const BatchItem item = Item("", 5);
  const JournalEntry entry{&item, "it has no id", RecordKind::kPassed};
  EXPECT_TRUE(journal->Append({&entry, 1}));
  EXPECT_EQ(Lines().at(0), nlohmann::json::parse(R"({"v":1,"entry":1,"topic":"orders","partition":3,
      "offset":5,"id":"","outcome":"passed","why":"it has no id"})"));
}

TEST_F(JournalTest, EveryByteMakesValidJson) {
  const auto journal = Open();
  std::string all;
  for (int byte = 0; byte < 256; byte++) {
    all += static_cast<char>(byte);
  }
  Append(*journal, Item(all, 1), all);
  Append(*journal, Item("quote \" and \\", 2), "line\nfeed");
  const auto lines = Lines();
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_FALSE(lines[0].contains("id"));
  EXPECT_EQ(lines[0]["id_hex"].get<std::string>().substr(0, 8), "00010203");
  EXPECT_EQ(lines[0]["id_hex"].get<std::string>().size(), 512U);
  EXPECT_EQ(lines[1]["id"], "quote \" and \\");
  EXPECT_EQ(lines[1]["why"], "line\nfeed");
}

TEST_F(JournalTest, NumbersGoOnAfterARestart) {
  Append(*Open(), Item("a", 1), "");
  auto journal = Open();
  EXPECT_EQ(Append(*journal, Item("b", 2), ""), 2U);
  const BatchItem c = Item("c", 3);
  const BatchItem d = Item("d", 4);
  const JournalEntry entries[] = {{&c, "x"}, {&d, "y"}};
  EXPECT_EQ(journal->Append(entries).value_or(0), 3U);
  journal.reset();
  EXPECT_EQ(Append(*Open(), Item("e", 5), ""), 5U);
  EXPECT_EQ(Lines().size(), 5U);
}

TEST_F(JournalTest, ATornLineIsCutOff) {
  Append(*Open(), Item("a", 1), "");
  Write("{\"v\":1,\"entry\":2,\"topic\":\"ord");
  EXPECT_EQ(Append(*Open(), Item("b", 2), ""), 2U);
  ASSERT_EQ(Lines().size(), 2U);
  EXPECT_EQ(Lines()[1]["id"], "b");
}

TEST_F(JournalTest, AFileThatTearsInItsFirstLineBeginsAgain) {
  Write("{\"v\":1,\"entry\":1,");
  EXPECT_EQ(Append(*Open(), Item("a", 1), ""), 1U);
  EXPECT_EQ(Lines().size(), 1U);
}

TEST_F(JournalTest, AJournalHasOneWriter) {
  auto first = Open();
  Append(*first, Item("a", 1), "");
  const auto second = Journal::Open(path(), {});
  ASSERT_FALSE(second) << "it would give the same numbers, and cut off what the first has synced";
  EXPECT_EQ(second.error().code, Code::kInvalid);
  EXPECT_THAT(second.error().message, ::testing::HasSubstr("another member"));
  EXPECT_EQ(Append(*first, Item("b", 2), ""), 2U);
  EXPECT_EQ(Lines().size(), 2U);
  first.reset();
  EXPECT_EQ(Append(*Open(), Item("c", 3), ""), 3U);
}

TEST_F(JournalTest, AnotherNameOfTheSameFileIsTheSameJournal) {
  const auto first = Open();
  const std::string hard = dir_.path() / "hard";
  const std::string soft = dir_.path() / "soft";
  std::filesystem::create_hard_link(path(), hard);
  std::filesystem::create_symlink(path(), soft);
  for (const std::string& name : {hard, soft}) {
    const auto second = Journal::Open(name, {});
    ASSERT_FALSE(second) << name;
    EXPECT_THAT(second.error().message, ::testing::HasSubstr("another member"));
  }
}

TEST_F(JournalTest, MembersMayShareADirectoryAndNoneTakesItForAFile) {
  const auto first = Open();
  const auto second = Journal::Open(dir_.path() / "of_another", {});
  EXPECT_TRUE(second) << ToString(second.error());
  const auto directory = Journal::Open(dir_.path().string(), {});
  ASSERT_FALSE(directory);
  EXPECT_EQ(directory.error().code, Code::kInvalid);
  EXPECT_THAT(directory.error().message, ::testing::HasSubstr("is a directory"));
}

TEST_F(JournalTest, AVersionThatNobodyKnowsIsRefused) {
  Write("{\"v\":2,\"entry\":1,\"topic\":\"orders\"}\n");
  const auto journal = Journal::Open(path(), {});
  ASSERT_FALSE(journal);
  EXPECT_THAT(journal.error().message, ::testing::HasSubstr("version 1"));
}

TEST_F(JournalTest, NumbersEndWhereTheNextStartCouldNotReadThem) {
  Write("{\"v\":1,\"entry\":9223372036854775805,\"topic\":\"o\"}\n");
  auto journal = Open();
  EXPECT_EQ(Append(*journal, Item("a", 1), ""), 9223372036854775806U);
  const BatchItem b = Item("b", 2);
  const JournalEntry entry{&b, ""};
  const auto answer = journal->Append({&entry, 1});
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Code::kFull);
  EXPECT_EQ(answer.error().effect, Effect::kNone);
  journal.reset();
  EXPECT_NE(Open(), nullptr) << "what was acknowledged stays readable";
}

TEST_F(JournalTest, AnEntryThatNoneCouldFollowIsRefused) {
  Write("{\"v\":1,\"entry\":9223372036854775807,\"topic\":\"o\"}\n");
  const auto journal = Journal::Open(path(), {});
  ASSERT_FALSE(journal);
  EXPECT_EQ(journal.error().code, Code::kCorrupt);
}

TEST_F(JournalTest, AForeignFileThatEndsInTheMiddleOfALineIsLeftAlone) {
  Write("dear diary");
  EXPECT_FALSE(Journal::Open(path(), {}));
  EXPECT_EQ(std::filesystem::file_size(path()), 10U);
}

TEST_F(JournalTest, AForeignFileIsRefusedAndLeftAlone) {
  Write("dear diary\n");
  const auto journal = Journal::Open(path(), {});
  ASSERT_FALSE(journal);
  EXPECT_EQ(journal.error().code, Code::kCorrupt);
  std::string line;
  std::ifstream in(path());
  std::getline(in, line);
  EXPECT_EQ(line, "dear diary");
}

TEST_F(JournalTest, WhatIsNoOrdinaryFileIsRefused) {
  ASSERT_EQ(mkfifo(path().c_str(), 0600), 0);
  for (const std::string& place : {path(), std::string("/dev/null"), std::string("/dev/full")}) {
    const auto journal = Journal::Open(place, {});
    ASSERT_FALSE(journal) << place << " keeps nothing, and a full pipe would never let go";
    EXPECT_EQ(journal.error().code, Code::kInvalid) << place;
    EXPECT_THAT(journal.error().message, ::testing::HasSubstr("no ordinary file"));
  }
}

TEST_F(JournalTest, APlaceThatCannotBeWrittenIsAnError) {
  EXPECT_FALSE(Journal::Open((dir_.path() / "no" / "such" / "dir").string(), {}));
}

}  // namespace
}  // namespace oncemq::testing
