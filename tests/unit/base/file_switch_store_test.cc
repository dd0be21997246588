// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "oncemq/base/switch_store.h"
#include "support/temp_dir.h"

namespace oncemq::testing {
namespace {

class FileSwitchStoreTest : public ::testing::Test {
 protected:
  std::shared_ptr<SwitchStore> Open() const {
    auto store = OpenFileSwitchStore(dir_.path());
    EXPECT_TRUE(store.has_value());
    return *std::move(store);
  }

  const TempDir dir_;
};

TEST_F(FileSwitchStoreTest, ADirectoryThatIsNotThereIsRefused) {
  EXPECT_EQ(OpenFileSwitchStore(dir_.path() / "none").error().code, Code::kInvalid);
  EXPECT_EQ(OpenFileSwitchStore("").error().code, Code::kInvalid);
}

TEST_F(FileSwitchStoreTest, NamesOfDotsAndNamesOfFilesStayInTheDirectoryAndApart) {
  const std::vector<std::string> names{".",    "..", "record", "lock",     "draft",
                                       "word", "a",  "a.61",   "a.record", std::string(64, '.')};
  for (const std::string& name : names) {
    const auto store = OpenFileSwitchStore(dir_.path(), name);
    ASSERT_TRUE(store.has_value()) << name;
    EXPECT_TRUE(*(*store)->Swap(name, 0)) << name;
    EXPECT_TRUE((*store)->Say("a", name)) << name;
  }
  for (const std::string& name : names) {
    const auto store = *OpenFileSwitchStore(dir_.path(), name);
    EXPECT_EQ(store->Read()->text, name);
    EXPECT_EQ(*store->Hear(), (std::map<std::string, std::string>{{"a", name}}));
  }
  for (const char* name : {"", "../up", "a/b", "A"}) {
    EXPECT_EQ(OpenFileSwitchStore(dir_.path(), name).error().code, Code::kInvalid) << name;
  }
}

TEST_F(FileSwitchStoreTest, WhatWasSwappedIsReadByAll) {
  const auto p = Open();
  const auto q = Open();
  EXPECT_EQ(p->Read()->text, "");
  EXPECT_EQ(p->Read()->version, 0u);
  EXPECT_TRUE(*p->Swap("one\nline", 0));
  EXPECT_EQ(q->Read()->text, "one\nline");
  EXPECT_FALSE(*q->Swap("two", 0)) << "another version";
  EXPECT_TRUE(*q->Swap("two", q->Read()->version));
  EXPECT_EQ(p->Read()->text, "two");
}

TEST_F(FileSwitchStoreTest, OfManyWhoSwapAtATimeOneGoesFirst) {
  constexpr int kEach = 40;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; i++) {
    threads.emplace_back([&] {
      const auto store = Open();
      for (int done = 0; done < kEach;) {
        const auto read = store->Read();
        ASSERT_TRUE(read.has_value()) << ToString(read.error());
        const auto swapped = store->Swap(read->text + "x", read->version);
        if (swapped) {
          done += *swapped ? 1 : 0;
        }
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(Open()->Read()->text, std::string(4 * kEach, 'x'));
}

TEST_F(FileSwitchStoreTest, AFileThatIsNotOursIsCorrupt) {
  for (const std::string& bytes : {std::string("what"), std::string("x\ny"), std::string("-1\ny"),
                                   std::string("0\ny"), std::string(100'000, '1')}) {
    std::ofstream(dir_.path() / "record.locks") << bytes;
    const auto read = Open()->Read();
    ASSERT_FALSE(read.has_value()) << bytes.substr(0, 10);
    EXPECT_EQ(read.error().code, Code::kCorrupt);
    EXPECT_FALSE(Open()->Swap("mine", 0).has_value()) << "and is not written over";
  }
}

TEST_F(FileSwitchStoreTest, WordsAreKeptUntilTheyAreBuried) {
  const auto store = Open();
  const std::string strange("../x\0\n", 6);
  ASSERT_TRUE(store->Say("p", "1"));
  ASSERT_TRUE(store->Say(strange, "2"));
  ASSERT_TRUE(store->Say("p", "3"));
  EXPECT_EQ(*Open()->Hear(), (std::map<std::string, std::string>{{"p", "3"}, {strange, "2"}}));
  ASSERT_TRUE(store->Bury("p"));
  ASSERT_TRUE(store->Bury("p"));
  EXPECT_EQ(Open()->Hear()->size(), 1u);
}

TEST_F(FileSwitchStoreTest, AwaitEndsWithAChangeAndWithAStop) {
  const auto store = Open();
  const BootTime never = SystemClock::Instance().Boot() + std::chrono::hours(1);
  ASSERT_TRUE(*store->Swap("one", 0));
  std::thread later([&] { EXPECT_TRUE(*Open()->Swap("two", 1)); });
  EXPECT_TRUE(store->Await(1, never, {}));
  later.join();
  std::stop_source stop;
  std::thread stopper([&] { stop.request_stop(); });
  EXPECT_TRUE(store->Await(2, never, stop.get_token()));
  stopper.join();
  EXPECT_TRUE(store->Await(2, SystemClock::Instance().Boot(), {}));
}

TEST_F(FileSwitchStoreTest, WhatIsNoFileIsNotWaitedFor) {
  const auto store = Open();
  ASSERT_EQ(mkfifo((dir_.path() / "record.locks").c_str(), 0600), 0);
  EXPECT_EQ(store->Read().error().code, Code::kCorrupt);
  EXPECT_EQ(store->Swap("text", 0).error().code, Code::kCorrupt);
}

TEST_F(FileSwitchStoreTest, AWordThatIsNoneMakesNobodyDeaf) {
  const auto store = Open();
  ASSERT_TRUE(store->Say("p", "word"));
  ASSERT_EQ(mkfifo((dir_.path() / "word.locks.6161").c_str(), 0600), 0);
  std::filesystem::create_directory(dir_.path() / "word.locks.6162");
  EXPECT_EQ(*store->Hear(), (std::map<std::string, std::string>{{"p", "word"}}));
}

TEST_F(FileSwitchStoreTest, AVersionThatCannotBeCountedOnIsNotOurs) {
  std::ofstream(dir_.path() / "record.locks") << "9223372036854775807\ntext";
  EXPECT_EQ(Open()->Read().error().code, Code::kCorrupt);
}

}  // namespace
}  // namespace oncemq::testing
