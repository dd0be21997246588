// SPDX-License-Identifier: Apache-2.0
// The power goes while a process writes to a store that changes its log all the time: what is left
// is a prefix of what was written, and all that was synced.
//
//   ONCEMQ_POWER_LOSSES  moments, each with every way to lose; 15 times as many (6)
//   ONCEMQ_POWER_SEED    where the seeds begin
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <filesystem>
#include <functional>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "power_moments.h"
#include "power_store.h"
#include "support/eventually.h"
#include "support/power/power_loss.h"
#include "support/process.h"
#include "support/temp_dir.h"
#include "torn_manifest.h"

namespace oncemq::testing {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kRows = 1'500;

struct SaidOfRows {
  int64_t wrote = 0;
  int64_t synced = 0;

  void Hear(const std::string& text) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      std::istringstream words(line);
      std::string what;
      int64_t number = 0;
      words >> what >> number;
      if (what == "wrote") {
        wrote = number;
      } else if (what == "synced") {
        synced = number;
      }
    }
  }
};

void CheckRows(const fs::path& root, const SaidOfRows& said, Keep keep) {
  auto store = RocksStore::Open(PowerStoreOptions(root / "store"));
  if (!store && IsTornManifest(store.error(), keep)) {
    return;
  }
  ASSERT_TRUE(store) << "a loss of power is no damage: " << ToString(store.error());
  int64_t first_gone = -1;
  for (int64_t row = 0; row <= said.wrote; row++) {
    const auto value = (*store)->Get(static_cast<size_t>(row % kPowerFamilies), RowName(row));
    ASSERT_TRUE(value) << ToString(value.error());
    if (!*value && first_gone < 0) {
      first_gone = row;
    }
    ASSERT_FALSE(*value && first_gone >= 0)
        << "row " << row << " is there, " << first_gone << " is not";
  }
  EXPECT_TRUE(first_gone < 0 || first_gone >= said.synced) << first_gone << " of " << said.synced;
}

TEST(DiskPowerStore, WhatIsLeftIsAPrefixWhereverTheLogWasChanged) {
  const TempDir directory{TempDir::Quick()};
  const fs::path root = directory.path() / "root";
  fs::create_directory(root);
  PowerLoss loss(root, directory.path() / "record");
  const fs::path log = directory.path() / "said";
  {
    Process writer({.command = {ONCEMQ_STORE_WRITER, root / "store", "0"},
                    .environment = loss.Environment(),
                    .log_file = log});
    constexpr uintmax_t kBytesOfALine = 11;
    ASSERT_TRUE(Eventually(std::chrono::seconds(60), [&] {
      return fs::file_size(log) > kRows * kBytesOfALine || !writer.Running();
    }));
    ASSERT_TRUE(writer.Running());
    writer.Kill9();
  }
  loss.ReadRecord();
  std::mt19937_64 random(FirstPowerSeed());
  std::vector<size_t> moments(15 * HowManyLosses());
  std::generate(moments.begin(), moments.end(), [&] {
    const size_t moment = random() % (loss.entries() + 1);
    switch (random() % 3) {
      case 0:
        return moment;
      case 1:
        return loss.BeforeNextSync(moment);
      default:  // a new log, and the first that stands in it
        return std::min(loss.BehindNextFile(moment) + random() % 8, loss.entries());
    }
  });
  std::sort(moments.begin(), moments.end());
  SaidOfRows said;
  auto note = loss.notes().begin();
  for (const size_t moment : moments) {
    loss.ReplayTo(moment);
    for (; note != loss.notes().end() && note->first <= moment; ++note) {
      said.Hear(note->second);
    }
    for (const Keep keep : {Keep::kSynced, Keep::kBefore, Keep::kBeforeOwn, Keep::kAny}) {
      const uint64_t seed = random();
      SCOPED_TRACE("entry " + std::to_string(moment) + " of " + std::to_string(loss.entries()) +
                   ", keep " + std::to_string(static_cast<int>(keep)) + ", seed " +
                   std::to_string(seed));
      const fs::path left = directory.path() / "left";
      loss.Build(keep, seed, left);
      CheckRows(left, said, keep);
      fs::remove_all(left);
      if (::testing::Test::HasFailure()) {
        return;
      }
    }
  }
}

// A buffer is sealed by whoever writes, flushes or takes a file in, and the log is synced right
// there, beside other syncs.
TEST(DiskPowerStore, ThreadsThatWriteSyncFlushAndIngestAllComeToTheirEnd) {
  const TempDir directory{TempDir::Quick()};
  auto store = RocksStore::Open(PowerStoreOptions(directory.path() / "store"));
  ASSERT_TRUE(store) << ToString(store.error());
  std::atomic<int> failed{0};
  const auto again = [&](int times, const std::function<Status(int)>& step) {
    return std::thread([&failed, times, step] {
      for (int i = 0; i < times; i++) {
        failed += step(i) ? 0 : 1;
      }
    });
  };
  const auto write = [&](int64_t first, bool sync) {
    return [&store, first, sync](int i) {
      RocksBatch batch = (*store)->NewBatch();
      batch.Put(static_cast<size_t>(i % kPowerFamilies), RowName(first + i),
                std::string(1'000, 'r'));
      return (*store)->Write(batch, sync);
    };
  };
  std::vector<std::thread> threads;
  threads.push_back(again(3'000, write(0, false)));
  threads.push_back(again(1'000, write(100'000, true)));
  threads.push_back(again(1'000, [&](int) { return (*store)->Sync(); }));
  threads.push_back(again(60, [&](int i) { return (*store)->Flush(i % 2 == 0 ? 0 : 1); }));
  threads.push_back(again(60, [&](int i) {
    bool given = false;
    return (*store)->Ingest(0, [&](std::string& key, std::string& value) {
      key = RowName(200'000 + i);
      value = "ingested";
      return !std::exchange(given, true);
    });
  }));
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(failed, 0);
}

}  // namespace
}  // namespace oncemq::testing
