// SPDX-License-Identifier: Apache-2.0
// The power goes while a process writes to its window, at any moment, and takes whatever was not
// synced, some of it, or parts of it. The window opens again and knows what it owes.
//
//   ONCEMQ_POWER_LOSSES  moments per life of a process, each with every way to lose (6)
//   ONCEMQ_POWER_SEED    where the seeds begin
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <string>

#include "power_moments.h"
#include "power_window.h"
#include "support/eventually.h"
#include "support/power/power_loss.h"
#include "support/process.h"
#include "support/temp_dir.h"
#include "torn_manifest.h"

namespace oncemq::testing {
namespace {

namespace fs = std::filesystem;

struct Setting {
  const char* name;
  SyncWhen sync;
  Level level;
  uint32_t generation;
};

// What was said before the power went.
struct Said {
  std::array<OwnerEpoch, 2> owner_epochs{};
  int64_t claimed = 0;
  int64_t answered = 0;
  int64_t synced = 0;

  // Words of the log stand between them.
  void Hear(const std::string& text) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      std::istringstream words(line);
      std::string what;
      int64_t number = 0;
      words >> what >> number;
      if (what == "own") {
        words >> owner_epochs[static_cast<size_t>(number)];
      } else if (what == "claimed") {
        claimed = number;
      } else if (what == "answered") {
        answered = number;
      } else if (what == "synced") {
        synced = number;
      }
    }
  }
};

// What a window answers when every id that there may be is claimed again.
struct Left {
  int64_t finished = 0;  // all before it are known, or too old
  int64_t doubtful = 0;  // all before it are known, or granted as uncertain
};

class DiskPower : public ::testing::TestWithParam<Setting> {
 protected:
  static std::string Store(const fs::path& root) { return root / "app" / "store"; }
  static LocalWindowOptions Options(const fs::path& root) {
    return PowerOptions(Store(root), GetParam().generation, GetParam().sync, GetParam().level);
  }

  // What must not be lost.
  int64_t Floor(const Said& said) const {
    switch (GetParam().sync) {
      case SyncWhen::kNever:
        break;
      case SyncWhen::kEachCommit:
        return std::max(start_, said.synced);
      case SyncWhen::kEachBatch:
        return std::max(start_, said.answered);
    }
    return start_;
  }

  fs::path NextLog() { return directory_.path() / ("said-" + std::to_string(logs_++)); }
  ProcessOptions Writer(const fs::path& root, const fs::path& log,
                        std::map<std::string, std::string> environment) const {
    const Setting& setting = GetParam();
    return {.command = {ONCEMQ_POWER_WRITER, Store(root), std::to_string(setting.generation),
                        std::to_string(static_cast<int>(setting.sync)),
                        std::to_string(static_cast<int>(setting.level)), std::to_string(start_)},
            .environment = std::move(environment),
            .log_file = log};
  }
  static Said Heard(const fs::path& log) {
    Said said;
    std::ifstream file(log);
    said.Hear({std::istreambuf_iterator<char>(file), {}});
    return said;
  }

  // A process on `root` until it was killed, at any moment after so many answers.
  void Live(const fs::path& root, PowerLoss& loss, int64_t answers) {
    const fs::path log = NextLog();
    Process writer(Writer(root, log, loss.Environment()));
    const bool reached = Eventually(std::chrono::seconds(60), [&] {
      return Heard(log).answered >= start_ + answers || !writer.Running();
    });
    ASSERT_TRUE(reached) << std::ifstream(log).rdbuf();
    ASSERT_TRUE(writer.Running()) << std::ifstream(log).rdbuf();
    writer.Kill9();
  }

  // A process that dies behind so many changes. Returns how far it has come.
  int64_t LiveShort(const fs::path& root, PowerLoss& loss, uint64_t changes) {
    const fs::path log = NextLog();
    Process writer(Writer(root, log, loss.Environment(changes)));
    EXPECT_EQ(writer.Wait(std::chrono::seconds(60)), 128 + SIGKILL);
    return Heard(log).answered;
  }

  void CheckAnswers(const Said& said, std::span<const ClaimAnswer> answers, Left* left) {
    const auto finished = [](const ClaimAnswer& one) {
      return one.answer == ClaimVerdict::kDuplicate || one.answer == ClaimVerdict::kOutsideWindow;
    };
    const auto first_free = std::find_if_not(answers.begin(), answers.end(), finished);
    left->finished = first_free - answers.begin();
    EXPECT_GE(left->finished, Floor(said)) << "finished ids were forgotten";
    EXPECT_TRUE(std::none_of(first_free, answers.end(), finished)) << "a hole in what is known";
    const auto first_new = std::find_if_not(first_free, answers.end(),
                                            [](const ClaimAnswer& one) { return one.uncertain; });
    left->doubtful = first_new - answers.begin();
    EXPECT_TRUE(std::none_of(first_new, answers.end(), [](const ClaimAnswer& one) {
      return one.uncertain;
    })) << "a hole in the claims that are known";
    if (GetParam().level == Level::kOpaque && GetParam().sync != SyncWhen::kNever) {
      EXPECT_GE(left->doubtful, said.claimed) << "a claim is forgotten, its effect comes twice";
    }
    lost_ = lost_ || left->finished < said.answered;
    in_doubt_ = in_doubt_ || left->doubtful > left->finished;
    // The first ones were finished before any commit, and are known for longer.
    aged_ = aged_ || std::any_of(answers.begin(), answers.end(), [](const ClaimAnswer& one) {
              return one.answer == ClaimVerdict::kOutsideWindow;
            });
    // The commit that was under way may have passed all that was finished.
    const LogTime passed = TimeOfId(said.answered + kPowerBatch);
    for (int64_t i = 0; i < left->finished; i++) {
      if (TimeOfId(i) >= passed - Options({}).remember) {
        EXPECT_EQ(answers[static_cast<size_t>(i)].answer, ClaimVerdict::kDuplicate)
            << "id " << i << " is forgotten too early";
      }
    }
  }

  // False: a clear stop, and no short store.
  bool Check(const fs::path& root, const Said& said, Left* left, Keep keep) {
    const ManualClock clock;
    auto window = OpenLocalWindow(Options(root), clock);
    if (!window && IsTornManifest(window.error(), keep)) {
      return false;
    }
    CheckOpen(std::move(window), said, left);
    return true;
  }

  void CheckOpen(Result<std::unique_ptr<Window>> window, const Said& said, Left* left) {
    ASSERT_TRUE(window) << "a loss of power is no damage: " << ToString(window.error());
    std::array<OwnerEpoch, 2> owner_epochs{};
    for (int32_t partition = 0; partition < 2; partition++) {
      const auto owner_epoch = (*window)->RaiseOwnerEpoch(0, partition, 0);
      ASSERT_TRUE(owner_epoch) << ToString(owner_epoch.error());
      owner_epochs[static_cast<size_t>(partition)] = *owner_epoch;
      EXPECT_GT(*owner_epoch, said.owner_epochs[static_cast<size_t>(partition)])
          << "an ownership comes twice";
    }
    const int64_t top = std::max(said.claimed, start_) + 2 * kPowerBatch;
    std::vector<std::string> ids;
    for (int64_t i = 0; i < top; i++) {
      ids.push_back(IdNumber(i));
    }
    std::vector<ClaimRequest> claims;
    for (int64_t i = 0; i < top; i++) {
      claims.push_back({.id = ids[static_cast<size_t>(i)],
                        .token = {0xC4EC, static_cast<uint64_t>(i + 1)},
                        .at = {0, 0, i},
                        .owner_epoch = owner_epochs[0],
                        .time = TimeOfId(i)});
    }
    std::vector<ClaimAnswer> answers(claims.size());
    const Status claimed = (*window)->Claim(claims, answers);
    ASSERT_TRUE(claimed) << ToString(claimed.error());
    CheckAnswers(said, answers, left);
    // And it works: what was granted can be finished.
    EXPECT_TRUE(FinishIds(**window, top, top + kPowerBatch));
    EXPECT_TRUE((*window)->Announce({}));
  }

  // Moments of a life, in order. Its opening is short and full of steps; right behind an answer
  // most of what was not synced is lost.
  std::vector<size_t> Moments(const PowerLoss& loss) {
    const uint64_t count = HowManyLosses();
    std::vector<size_t> moments;
    for (uint64_t i = 0; i < count; i++) {
      if (i % 3 == 2) {
        moments.push_back(loss.notes()[random_() % loss.notes().size()].first);
        continue;
      }
      const bool opening = i % 3 == 0;
      const size_t last = opening ? loss.notes().front().first : loss.entries();
      const size_t moment = random_() % (last + 1);
      moments.push_back(random_() % 2 == 0 ? moment : loss.BeforeNextSync(moment));
    }
    std::sort(moments.begin(), moments.end());
    return moments;
  }

  // Returns where the next life begins.
  fs::path LoseAndCheck(PowerLoss& loss, Said said) {
    constexpr std::array kKeeps = {Keep::kSynced, Keep::kBefore, Keep::kBeforeOwn, Keep::kAny};
    fs::path next;
    Left left;
    auto note = loss.notes().begin();
    for (const size_t moment : Moments(loss)) {
      loss.ReplayTo(moment);
      for (; note != loss.notes().end() && note->first <= moment; ++note) {
        said.Hear(note->second);
      }
      for (const Keep keep : kKeeps) {
        const uint64_t seed = random_();
        SCOPED_TRACE("life " + std::to_string(life_) + ", entry " + std::to_string(moment) +
                     " of " + std::to_string(loss.entries()) + ", keep " +
                     std::to_string(static_cast<int>(keep)) + ", seed " + std::to_string(seed));
        const fs::path root = directory_.path() / "left";
        loss.Build(keep, seed, root);
        const bool opened = Check(root, said, &left, keep);
        fs::remove_all(root);
        if (HasFailure()) {
          return {};
        }
        if (!opened) {
          continue;
        }
        next = directory_.path() / ("root-" + std::to_string(life_ + 1));
        fs::remove_all(next);
        loss.Build(keep, seed, next);
      }
    }
    said_ = said;
    start_ = left.finished;
    return next;
  }

  TempDir directory_{TempDir::Quick()};
  std::mt19937_64 random_{FirstPowerSeed()};
  int life_ = 0;
  int logs_ = 0;
  Said said_;          // in former lives
  int64_t start_ = 0;  // known when this life began
  // What it met.
  bool lost_ = false;
  bool in_doubt_ = false;
  bool aged_ = false;
};

INSTANTIATE_TEST_SUITE_P(
    Settings, DiskPower,
    ::testing::Values(Setting{"Commit", SyncWhen::kEachCommit, Level::kGuarded, 16},
                      // Old buckets are merged all the time.
                      Setting{"CommitMany", SyncWhen::kEachCommit, Level::kGuarded, 3},
                      Setting{"CommitOpaque", SyncWhen::kEachCommit, Level::kOpaque, 16},
                      Setting{"CommitOneLog", SyncWhen::kEachCommit, Level::kGuarded, 100'000},
                      Setting{"Batch", SyncWhen::kEachBatch, Level::kGuarded, 16},
                      Setting{"BatchOpaque", SyncWhen::kEachBatch, Level::kOpaque, 300},
                      Setting{"Never", SyncWhen::kNever, Level::kGuarded, 16},
                      Setting{"NeverOpaque", SyncWhen::kNever, Level::kOpaque, 100}),
    [](const auto& setting) { return setting.param.name; });

TEST_P(DiskPower, WhatIsOwedSurvivesItsLoss) {
  constexpr int kLives = 3;
  fs::path root = directory_.path() / "root-0";
  fs::create_directory(root);
  for (; life_ < kLives; life_++) {
    PowerLoss loss(root, directory_.path() / ("record-" + std::to_string(life_)));
    ASSERT_NO_FATAL_FAILURE(Live(root, loss, 300 + static_cast<int64_t>(random_() % 700)));
    loss.ReadRecord();
    root = LoseAndCheck(loss, said_);
    if (HasFailure()) {
      return;
    }
  }
  if (HowManyLosses() >= kUsualLosses) {
    // Or it proves nothing. Where most steps sync, as small generations do, little is ever lost.
    EXPECT_TRUE(lost_ || (GetParam().sync != SyncWhen::kNever && GetParam().generation <= 300));
    EXPECT_EQ(in_doubt_, GetParam().level == Level::kOpaque);
    EXPECT_TRUE(aged_ || GetParam().generation > 16);
  }
}

// What a killed process had written is there for the next one, which stands upon it, and need not
// be on the disk yet.
TEST_P(DiskPower, WhatAFormerProcessHasLeftSurvivesWithWhatStandsUponIt) {
  const fs::path root = directory_.path() / "root-0";
  fs::create_directory(root);
  PowerLoss loss(root, directory_.path() / "record");
  start_ = LiveShort(root, loss, 1 + random_() % 400);
  LiveShort(root, loss, 200 + random_() % 800);
  start_ = 0;
  loss.ReadRecord();
  LoseAndCheck(loss, said_);
}

}  // namespace
}  // namespace oncemq::testing
