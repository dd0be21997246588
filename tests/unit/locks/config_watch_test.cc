// SPDX-License-Identifier: Apache-2.0
#include "oncemq/locks/config_watch.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <stdexcept>
#include <string>
#include <vector>

#include "oncemq/base/bytes.h"
#include "oncemq/base/mutex.h"
#include "support/eventually.h"
#include "support/log_file.h"
#include "support/no_more_threads.h"
#include "support/switch_store.h"
#include "support/temp_dir.h"

namespace oncemq::testing {
namespace {

// What was told, and whoever waits for it.
class Notifications {
 public:
  void Add(const std::string& text) {
    MutexLock lock(mutex_);
    all_.push_back(text);
    changed_.notify_all();
  }
  std::vector<std::string> Until(const std::string& last) {
    MutexLock lock(mutex_);
    changed_.wait(mutex_, [&]() REQUIRES(mutex_) { return !all_.empty() && all_.back() == last; });
    return all_;
  }

 private:
  Mutex mutex_;
  ConditionVariable changed_;
  std::vector<std::string> all_ GUARDED_BY(mutex_);
};

class ConfigWatchTest : public ::testing::Test {
 protected:
  std::unique_ptr<ConfigWatch> Open(ConfigWatchOptions options = {}) {
    auto watch = ConfigWatch::Over(store_, std::move(options));
    EXPECT_TRUE(watch.has_value()) << ToString(watch.error());
    return *std::move(watch);
  }
  // Somebody else, who is there all the same.
  void Put(const std::string& text, uint64_t version) {
    MutexLock lock(shared_->mutex);
    shared_->text = {text, version};
  }

  const std::shared_ptr<SharedSwitchStore> shared_ = std::make_shared<SharedSwitchStore>();
  const std::shared_ptr<SwitchStoreView> store_ = std::make_shared<SwitchStoreView>(shared_);
  Notifications notified_;
  const std::function<void(const ConfigValue&)> notify_ = [this](const ConfigValue& now) {
    notified_.Add(now.text + " " + std::to_string(now.version));
  };
};

TEST_F(ConfigWatchTest, WhatIsThereIsToldAndThenEachChange) {
  Put("one", 1);
  const auto watch = Open({.changed = notify_});
  EXPECT_EQ(watch->Now().value, (ConfigValue{"one", 1}));
  EXPECT_FALSE(watch->Now().blind);
  notified_.Until("one 1");
  Put("two", 2);
  EXPECT_EQ(watch->Now().value.version, 1u) << "it asks nobody";
  const BootTime before = watch->Now().as_of;
  store_->Turn();
  EXPECT_EQ(watch->Now().value, (ConfigValue{"two", 2}));
  EXPECT_GT(watch->Now().as_of, before);
  EXPECT_EQ(notified_.Until("two 2"), (std::vector<std::string>{"one 1", "two 2"}));
}

TEST_F(ConfigWatchTest, WhatNobodyHasSetIsNotTold) {
  const auto watch = Open({.changed = notify_});
  EXPECT_EQ(watch->Now().value, ConfigValue());
  store_->Turn();
  EXPECT_TRUE(*watch->Set("one", 0));
  EXPECT_EQ(notified_.Until("one 1").size(), 1u);
}

TEST_F(ConfigWatchTest, OnlyTheTextThatWasReadIsReplacedAndBothHaveLookedThen) {
  const auto watch = Open();
  EXPECT_TRUE(*watch->Set("one", 0));
  EXPECT_EQ(watch->Now().value, (ConfigValue{"one", 1}));
  Put("two", 2);
  EXPECT_FALSE(*watch->Set("three", 1));
  EXPECT_EQ(watch->Now().value, (ConfigValue{"two", 2}));
  EXPECT_TRUE(*watch->Set("three", watch->Now().value.version));
  EXPECT_EQ(watch->Now().value, (ConfigValue{"three", 3}));
}

TEST_F(ConfigWatchTest, WhileThePlaceIsAwayTheLastTextStaysAndItSaysSinceWhen) {
  Put("one", 1);
  const auto watch = Open({.changed = notify_});
  const BootTime seen = watch->Now().as_of;
  store_->Cut(true);
  store_->Turn();
  Put("two", 2);
  store_->Turn();
  EXPECT_EQ(watch->Now().value, (ConfigValue{"one", 1}));
  EXPECT_TRUE(watch->Now().blind);
  EXPECT_EQ(watch->Now().as_of, seen);
  EXPECT_EQ(watch->Set("three", 1).error().code, Code::kUnavailable);
  store_->Cut(false);
  store_->Turn();
  EXPECT_EQ(watch->Now().value, (ConfigValue{"two", 2}));
  EXPECT_FALSE(watch->Now().blind);
  notified_.Until("two 2");
}

TEST_F(ConfigWatchTest, ATextThatIsGoneDoesNotMakeTheConfigurationEmpty) {
  Put("one", 7);
  const auto watch = Open({.changed = notify_});
  Put("", 0);
  store_->Turn();
  EXPECT_EQ(watch->Now().value, (ConfigValue{"one", 7}));
  EXPECT_TRUE(watch->Now().blind);
  EXPECT_TRUE(*watch->Set("two", 0)) << "nobody has set one";
  EXPECT_EQ(watch->Now().value, (ConfigValue{"two", 1}));
  EXPECT_FALSE(watch->Now().blind);
  notified_.Until("two 1");
}

TEST_F(ConfigWatchTest, ATextThatWentBackIsFollowedAndSaidInTheLog) {
  LogFile log;
  Put("two", 2);
  const auto watch = Open({.changed = notify_});
  Put("one", 1);
  store_->Turn();
  EXPECT_EQ(watch->Now().value, (ConfigValue{"one", 1}));
  notified_.Until("one 1");
  EXPECT_NE(log.End().find("went back"), std::string::npos);
}

TEST_F(ConfigWatchTest, WhileACallLastsItSeesOnAndTheNextCallHasTheLastText) {
  Put("one", 1);
  std::latch inside(1);
  std::latch goes_on(1);
  const auto watch = Open({.changed = [&](const ConfigValue& now) {
    if (now.version == 1) {
      inside.count_down();
      goes_on.wait();
    }
    notify_(now);
  }});
  inside.wait();
  Put("two", 2);
  store_->Turn();
  Put("three", 3);
  store_->Turn();
  EXPECT_EQ(watch->Now().value.text, "three");
  goes_on.count_down();
  EXPECT_EQ(notified_.Until("three 3"), (std::vector<std::string>{"one 1", "three 3"}));
}

TEST_F(ConfigWatchTest, ACallThatThrowsIsLoggedAndTheNextOneIsMade) {
  LogFile log;
  Put("one", 1);
  auto watch = Open({.changed = [&](const ConfigValue& now) {
    notify_(now);
    throw std::runtime_error("no such limit");
  }});
  notified_.Until("one 1");
  Put("two", 2);
  store_->Turn();
  notified_.Until("two 2");
  watch.reset();
  EXPECT_NE(log.End().find("no such limit"), std::string::npos);
}

TEST_F(ConfigWatchTest, ACallThatDoesNotReturnIsLetGoWhenTheWatchIsDestroyed) {
  Put("one", 1);
  struct Doors {
    std::latch inside{1};
    std::latch goes_on{1};
    std::latch outside{1};
  };
  const auto doors = std::make_shared<Doors>();
  auto watch = Open({.changed =
                         [doors](const ConfigValue&) {
                           doors->inside.count_down();
                           doors->goes_on.wait();
                           doors->outside.count_down();
                         },
                     .last_call = milliseconds(10)});
  doors->inside.wait();
  watch.reset();
  doors->goes_on.count_down();
  doors->outside.wait();
}

TEST_F(ConfigWatchTest, ACallMayDestroyTheWatch) {
  Put("one", 1);
  std::unique_ptr<ConfigWatch> watch;
  std::latch opened(1);
  std::latch destroyed(1);
  watch = Open({.changed = [&](const ConfigValue&) {
    opened.wait();
    watch.reset();
    destroyed.count_down();
  }});
  opened.count_down();
  destroyed.wait();
  EXPECT_EQ(watch, nullptr);
}

// Says each time that something has changed, and counts who believes it.
class EagerStore final : public SwitchStore {
 public:
  Result<Text> Read() override {
    reads.push_back(SystemClock::Instance().Boot());
    if (reads.size() == 4) {
      enough.count_down();
    }
    return Text{"one", 1};
  }
  Result<bool> Swap(std::string_view, uint64_t) override { return false; }
  Status Await(uint64_t, BootTime, const std::stop_token&) override { return {}; }
  Status Say(std::string_view, std::string_view) override { return {}; }
  Result<std::map<std::string, std::string>> Hear() override {
    return std::map<std::string, std::string>();
  }
  Status Bury(std::string_view) override { return {}; }

  std::vector<BootTime> reads;
  std::latch enough{1};
};

TEST(ConfigWatchReads, APlaceThatAlwaysHasNewsIsNotAskedWithoutAPause) {
  const auto store = std::make_shared<EagerStore>();
  auto watch = *ConfigWatch::Over(store);
  store->enough.wait();
  watch.reset();
  EXPECT_GE(store->reads[3] - store->reads[1], milliseconds(500));
}

// As docs/locks.md shows it.
using Watch = std::unique_ptr<ConfigWatch>;

Result<Watch> FollowLimit(const std::string& at, std::atomic<int64_t>& limit) {
  return ConfigWatch::Open(at, "limit", {.changed = [&](const ConfigValue& now) {
                             limit = ParseDecimal(now.text).value_or(limit);
                           }});
}

Result<bool> RaiseLimit(ConfigWatch& watch) {
  const ConfigSeen seen = watch.Now();  // asks nobody
  const int64_t limit = ParseDecimal(seen.value.text).value_or(0);
  return watch.Set(std::to_string(limit + 1), seen.value.version);  // false: somebody was quicker
}

TEST(ConfigWatchSample, ALimitThatIsRaisedIsFollowed) {
  const TempDir directory;
  const std::string at = "file:" + directory.path().string();
  std::atomic<int64_t> limit{0};
  const auto watch = FollowLimit(at, limit);
  ASSERT_TRUE(watch.has_value());
  EXPECT_TRUE(*RaiseLimit(**watch));
  EXPECT_TRUE(*RaiseLimit(**watch));
  EXPECT_TRUE(Eventually(std::chrono::seconds(60), [&] { return limit == 2; }));
}

TEST_F(ConfigWatchTest, WhatCannotBeIsRefused) {
  const auto watch = Open();
  EXPECT_EQ(watch->Set("", 0).error().code, Code::kInvalid);
  EXPECT_EQ(watch->Set(std::string(kLongestConfig + 1, 'x'), 0).error().code, Code::kInvalid);
  EXPECT_TRUE(*watch->Set(std::string(kLongestConfig, 'x'), 0));
  EXPECT_EQ(ConfigWatch::Over(store_, {.read_every = milliseconds(0)}).error().code,
            Code::kInvalid);
  EXPECT_EQ(ConfigWatch::Open("file:/tmp", "Not A Name").error().code, Code::kInvalid);
  EXPECT_EQ(ConfigWatch::Open("file:/tmp", std::string(kLongestConfigName + 1, 'x')).error().code,
            Code::kInvalid);
  EXPECT_EQ(ConfigWatch::Open("file:/nowhere/at/all", "x").error().code, Code::kInvalid);
}

TEST_F(ConfigWatchTest, WithoutThePlaceOrAThreadThereIsNoWatch) {
  {
    const NoMoreThreads full;
    EXPECT_EQ(ConfigWatch::Over(store_).error().code, Code::kUnavailable);
  }
  store_->Cut(true);
  EXPECT_EQ(ConfigWatch::Over(store_).error().code, Code::kUnavailable);
}

}  // namespace
}  // namespace oncemq::testing
