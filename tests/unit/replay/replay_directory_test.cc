// SPDX-License-Identifier: Apache-2.0
#include "replay_directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "support/temp_dir.h"

namespace oncemq::testing {
namespace {

using ::testing::HasSubstr;

ReplaySet FrozenSet() {
  return {.id = "r-20261128-170000-a1b2c3",
          .cluster = "c1",
          .owner = "group payments, app \"é\"",
          .frozen_ms = 1'795'885'200'000,
          .ranges = {{"payments", 0, 100, 800, 800, 50}, {"payments", 3, 7, 8, 9, 0}},
          .notices = {"payments [1]: the group has not begun it"}};
}

class ReplayDirectoryTest : public ::testing::Test {
 protected:
  std::unique_ptr<ReplayDirectory> Open() {
    auto opened = ReplayDirectory::Open(path_);
    EXPECT_TRUE(opened) << ToString(opened.error());
    return opened ? *std::move(opened) : nullptr;
  }
  Error WhyNotOpened() {
    const auto opened = ReplayDirectory::Open(path_);
    EXPECT_FALSE(opened);
    return opened ? Error{} : opened.error();
  }
  std::string FileOf(const std::string& name) const { return path_ + "/" + name; }
  std::string Text(const std::string& name) const {
    std::ifstream file(FileOf(name));
    return std::string(std::istreambuf_iterator<char>(file), {});
  }
  void Write(const std::string& name, const std::string& text) {
    std::ofstream(FileOf(name)) << text;
  }
  // The set of a file with this text.
  Error WhyNotRead(const std::string& text) {
    Write("set.json", text);
    const auto set = Open()->ReadSet();
    EXPECT_FALSE(set) << text;
    return set ? Error{} : set.error();
  }

  const TempDir dir_;
  const std::string path_ = dir_.path() / "replay-1";
};

TEST_F(ReplayDirectoryTest, ASetComesBackAsItWasKept) {
  EXPECT_FALSE(*Open()->ReadSet());
  ASSERT_TRUE(Open()->KeepSet(FrozenSet()));
  const auto kept = Open()->ReadSet();
  ASSERT_TRUE(kept && *kept);
  EXPECT_EQ((*kept)->Digest(), FrozenSet().Digest());
  EXPECT_EQ((*kept)->ranges, FrozenSet().ranges);
  EXPECT_EQ((*kept)->owner, FrozenSet().owner);
  EXPECT_EQ((*kept)->notices, FrozenSet().notices);
}

TEST_F(ReplayDirectoryTest, ASetIsWrittenOnce) {
  ASSERT_TRUE(Open()->KeepSet(FrozenSet()));
  const std::string text = Text("set.json");
  EXPECT_TRUE(Open()->KeepSet(FrozenSet()));
  ReplaySet grown = FrozenSet();
  grown.ranges[0].to = grown.ranges[0].frontier = 900;
  const Status kept = Open()->KeepSet(grown);
  ASSERT_FALSE(kept);
  EXPECT_EQ(kept.error().code, Code::kInvalid);
  EXPECT_THAT(kept.error().message, HasSubstr("of the replay r-20261128-170000-a1b2c3"));
  EXPECT_EQ(Text("set.json"), text);
}

TEST_F(ReplayDirectoryTest, OneProcessAtATimeWorksInIt) {
  const auto first = Open();
  const Error refused = WhyNotOpened();
  EXPECT_EQ(refused.code, Code::kInvalid);
  EXPECT_THAT(refused.message, HasSubstr("process " + std::to_string(getpid()) + " works in it"));
}

TEST_F(ReplayDirectoryTest, ADirectoryOfAnotherUseIsLeftAlone) {
  std::filesystem::create_directory(path_);
  Write("mail", "dear");
  EXPECT_THAT(WhyNotOpened().message, HasSubstr("it has files, and none of a replay"));
  EXPECT_FALSE(std::filesystem::exists(FileOf("lock")));
}

TEST_F(ReplayDirectoryTest, AnEmptyDirectoryWillDoAndAFileWillNot) {
  std::filesystem::create_directory(path_);
  EXPECT_TRUE(Open());
  std::filesystem::remove_all(path_);
  std::ofstream(path_) << "x";
  EXPECT_THAT(WhyNotOpened().message, HasSubstr("it is a file"));
}

TEST_F(ReplayDirectoryTest, WithoutAParentItCanNotBeMade) {
  const auto opened = ReplayDirectory::Open(path_ + "/a/b");
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, Code::kUnavailable);
}

TEST_F(ReplayDirectoryTest, ADamagedSetIsRefusedWhereverItWasCut) {
  ASSERT_TRUE(Open()->KeepSet(FrozenSet()));
  const std::string text = Text("set.json");
  const size_t end = text.rfind('}');
  for (size_t size = 0; size <= end; size++) {
    EXPECT_EQ(WhyNotRead(text.substr(0, size)).code, Code::kCorrupt);
  }
}

TEST_F(ReplayDirectoryTest, AChangedSetIsRefused) {
  ASSERT_TRUE(Open()->KeepSet(FrozenSet()));
  const std::string text = Text("set.json");
  struct Change {
    const char* from;
    const char* to;
    Code code = Code::kCorrupt;
  };
  const Change changes[] = {{"800", "801"},
                            {"\"v\": 1", "\"v\": 2", Code::kInvalid},
                            {"\"v\": 1", "\"v\": 0"},
                            {"\"partition\": 3", "\"partition\": 4294967299"},
                            {"\"partition\": 3", "\"partition\": -3"},
                            {"\"partition\": 3", "\"partition\": \"3\""},
                            {"\"to\": 8,", "\"to\": 10,"},
                            {"\"to\": 8,", "\"to\": 7,"},
                            {"\"since\": 0", "\"sense\": 0"},
                            {"payments\"", "refunds\""},
                            {"c1", "c2"}};
  for (const Change& change : changes) {
    std::string changed = text;
    const size_t at = changed.find(change.from);
    ASSERT_NE(at, changed.npos) << change.from;
    changed.replace(at, std::string(change.from).size(), change.to);
    EXPECT_EQ(WhyNotRead(changed).code, change.code) << change.to;
  }
  EXPECT_THAT(WhyNotRead("[1, 2]").message, HasSubstr("begin again in another directory"));
}

TEST_F(ReplayDirectoryTest, NamesThatAreNoTextAreRefusedBeforeTheyAreWritten) {
  ReplaySet set = FrozenSet();
  set.owner = "group \xff";
  const Status kept = Open()->KeepSet(set);
  ASSERT_FALSE(kept);
  EXPECT_THAT(kept.error().message, HasSubstr("no UTF-8"));
  EXPECT_FALSE(std::filesystem::exists(FileOf("set.json")));
}

TEST_F(ReplayDirectoryTest, AFileIsReplacedAsAWhole) {
  const auto directory = Open();
  EXPECT_EQ(*directory->Read("position"), std::nullopt);
  ASSERT_TRUE(directory->Replace("position", "one"));
  ASSERT_TRUE(directory->Replace("position", std::string("t\0o", 3)));
  EXPECT_EQ(*directory->Read("position"), std::string("t\0o", 3));
  std::filesystem::create_directory(FileOf("position.new"));
  const Status failed = directory->Replace("position", "three");
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, Code::kUnavailable);
  EXPECT_EQ(*directory->Read("position"), std::string("t\0o", 3));
}

}  // namespace
}  // namespace oncemq::testing
