// SPDX-License-Identifier: Apache-2.0
#include "oncemq/base/log.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "oncemq/base/clock.h"
#include "support/temp_dir.h"

namespace oncemq {
namespace {

using testing::TempDir;

std::vector<std::string> Lines(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) {
    lines.push_back(line);
  }
  return lines;
}

// Adds up a number over the JSON lines of a text.
uint64_t SumOf(const std::string& key, const std::string& text) {
  uint64_t sum = 0;
  std::istringstream in(text.substr(std::min(text.find('{'), text.size())));
  for (std::string line; std::getline(in, line);) {
    sum += nlohmann::json::parse(line).value(key, uint64_t{0});
  }
  return sum;
}

LogOptions To(const std::filesystem::path& file) {
  LogOptions options;
  options.file = file.string();
  return options;
}

// A full pipe: a file that takes nothing until somebody reads.
class FullPipe {
 public:
  explicit FullPipe(const std::filesystem::path& path) {
    EXPECT_EQ(mkfifo(path.c_str(), 0600), 0);
    fd_ = open(path.c_str(), O_RDWR | O_NONBLOCK);
    EXPECT_GE(fd_, 0);
    const std::string page(4096, '.');
    while (write(fd_, page.data(), page.size()) > 0) {
    }
  }
  ~FullPipe() { close(fd_); }

  // What is there now.
  std::string Read() const {
    std::string all;
    char part[4096];
    for (ssize_t got = 0; (got = read(fd_, part, sizeof part)) > 0;) {
      all.append(part, static_cast<size_t>(got));
    }
    return all;
  }

 private:
  int fd_ = -1;
};

class LogToFile : public ::testing::Test {
 protected:
  ~LogToFile() override { StopLogging(); }

  const TempDir dir_;
  const std::filesystem::path file_ = dir_.path() / "log";
  // Taken after the held-back lines of earlier tests are written.
  const LogCounters before_ = (StopLogging(), LogTotals());
};

TEST_F(LogToFile, AFileGetsOneJsonObjectPerLine) {
  StartLogging(To(file_));
  Log(LogLevel::kWarn, "kafka", "commit refused", {{"topic", "pay"}, {"partition", 3}});
  Log(LogLevel::kError, "kafka", "gone");
  StopLogging();
  const auto lines = Lines(file_);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(nlohmann::json::parse(lines[0])["topic"], "pay");
  EXPECT_EQ(nlohmann::json::parse(lines[1])["text"], "gone");
  EXPECT_EQ(LogTotals().written - before_.written, 2u);
}

TEST_F(LogToFile, TextIsThereForWhoAsksForIt) {
  LogOptions options = To(file_);
  options.format = LogOptions::Format::kText;
  StartLogging(options);
  Log(LogLevel::kInfo, "kafka", "joined", {{"group", "pay"}});
  StopLogging();
  const auto lines = Lines(file_);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_TRUE(lines[0].ends_with("Z INFO kafka joined group=pay")) << lines[0];
}

TEST_F(LogToFile, AnExistingFileIsContinued) {
  std::ofstream(file_) << "before\n";
  StartLogging(To(file_));
  Log(LogLevel::kInfo, "a", "b");
  StopLogging();
  EXPECT_EQ(Lines(file_).size(), 2u);
}

TEST_F(LogToFile, LinesBelowTheLevelAreNotMade) {
  LogOptions options = To(file_);
  options.level = LogLevel::kWarn;
  StartLogging(options);
  EXPECT_FALSE(LogEnabled(LogLevel::kInfo));
  EXPECT_TRUE(LogEnabled(LogLevel::kWarn));
  Log(LogLevel::kInfo, "a", "quiet");
  Log(LogLevel::kWarn, "a", "loud");
  StopLogging();
  ASSERT_EQ(Lines(file_).size(), 1u);
  StartLogging({});
}

TEST_F(LogToFile, OffMeansSilence) {
  LogOptions options = To(file_);
  options.level = LogLevel::kOff;
  StartLogging(options);
  Log(LogLevel::kError, "a", "b");
  Log(LogLevel::kOff, "a", "b");
  StopLogging();
  EXPECT_TRUE(Lines(file_).empty());
  StartLogging({});
}

TEST_F(LogToFile, UserTextIsNeverAFormat) {
  StartLogging(To(file_));
  Log(LogLevel::kInfo, "{}", "%n%s {} {0} {:>99999}", {{"{}", "{}%s"}});
  StopLogging();
  const auto json = nlohmann::json::parse(Lines(file_).at(0));
  EXPECT_EQ(json["text"], "%n%s {} {0} {:>99999}");
  EXPECT_EQ(json["{}"], "{}%s");
}

TEST_F(LogToFile, AScopeAddsItsFieldToTheLinesOfItsThread) {
  StartLogging(To(file_));
  const auto value = [](const void* subject) -> std::string_view {
    return *static_cast<const std::string*>(subject);
  };
  const std::string outer = "one";
  const std::string none;
  {
    const LogScope scope("trace_id", value, &outer);
    Log(LogLevel::kInfo, "a", "first", {{"topic", "pay"}});
    std::thread([] { Log(LogLevel::kInfo, "a", "elsewhere"); }).join();
    {
      const LogScope inner("trace_id", value, &none);
      Log(LogLevel::kInfo, "a", "inner");
    }
    LogSeldom(LogLevel::kInfo, "a", "last");
  }
  Log(LogLevel::kInfo, "a", "after");
  StopLogging();
  std::vector<std::string> traced;
  for (const std::string& text : Lines(file_)) {
    const auto line = nlohmann::json::parse(text);
    if (line.contains("trace_id")) {
      EXPECT_EQ(line["trace_id"], "one");
      traced.push_back(line["text"]);
    }
  }
  EXPECT_EQ(traced, (std::vector<std::string>{"first", "last"}));
}

TEST_F(LogToFile, RepeatedLinesAreHeldBackAndTold) {
  LogOptions options = To(file_);
  options.repeats_per_second = 5;
  StartLogging(options);
  for (int i = 0; i < 1000; i++) {
    Log(LogLevel::kWarn, "kafka", "commit refused", {{"partition", i}});
  }
  StopLogging();
  uint64_t told = 0;
  uint64_t written = 0;
  for (const std::string& line : Lines(file_)) {
    const auto json = nlohmann::json::parse(line);
    const uint64_t alike = json.value("alike", uint64_t{0});
    told += alike;
    written += alike == 0 ? 1 : 0;
  }
  EXPECT_GE(written, 5u);
  EXPECT_LT(written, 1000u);
  EXPECT_EQ(written + told, 1000u);
  EXPECT_EQ(LogTotals().repeated - before_.repeated, told);
}

TEST_F(LogToFile, OfLinesThatAreToBeWrittenSeldomOneIsWrittenAndTheOthersAreCounted) {
  StartLogging(To(file_));
  for (int i = 0; i < 1000; i++) {
    LogSeldom(LogLevel::kWarn, "rocksdb", "no lock: /s/payments/" + std::to_string(i) + "/LOCK");
    LogSeldom(LogLevel::kDebug, "rocksdb", "below the level");
  }
  StopLogging();
  const auto lines = Lines(file_);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(nlohmann::json::parse(lines[0])["text"], "no lock: /s/payments/0/LOCK");
  EXPECT_EQ(nlohmann::json::parse(lines[1])["alike"], 999);
  EXPECT_EQ(LogTotals().repeated - before_.repeated, 999u);
}

TEST_F(LogToFile, WhereNoLimitIsSetEachOfThemIsWritten) {
  LogOptions options = To(file_);
  options.repeats_per_second = 0;
  StartLogging(options);
  LogSeldom(LogLevel::kWarn, "rocksdb", "no lock");
  LogSeldom(LogLevel::kWarn, "rocksdb", "no lock");
  StopLogging();
  EXPECT_EQ(Lines(file_).size(), 2u);
}

TEST_F(LogToFile, ManyThreadsLoseNothingWhenTheQueueHasRoom) {
  LogOptions options = To(file_);
  options.queue = 100'000;
  options.repeats_per_second = 0;
  StartLogging(options);
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; t++) {
      threads.emplace_back([t] {
        for (int i = 0; i < 1000; i++) {
          Log(LogLevel::kInfo, "test", "line", {{"thread", t}, {"i", i}});
        }
      });
    }
  }
  StopLogging();
  EXPECT_EQ(Lines(file_).size(), 4000u);
  EXPECT_EQ(LogTotals().dropped, before_.dropped);
}

TEST_F(LogToFile, WhatTheQueueCouldNotHoldIsCountedAndSaid) {
  const FullPipe pipe(file_);
  LogOptions options = To(file_);
  options.queue = 16;
  options.repeats_per_second = 0;
  StartLogging(options);
  for (int i = 0; i < 1000; i++) {
    Log(LogLevel::kInfo, "test", "a line", {{"i", i}});
  }
  const uint64_t dropped = LogTotals().dropped - before_.dropped;
  EXPECT_GE(dropped, 1000u - 16 - 1);  // the queue, and the line that its thread holds
  EXPECT_LE(dropped, 1000u - 16);
  std::string got = pipe.Read();
  StopLogging();
  got += pipe.Read();
  EXPECT_EQ(SumOf("count", got), dropped) << got;
  EXPECT_NE(got.find("\"i\":999"), std::string::npos) << "the newest line must survive";
  EXPECT_EQ(LogTotals().written - before_.written, 1000 - dropped);
}

TEST_F(LogToFile, AFileThatTakesNothingHoldsNeitherTheLoggerNorTheEnd) {
  const FullPipe pipe(file_);
  LogOptions options = To(file_);
  options.queue = 4;
  options.repeats_per_second = 0;
  StartLogging(options);
  const BootTime start = SystemClock::Instance().Boot();
  for (int i = 0; i < 1000; i++) {
    Log(LogLevel::kInfo, "test", "line " + std::to_string(i));
  }
  StopLogging();
  EXPECT_LT(SystemClock::Instance().Boot() - start, std::chrono::seconds(20));
  EXPECT_EQ(LogTotals().written, before_.written);
  // The thread that was left behind ends once it is read.
  const uint64_t left = 1000 - (LogTotals().dropped - before_.dropped);
  while (LogTotals().written - before_.written < left) {
    pipe.Read();
    std::this_thread::yield();
  }
}

TEST_F(LogToFile, AFileThatCannotBeOpenedIsSaidOnStandardError) {
  ::testing::internal::CaptureStderr();
  StartLogging(To(dir_.path() / "no" / "such" / "folder"));
  Log(LogLevel::kInfo, "a", "still here");
  StopLogging();
  const std::string text = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(text.find("file cannot be opened"), std::string::npos) << text;
  EXPECT_NE(text.find("No such file or directory"), std::string::npos) << text;
  EXPECT_NE(text.find("still here"), std::string::npos) << text;
}

TEST_F(LogToFile, APipeThatNobodyReadsIsSaidOnStandardError) {
  ASSERT_EQ(mkfifo(file_.c_str(), 0600), 0);
  ::testing::internal::CaptureStderr();
  StartLogging(To(file_));  // and does not wait for a reader
  Log(LogLevel::kInfo, "a", "still here");
  StopLogging();
  const std::string text = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(text.find("file cannot be opened"), std::string::npos) << text;
  EXPECT_NE(text.find("still here"), std::string::npos) << text;
}

TEST_F(LogToFile, AReaderThatWentAwayIsCountedAndDoesNotKill) {
  ASSERT_EQ(mkfifo(file_.c_str(), 0600), 0);
  const int reader = open(file_.c_str(), O_RDWR);
  StartLogging(To(file_));
  close(reader);
  Log(LogLevel::kInfo, "test", "for nobody");
  StopLogging();
  EXPECT_EQ(LogTotals().dropped - before_.dropped, 1u);
}

TEST_F(LogToFile, LoggingCanStartAgainElsewhere) {
  StartLogging(To(file_));
  Log(LogLevel::kInfo, "a", "first");
  StartLogging(To(dir_.path() / "second"));
  Log(LogLevel::kInfo, "a", "second");
  StopLogging();
  EXPECT_EQ(nlohmann::json::parse(Lines(file_).back())["text"], "first");
  EXPECT_EQ(nlohmann::json::parse(Lines(dir_.path() / "second").back())["text"], "second");
}

TEST(LogUnstarted, LinesGoToStandardErrorAtOnce) {
  StopLogging();
  ::testing::internal::CaptureStderr();
  Log(LogLevel::kInfo, "a", "not started");
  const std::string text = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(nlohmann::json::parse(text)["text"], "not started");
}

TEST(LogUnstarted, StoppingTwiceOrWithoutAStartDoesNothing) {
  StopLogging();
  StopLogging();
}

TEST(LogDeathTest, AProcessThatEndsKeepsItsLastLines) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        StartLogging({});
        for (int i = 0; i < 100; i++) {
          Log(LogLevel::kInfo, "test", "line " + std::to_string(i));
        }
        std::exit(0);
      },
      ::testing::ExitedWithCode(0), "line 99");
}

}  // namespace
}  // namespace oncemq
