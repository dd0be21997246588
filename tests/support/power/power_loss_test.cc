// SPDX-License-Identifier: Apache-2.0
// The rules of a power loss, each by itself: a small program does something, and the test looks at
// what is left.
#include "support/power/power_loss.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "support/power/record_format.h"
#include "support/process.h"
#include "support/temp_dir.h"

namespace oncemq::testing {
namespace {

namespace fs = std::filesystem;
constexpr char kNoFile[] = "no file";

std::string Content(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return file ? std::string(std::istreambuf_iterator<char>(file), {}) : std::string(kNoFile);
}

class PowerLossTest : public ::testing::Test {
 protected:
  void SetUp() override { fs::create_directory(root_); }

  // Its exit code, as a shell tells it.
  int Run(std::vector<std::string> steps) {
    steps.insert(steps.begin(), {ONCEMQ_POWER_CHILD, root_.string()});
    fs::remove(record_);
    loss_ = std::make_unique<PowerLoss>(root_, record_);
    Process child({.command = steps, .environment = loss_->Environment(), .log_file = said_});
    const int code = child.Wait(std::chrono::seconds(20)).value_or(-1);
    loss_->ReadRecord();
    return code;
  }
  fs::path Left(Keep keep = Keep::kSynced, uint64_t seed = 0) {
    loss_->ReplayTo(loss_->entries());
    const fs::path into = directory_.path() / std::to_string(built_++);
    loss_->Build(keep, seed, into);
    return into;
  }
  std::set<std::string> LeftOf(const std::string& name, Keep keep) {
    std::set<std::string> contents;
    for (uint64_t seed = 0; seed < 60; seed++) {
      contents.insert(Content(Left(keep, seed) / name));
    }
    return contents;
  }

  TempDir directory_{TempDir::Quick()};
  const fs::path root_ = directory_.path() / "root";
  const fs::path record_ = directory_.path() / "record";
  const fs::path said_ = directory_.path() / "said";
  std::unique_ptr<PowerLoss> loss_;
  int built_ = 0;
};

TEST_F(PowerLossTest, BytesThatWereNotSyncedAreGone) {
  ASSERT_EQ(Run({"write", "a", "x", "sync", ".", "die"}), 128 + 9);
  EXPECT_EQ(Content(Left() / "a"), "");
  EXPECT_EQ(Content(root_ / "a"), "x") << "the process itself wrote it";
}

TEST_F(PowerLossTest, BytesSurviveUpToTheLastSyncOfTheirFile) {
  ASSERT_EQ(Run({"write", "a", "12", "sync", "a", "write", "a", "3", "sync", ".", "write", "b", "4",
                 "datasync", "b", "sync", "."}),
            0);
  EXPECT_EQ(Content(Left() / "a"), "12");
  EXPECT_EQ(Content(Left() / "b"), "4");
}

TEST_F(PowerLossTest, ANameNeedsTheSyncOfItsFolder) {
  ASSERT_EQ(Run({"write", "a", "1", "sync", "a"}), 0);
  EXPECT_EQ(Content(Left() / "a"), kNoFile);
}

TEST_F(PowerLossTest, ASyncOfARangeCountsForNothing) {
  ASSERT_EQ(Run({"write", "a", "1", "sync", ".", "range", "a"}), 0);
  EXPECT_EQ(Content(Left() / "a"), "");
}

TEST_F(PowerLossTest, ASizeThatWasCutComesBackWithoutASync) {
  ASSERT_EQ(Run({"write", "a", "12", "sync", "a", "sync", ".", "cut", "a", "1"}), 0);
  EXPECT_EQ(Content(Left() / "a"), "12");
  ASSERT_EQ(Run({"cut", "a", "1", "sync", "a"}), 0);
  EXPECT_EQ(Content(Left() / "a"), "1");
}

TEST_F(PowerLossTest, ARenameSurvivesWithItsFolder) {
  ASSERT_EQ(Run({"write", "a", "1", "sync", "a", "sync", ".", "rename", "a", "b"}), 0);
  fs::path left = Left();
  EXPECT_EQ(Content(left / "a"), "1");
  EXPECT_EQ(Content(left / "b"), kNoFile);
  ASSERT_EQ(Run({"rename", "b", "c", "sync", "."}), 0);
  left = Left();
  EXPECT_EQ(Content(left / "b"), kNoFile);
  EXPECT_EQ(Content(left / "c"), "1");
}

TEST_F(PowerLossTest, ARemovedNameComesBackWithoutASync) {
  ASSERT_EQ(Run({"write", "a", "1", "sync", "a", "sync", ".", "remove", "a"}), 0);
  EXPECT_EQ(Content(Left() / "a"), "1");
}

TEST_F(PowerLossTest, ASecondNameIsOneOfTheSameFile) {
  ASSERT_EQ(Run({"write", "a", "1", "link", "a", "b", "sync", ".", "write", "b", "2", "sync", "a",
                 "remove", "a", "sync", "."}),
            0);
  const fs::path left = Left();
  EXPECT_EQ(Content(left / "a"), kNoFile);
  EXPECT_EQ(Content(left / "b"), "12");
}

TEST_F(PowerLossTest, AFolderNeedsTheSyncOfTheOneAbove) {
  const std::vector<std::string> steps = {"mkdir", "d",   "write", "d/a", "1",
                                          "sync",  "d/a", "sync",  "d/"};
  ASSERT_EQ(Run(steps), 0);
  EXPECT_FALSE(fs::exists(Left() / "d"));
  fs::remove_all(root_ / "d");
  std::vector<std::string> more = steps;
  more.insert(more.end(), {"sync", "."});
  ASSERT_EQ(Run(more), 0);
  EXPECT_EQ(Content(Left() / "d/a"), "1");
}

TEST_F(PowerLossTest, WhatIsInDoubtIsKeptOrNotInAnyOrder) {
  ASSERT_EQ(Run({"write", "a", "1", "sync", "a", "sync", ".", "write", "a", "2", "write", "a", "3",
                 "remove", "a"}),
            0);
  EXPECT_EQ(LeftOf("a", Keep::kAny),
            (std::set<std::string>{"1", "12", "123", std::string("1\0003", 3), kNoFile}));
}

TEST_F(PowerLossTest, NamesAreKeptInTheirOrderEvenWhereBytesAreNot) {
  ASSERT_EQ(Run({"write", "a", "1", "mkdir", "d", "write", "d/b", "1"}), 0);
  std::set<std::pair<bool, bool>> pairs;
  for (uint64_t seed = 0; seed < 60; seed++) {
    const fs::path left = Left(Keep::kAny, seed);
    pairs.insert({fs::exists(left / "a"), fs::exists(left / "d/b")});
  }
  EXPECT_EQ(pairs, (std::set<std::pair<bool, bool>>{{false, false}, {true, false}, {true, true}}));
}

TEST_F(PowerLossTest, InOrderNothingIsKeptThatCameAfterWhatIsGone) {
  ASSERT_EQ(Run({"write", "a",     "1", "write", "b",     "1", "sync", "a",     "sync", "b", "sync",
                 ".",     "write", "a", "2",     "write", "b", "2",    "write", "a",    "3"}),
            0);
  std::set<std::pair<std::string, std::string>> pairs;
  std::set<std::pair<std::string, std::string>> own;
  for (uint64_t seed = 0; seed < 200; seed++) {
    const fs::path left = Left(Keep::kBefore, seed);
    pairs.insert({Content(left / "a"), Content(left / "b")});
    const fs::path other = Left(Keep::kBeforeOwn, seed);
    own.insert({Content(other / "a"), Content(other / "b")});
  }
  const std::set<std::pair<std::string, std::string>> all = {
      {"1", "1"}, {"12", "1"}, {"12", "12"}, {"123", "12"}};
  EXPECT_EQ(pairs, all);
  std::set<std::pair<std::string, std::string>> each = all;
  each.insert({{"1", "12"}, {"123", "1"}});
  EXPECT_EQ(own, each);
}

TEST_F(PowerLossTest, AWriteIsTornBetweenSectorsAndNeverWithinOne) {
  ASSERT_EQ(Run({"fill", "a", "2000", "-", "sync", "a", "sync", ".", "fill", "a", "2000", "+"}), 0);
  bool torn = false;
  for (const std::string& content : LeftOf("a", Keep::kAny)) {
    ASSERT_EQ(content.substr(0, 2000), std::string(2000, '-'));
    for (size_t at = 2000; at < content.size(); at = (at / 512 + 1) * 512) {
      const std::string sector = content.substr(at, (at / 512 + 1) * 512 - at);
      ASSERT_EQ(std::count(sector.begin(), sector.end(), sector[0]),
                static_cast<std::ptrdiff_t>(sector.size()));
      torn = torn || sector[0] == '\0';
    }
  }
  EXPECT_TRUE(torn);
}

TEST_F(PowerLossTest, TheSameSeedIsTheSameLoss) {
  ASSERT_EQ(Run({"fill", "a", "9000", "-", "sync", ".", "fill", "b", "9000", "+"}), 0);
  for (uint64_t seed = 0; seed < 10; seed++) {
    const fs::path one = Left(Keep::kAny, seed);
    const fs::path other = Left(Keep::kAny, seed);
    EXPECT_EQ(Content(one / "a"), Content(other / "a"));
    EXPECT_EQ(Content(one / "b"), Content(other / "b"));
  }
}

TEST_F(PowerLossTest, ThePowerGoesAtAnyEntryAndWordsHaveTheirPlaceAmongThem) {
  ASSERT_EQ(Run({"write", "a", "1", "sync", "a", "sync", ".", "say", "one", "write", "a", "2",
                 "sync", "a", "say", "two"}),
            0);
  ASSERT_EQ(loss_->notes().size(), 2u);
  EXPECT_EQ(loss_->notes()[0].second, "one");
  EXPECT_EQ(loss_->notes()[1].first, loss_->entries());
  const size_t early = loss_->notes()[0].first;
  const size_t before = loss_->BeforeNextSync(early);
  EXPECT_GT(before, early);
  EXPECT_LT(before, loss_->notes()[1].first);
  loss_->ReplayTo(early);
  loss_->Build(Keep::kSynced, 0, directory_.path() / "early");
  EXPECT_EQ(Content(directory_.path() / "early/a"), "1");
  EXPECT_EQ(Content(Left() / "a"), "12");
}

TEST_F(PowerLossTest, ThePowerGoesRightBehindTheMakingOfAFile) {
  ASSERT_EQ(Run({"write", "a", "1", "say", "one", "write", "b", "2"}), 0);
  const size_t made = loss_->BehindNextFile(loss_->notes()[0].first);
  EXPECT_LT(made, loss_->entries());
  EXPECT_EQ(loss_->BehindNextFile(made), loss_->entries()) << "no other one is made";
  loss_->ReplayTo(made);
  loss_->Build(Keep::kSynced, 0, directory_.path() / "early");
  EXPECT_FALSE(fs::exists(directory_.path() / "early/b"));
}

TEST_F(PowerLossTest, AnEntryThatTheKillHasCutIsLeftOut) {
  ASSERT_EQ(Run({"write", "a", "1", "sync", "a", "sync", "."}), 0);
  const size_t whole = loss_->entries();
  fs::resize_file(record_, fs::file_size(record_) - 1);
  loss_ = std::make_unique<PowerLoss>(root_, record_);
  loss_->ReadRecord();
  EXPECT_EQ(loss_->entries(), whole - 1);
}

// By hand: whether a thread writes while another one syncs cannot be arranged from outside.
TEST_F(PowerLossTest, WhatIsWrittenDuringASyncIsNotCoveredByIt) {
  std::ofstream record(record_, std::ios::binary);
  const auto add = [&](PowerOp op, int fd, int64_t a, const std::string& first,
                       const std::string& second) {
    const PowerHead head{.op = op,
                         .fd = fd,
                         .first = static_cast<uint32_t>(first.size()),
                         .second = second.size(),
                         .a = a};
    record.write(reinterpret_cast<const char*>(&head), sizeof head);
    record << first << second;
  };
  std::ofstream(root_ / "a") << "1";
  add(PowerOp::kOpen, 5, 0, "a", "");
  add(PowerOp::kWrite, 5, 1, "", "2");
  add(PowerOp::kSyncBegin, 5, 0, "", "");
  add(PowerOp::kWrite, 5, 2, "", "3");
  add(PowerOp::kSyncEnd, 5, 0, "", "");
  record.close();
  loss_ = std::make_unique<PowerLoss>(root_, record_);
  loss_->ReadRecord();
  EXPECT_EQ(Content(Left() / "a"), "12");
}

TEST_F(PowerLossTest, WhatCannotBeRecordedEndsTheProcess) {
  EXPECT_EQ(Run({"write", "a", "1", "map", "a"}), 128 + 6);
  EXPECT_NE(Content(said_).find("a mapping that is written to"), std::string::npos);
  EXPECT_EQ(Run({"copy", "a"}), 128 + 6);
  EXPECT_NE(Content(said_).find("dup()"), std::string::npos);
}

}  // namespace
}  // namespace oncemq::testing
