// SPDX-License-Identifier: Apache-2.0
// Windows on disk below one directory, as the members of one host have them.
#pragma once

#include <filesystem>
#include <map>

#include "oncemq/dedup/local_window.h"
#include "runtime_fixture.h"
#include "scope.h"

namespace oncemq::testing {

// A topic of three partitions, and a store for each. Effects go into effects_; at the level atomic
// they are also in the stores, as the row "id/<id>".
class LocalWindowsTest : public KafkaRuntimeTest {
 protected:
  static constexpr int kPartitions = 3;

  void SetUp() override {
    KafkaRuntimeTest::SetUp();
    if (!IsSkipped()) {
      CreateTopic(kPartitions, TopicConfig());
    }
  }

  virtual std::map<std::string, std::string> TopicConfig() const { return {}; }

  std::string Base() const { return dir_.path() / "stores"; }
  // As the runtime calls it.
  std::string Owner() const {
    return "cluster " + SharedKafka::Get().cluster_id() + ", " + StoreOwner(Options());
  }
  std::unique_ptr<Window> Stores() const {
    LocalWindowOptions options;
    options.directory = Base();
    options.level = level_;
    options.generation = 500;  // so that ids are in the history too
    auto window = OpenPartitionWindows(options, SystemClock::Instance());
    EXPECT_TRUE(window);
    return *std::move(window);
  }
  RuntimeOptions LocalOptions() const {
    RuntimeOptions options = Options();
    options.one_host = level_ == Level::kAtomic;
    return options;
  }
  Handler Effect() {
    return [this](const Message& message, Context& context) -> Outcome {
      if (context.effects() != nullptr) {
        EXPECT_TRUE(context.effects()->Add("id/" + std::string(context.id()), 1));
      }
      effects_.Append(message, context);
      return Done{};
    };
  }
  // Runs a member on the stores until the group has finished `sent` messages.
  RunReport RunToTheEnd(int64_t sent, const RuntimeOptions& options) {
    const auto window = Stores();
    RunningMember member(options, window.get(), Effect());
    EXPECT_TRUE(Eventually(seconds(90), [&] { return Finished(member.Now()) == sent; }));
    return member.Stop();
  }
  RunReport RunToTheEnd(int64_t sent) { return RunToTheEnd(sent, LocalOptions()); }
  static int64_t Finished(const RunReport& report) {
    int64_t finished = 0;
    for (const PartitionReport& partition : report.partitions) {
      finished += partition.status.frontier;
    }
    return finished;
  }
  // Runs a member until a partition is stopped; the reasons.
  std::string WhyStopped(const RuntimeOptions& options) {
    const auto window = Stores();
    RunningMember member(options, window.get(), Effect());
    EXPECT_TRUE(Eventually(seconds(30), [&] {
      return member.Now().stops.size() == static_cast<size_t>(kPartitions);
    }));
    std::string why;
    for (const std::string& stop : member.Stop().stops) {
      why += stop + "\n";
    }
    return why;
  }
  void CopyStores(const std::string& to) const {
    std::filesystem::remove_all(dir_.path() / to);
    std::filesystem::copy(Base(), dir_.path() / to, std::filesystem::copy_options::recursive);
  }
  void PutBack(const std::string& from) const {
    std::filesystem::remove_all(Base());
    std::filesystem::rename(dir_.path() / from, Base());
  }

  const TempDir dir_;
  Level level_ = Level::kGuarded;
};

}  // namespace oncemq::testing
