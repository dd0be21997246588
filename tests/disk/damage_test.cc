// SPDX-License-Identifier: Apache-2.0
// Files of a store that are damaged or gone: the window says so at its opening or at the look that
// meets the damage, or it knows everything. It never takes a finished id for a new one.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "disk_window.h"
#include "support/temp_dir.h"

namespace oncemq::testing {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kDamagedIds = 700;

struct Life {
  uint32_t generation;  // with small ones ids lie in the history too; with a large one all in logs
  int64_t owners;       // one after the other: each has files of its own
};

class DiskDamage : public ::testing::TestWithParam<Life> {
 protected:
  void SetUp() override {
    const int64_t each = kDamagedIds / GetParam().owners;
    for (int64_t i = 0; i < kDamagedIds; i += each) {
      ASSERT_NO_FATAL_FAILURE(FinishByOne(i, i + each));
    }
  }
  LocalWindowOptions Options(const std::string& store) const {
    return DiskOptions(store, GetParam().generation);
  }
  void FinishByOne(int64_t from, int64_t to) {
    auto window = OpenLocalWindow(Options(Store("sound")), SystemClock::Instance());
    ASSERT_TRUE(window) << ToString(window.error());
    const auto owner_epoch = (*window)->RaiseOwnerEpoch(0, 0, 0);
    for (int64_t i = from; i < to; i += 35) {
      ASSERT_TRUE(FinishIds(**window, i, i + 35));
      const Progress progress{0, 0, *owner_epoch, i + 35, kThen};
      MarkerChange change{};
      ASSERT_TRUE((*window)->Announce({}));
      ASSERT_TRUE((*window)->Committed({&progress, 1}, {&change, 1}));
    }
  }

  std::string Store(const std::string& name) { return directory_.path() / name; }
  std::vector<std::string> Files() {
    std::vector<std::string> files;
    for (const auto& entry : fs::directory_iterator(Store("sound"))) {
      files.push_back(entry.path().filename());
    }
    return files;
  }

  // True: an id that was finished and synced counts as new, and nobody said a word.
  bool ShortInSilence(const std::function<void(const fs::path& store)>& damage) {
    const fs::path store = Store("hurt");
    fs::remove_all(store);
    fs::copy(Store("sound"), store);
    damage(store);
    auto window = OpenLocalWindow(Options(store), SystemClock::Instance());
    const auto unknown =
        window ? Unknown(**window, 0, kDamagedIds) : Result<int64_t>(window.error());
    if (!unknown) {
      refused_++;
      EXPECT_NE(unknown.error().message.find(store.string()), std::string::npos)
          << "which one? " << unknown.error().message;
      damaged_ += unknown.error().code == Code::kCorrupt ? 1 : 0;
      return false;
    }
    return *unknown > 0;
  }

  TempDir directory_;
  int refused_ = 0;
  int damaged_ = 0;  // of these, those that say so
};

INSTANTIATE_TEST_SUITE_P(Lives, DiskDamage,
                         ::testing::Values(Life{250, 5}, Life{1'000'000, 5}, Life{250, 1},
                                           Life{1'000'000, 1}));

TEST_P(DiskDamage, AByteThatIsFlippedAnywhereIsFoundOrDoesNotMatter) {
  constexpr uint64_t kPlaces = 24;
  for (const std::string& name : Files()) {
    const uint64_t size = fs::file_size(fs::path(Store("sound")) / name);
    for (uint64_t i = 0; i < std::min(kPlaces, size); i++) {
      const uint64_t at = size * i / kPlaces;
      EXPECT_FALSE(ShortInSilence([&](const fs::path& store) { FlipByte(store / name, at); }))
          << name << " at " << at;
    }
  }
  EXPECT_GT(refused_, 10) << "or this test proves nothing";
  EXPECT_GT(damaged_, 0);
}

TEST_P(DiskDamage, AFileThatIsGoneIsMissedOrDoesNotMatter) {
  for (const std::string& name : Files()) {
    EXPECT_FALSE(ShortInSilence([&](const fs::path& store) { fs::remove(store / name); })) << name;
  }
  EXPECT_GT(refused_, 2);
}

TEST_P(DiskDamage, AFileThatWasCutIsFoundOrDoesNotMatter) {
  for (const std::string& name : Files()) {
    const uint64_t size = fs::file_size(fs::path(Store("sound")) / name);
    for (const uint64_t left : {uint64_t{0}, size / 3, size - std::min<uint64_t>(size, 1)}) {
      EXPECT_FALSE(ShortInSilence([&](const fs::path& store) {
        fs::resize_file(store / name, left);
      })) << name
          << " cut to " << left << " of " << size;
    }
  }
  EXPECT_GT(refused_, 5);
}

TEST_P(DiskDamage, ASoundCopyIsOpened) {
  EXPECT_FALSE(ShortInSilence([](const fs::path&) {}));
  EXPECT_EQ(refused_, 0);
}

TEST_P(DiskDamage, AStoreOfSomebodyElseIsRefused) {
  LocalWindowOptions options = Options(Store("sound"));
  options.identity = "another topic";
  const auto window = OpenLocalWindow(options, SystemClock::Instance());
  ASSERT_FALSE(window);
  EXPECT_EQ(window.error().code, Code::kInvalid);
  EXPECT_NE(window.error().message.find("a test"), std::string::npos) << window.error().message;
}

}  // namespace
}  // namespace oncemq::testing
