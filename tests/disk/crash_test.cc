// SPDX-License-Identifier: Apache-2.0
// A process that writes is killed with -9, again and again: what its window has answered is known
// to the next process, and that one can go on.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>

#include "disk_window.h"
#include "support/eventually.h"
#include "support/process.h"
#include "support/temp_dir.h"

namespace oncemq::testing {
namespace {

constexpr int64_t kEndless = 100'000'000;

// The highest id that the writer said it has an answer for.
int64_t Answered(const std::filesystem::path& said) {
  std::ifstream file(said);
  int64_t answered = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("answered ") && !file.eof()) {
      answered = std::atoll(line.c_str() + 9);
    }
  }
  return answered;
}

// Of the writer, not of the log.
std::string LastWord(const std::filesystem::path& said) {
  std::ifstream file(said);
  std::string last;
  for (std::string line; std::getline(file, line);) {
    last = line.starts_with("{") ? last : line;
  }
  return last;
}

class DiskCrash : public ::testing::TestWithParam<uint32_t> {
 protected:
  [[nodiscard]] Process Start(int64_t first, int64_t count, const std::string& bytes = {}) {
    std::vector<std::string> command = {ONCEMQ_DISK_WRITER, store_, std::to_string(GetParam()),
                                        std::to_string(first), std::to_string(count)};
    if (!bytes.empty()) {
      command.push_back(bytes);
    }
    return Process({.command = command, .log_file = said_});
  }
  // Ids [0, to) are known to a new process of the store, this one.
  void ExpectKnown(int64_t to) {
    auto window = OpenLocalWindow(DiskOptions(store_, GetParam()), SystemClock::Instance());
    ASSERT_TRUE(window) << ToString(window.error());
    const auto unknown = Unknown(**window, 0, to);
    ASSERT_TRUE(unknown) << ToString(unknown.error());
    EXPECT_EQ(*unknown, 0) << "of " << to;
  }

  TempDir directory_;
  const std::string store_ = directory_.path() / "store";
  const std::filesystem::path said_ = directory_.path() / "said";
};

// Of 60 so many buckets come that old ones are merged all the time.
INSTANTIATE_TEST_SUITE_P(Generations, DiskCrash, ::testing::Values(1'000'000u, 300u, 60u));

TEST_P(DiskCrash, WhatWasAnsweredIsKnownAfterEachKill) {
  constexpr int kKills = 8;
  std::mt19937 random(11);
  int64_t answered = 0;
  for (int kill = 0; kill < kKills; kill++) {
    const int64_t goal = answered + 20 + static_cast<int64_t>(random() % 1'000);
    {
      Process writer = Start(answered, kEndless);
      ASSERT_TRUE(Eventually(std::chrono::seconds(60), [&] { return Answered(said_) >= goal; }))
          << LastWord(said_);
      writer.Kill9();
    }
    answered = Answered(said_);
    ExpectKnown(answered);
  }
}

TEST_P(DiskCrash, NothingIsWarnedOfWhereAllIsWell) {
  Process writer = Start(0, 5'000);
  ASSERT_EQ(writer.Wait(std::chrono::seconds(60)), 0) << LastWord(said_);
  std::ifstream file(said_);
  for (std::string line; std::getline(file, line);) {
    EXPECT_EQ(line.find("\"level\":\"warn\""), std::string::npos) << line;
  }
}

TEST_P(DiskCrash, AFullDiskStopsItAndTakesNothing) {
  Process writer = Start(0, kEndless, "100000");
  const auto code = writer.Wait(std::chrono::seconds(60));
  ASSERT_EQ(code, 1);
  EXPECT_TRUE(LastWord(said_).starts_with("failed: ")) << LastWord(said_);
  ExpectKnown(Answered(said_));
  Process again = Start(Answered(said_), 1'000);
  EXPECT_EQ(again.Wait(std::chrono::seconds(60)), 0) << LastWord(said_);
  ExpectKnown(Answered(said_));
}

// As a kill between the two names of a file that is being taken into the store leaves it.
TEST_P(DiskCrash, ANameThatAKillHasLeftBesideItsFileIsNotWrittenTo) {
  {
    Process first = Start(0, 5'000);
    ASSERT_EQ(first.Wait(std::chrono::seconds(60)), 0) << LastWord(said_);
  }
  int tables = 0;
  for (const auto& entry : std::filesystem::directory_iterator(store_)) {
    if (entry.path().extension() == ".sst") {
      std::filesystem::create_hard_link(entry.path(),
                                        store_ + "/ingest-" + std::to_string(tables++));
    }
  }
  Process writer = Start(5'000, 5'000);
  EXPECT_EQ(writer.Wait(std::chrono::seconds(60)), 0) << LastWord(said_);
  ExpectKnown(10'000);
}

// As a kill at the very first opening leaves it.
TEST_P(DiskCrash, AMarkThatWasOnlyBegunIsNoDamage) {
  std::filesystem::create_directory(store_);
  std::ofstream(store_ + "/SYNCED.new") << "half";
  ExpectKnown(0);
  EXPECT_FALSE(std::filesystem::exists(store_ + "/SYNCED.new"));
}

TEST_P(DiskCrash, ASecondProcessOnTheDirectoryIsToldWhoHoldsIt) {
  auto window = OpenLocalWindow(DiskOptions(store_, GetParam()), SystemClock::Instance());
  ASSERT_TRUE(window);
  Process second = Start(0, 20);
  EXPECT_EQ(second.Wait(std::chrono::seconds(60)), 1);
  EXPECT_NE(LastWord(said_).find("another process"), std::string::npos) << LastWord(said_);
}

}  // namespace
}  // namespace oncemq::testing
