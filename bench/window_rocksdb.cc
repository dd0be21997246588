// SPDX-License-Identifier: Apache-2.0
// What does the window on disk do with ten million ids before it? New ids and copies (30 %, of any
// of the ids before) in batches of 500: claim, and completion of what was granted. Floor: the same
// ids in plain RocksDB, one key an id, one MultiGet and one WriteBatch for each batch, with filters
// and compaction as users set them: no claims, no fences, no results.
//
// Its rows are named by the ids before: window/rocksdb-1e7, window/rocksdb-1e8. Beside the ids a
// second: pages of the history read for each copy and for each new id, as the window counts them;
// buckets at the end; bytes for each id, in files; seconds of an opening.
//
//   --ids N     ids before the measured ones (10,000,000); --quick: 1,000,000
//   --sync      fsync for each batch, both of them
//   --alone     only ours, ten rounds, to be looked at with a profiler
#include <rocksdb/db.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/table.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "bench_report.h"
#include "oncemq/base/hash.h"
#include "oncemq/dedup/local_window.h"
#include "oncemq/dedup/store_stat.h"

namespace oncemq {
namespace {

constexpr size_t kBatch = 500;
constexpr int64_t kMeasured = 1'000'000;
constexpr int kRounds = 3;
constexpr double kCopies = 0.3;
constexpr size_t kIdBytes = 20;

void Need(bool holds, const char* what) {
  if (!holds) {
    std::fprintf(stderr, "window_rocksdb: %s\n", what);
    std::exit(1);
  }
}

std::string IdOf(int64_t number) {
  char text[kIdBytes + 1];
  std::snprintf(text, sizeof text, "msg-%016llx",
                static_cast<unsigned long long>(MixBits(static_cast<uint64_t>(number))));
  return text;
}

// The ids to come, the same for both: new ones, and copies of any before.
class Ids {
 public:
  explicit Ids(double copies) : copies_(copies) {}
  // Of the batch, how many are copies.
  size_t Next(std::vector<std::string>& ids) {
    size_t copies = 0;
    for (std::string& id : ids) {
      const bool copy = next_ > 0 && static_cast<double>(random_() % 1000) < copies_ * 1000;
      copies += copy ? 1 : 0;
      id = IdOf(copy ? static_cast<int64_t>(random_() % static_cast<uint64_t>(next_)) : next_++);
    }
    return copies;
  }
  void set_copies(double copies) { copies_ = copies; }

 private:
  double copies_;
  int64_t next_ = 0;
  std::mt19937_64 random_{7};
};

// Both sides: takes a batch, and says how many of it were known.
class Side {
 public:
  virtual ~Side() = default;
  virtual size_t Take(const std::vector<std::string>& ids) = 0;
};

class WindowSide final : public Side {
 public:
  WindowSide(const std::string& directory, bool sync) {
    LocalWindowOptions options;
    options.directory = directory;
    options.identity = "bench";
    options.level = Level::kGuarded;
    options.sync = sync ? SyncWhen::kEachBatch : SyncWhen::kEachCommit;
    auto window = OpenLocalWindow(options, SystemClock::Instance());
    if (!window) {
      std::fprintf(stderr, "%s\n", ToString(window.error()).c_str());
    }
    Need(window.has_value(), "the window does not open");
    window_ = *std::move(window);
  }

  size_t Take(const std::vector<std::string>& ids) override {
    claims_.resize(ids.size());
    answers_.resize(ids.size());
    changes_.resize(ids.size());
    for (size_t i = 0; i < ids.size(); i++) {
      claims_[i] = {.id = ids[i], .token = {1, ++attempt_}, .at = {0, 0, offset_++}};
    }
    Need(window_->Claim(claims_, answers_).has_value(), "a claim fails");
    completions_.clear();
    size_t known = 0;
    for (size_t i = 0; i < ids.size(); i++) {
      if (answers_[i].answer == ClaimVerdict::kGranted) {
        completions_.push_back({.id = ids[i], .token = claims_[i].token, .at = claims_[i].at});
      } else {
        known++;
      }
    }
    Need(window_->Complete(completions_, changes_).has_value(), "a completion fails");
    return known;
  }

  StoreStat Stat() {
    const auto stats = window_->Stat();
    Need(stats && stats->size() == 1, "the window does not say what it holds");
    return stats->front();
  }

 private:
  std::unique_ptr<Window> window_;
  std::vector<ClaimRequest> claims_;
  std::vector<ClaimAnswer> answers_;
  std::vector<CompleteRequest> completions_;
  std::vector<MarkerChange> changes_;
  uint64_t attempt_ = 0;
  int64_t offset_ = 0;
};

class PlainSide final : public Side {
 public:
  PlainSide(const std::string& directory, bool sync) {
    rocksdb::Options options;
    options.create_if_missing = true;
    options.max_background_jobs = 2;
    options.compression = rocksdb::kNoCompression;
    rocksdb::BlockBasedTableOptions table;
    table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10, false));
    options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
    rocksdb::DB* opened = nullptr;
    Need(rocksdb::DB::Open(options, directory, &opened).ok(), "plain RocksDB does not open");
    database_.reset(opened);
    write_.sync = sync;
  }

  size_t Take(const std::vector<std::string>& ids) override {
    keys_.assign(ids.begin(), ids.end());
    values_ = std::vector<rocksdb::PinnableSlice>(ids.size());
    statuses_.resize(ids.size());
    database_->MultiGet({}, database_->DefaultColumnFamily(), ids.size(), keys_.data(),
                        values_.data(), statuses_.data());
    size_t known = 0;
    batch_.Clear();
    for (size_t i = 0; i < ids.size(); i++) {
      if (statuses_[i].ok()) {
        known++;
      } else {
        Need(statuses_[i].IsNotFound() && batch_.Put(keys_[i], "12345678").ok(), "a get fails");
      }
    }
    Need(database_->Write(write_, &batch_).ok(), "a put fails");
    return known;
  }

 private:
  std::unique_ptr<rocksdb::DB> database_;
  rocksdb::WriteOptions write_;
  rocksdb::WriteBatch batch_;
  std::vector<rocksdb::Slice> keys_;
  std::vector<rocksdb::PinnableSlice> values_;
  std::vector<rocksdb::Status> statuses_;
};

// Ids a second, of `count`; copies inside one batch may count as new on one side and not on the
// other, so the sum of known ones is only bounded.
double Run(Side& side, Ids& ids, int64_t count) {
  std::vector<std::string> batch(kBatch);
  size_t copies = 0;
  size_t known = 0;
  double seconds = 0;
  for (int64_t done = 0; done < count; done += kBatch) {
    copies += ids.Next(batch);
    const double began = bench::WallSeconds();
    known += side.Take(batch);
    seconds += bench::WallSeconds() - began;
  }
  Need(known <= copies && known + copies / 100 + 1 >= copies, "copies were taken for new");
  return static_cast<double>(count) / seconds;
}

uint64_t BytesOf(const std::string& directory) {
  uint64_t bytes = 0;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    bytes += entry.path().extension() == ".sst" ? entry.file_size() : 0;
  }
  return bytes;
}

double PerLookup(uint64_t pages, uint64_t lookups) {
  return static_cast<double>(pages) / static_cast<double>(std::max<uint64_t>(lookups, 1));
}

// A new id is looked for once: its completion knows that it is open.
void ReportPages(bench::Report& report, const StoreStat& from, const StoreStat& to) {
  report.Add("pages per copy", PerLookup(to.known_pages - from.known_pages, to.known - from.known),
             "pages", 1);
  report.Add("pages per new id",
             PerLookup(to.fresh_pages - from.fresh_pages, to.fresh - from.fresh), "pages", 0.1);
  constexpr double kFewBuckets = 20;
  report.Add("buckets", static_cast<double>(to.buckets), "", kFewBuckets);
  std::printf("%lu merges of buckets\n", static_cast<unsigned long>(to.merges));
}

// As 10,000,000 is 1e7.
std::string Short(int64_t number) {
  int zeros = 0;
  int64_t left = number;
  for (; left >= 10 && left % 10 == 0; left /= 10) {
    zeros++;
  }
  return left == 1 ? "1e" + std::to_string(zeros) : std::to_string(number);
}

// `ids`: that it holds.
void ReportStore(bench::Report& report, const std::filesystem::path& store, int64_t ids,
                 bool sync) {
  report.Add("disk", static_cast<double>(BytesOf(store)) / static_cast<double>(ids), "B/id",
             kIdBytes + 10);
  const double began = bench::WallSeconds();
  { const WindowSide again(store, sync); }
  report.Add("restart", bench::WallSeconds() - began, "s", 2);
}

// The floor's work would hide ours in a profile.
void RunAlone(bench::Report& report, const std::filesystem::path& parent, int64_t before,
              bool sync) {
  constexpr int kRoundsAlone = 10;
  {
    WindowSide window(parent / "window", sync);
    Ids ids(0);
    std::printf("before: %.0f id/s\n", Run(window, ids, before));
    std::fflush(stdout);
    const StoreStat from = window.Stat();
    ids.set_copies(kCopies);
    for (int round = 0; round < kRoundsAlone; round++) {
      std::printf("then: %.0f id/s\n", Run(window, ids, kMeasured));
      std::fflush(stdout);
    }
    ReportPages(report, from, window.Stat());
  }
  ReportStore(report, parent / "window", before + kRoundsAlone * kMeasured * 7 / 10, sync);
}

int Main(int argc, char** argv) {
  int64_t before = bench::HasFlag(argc, argv, "--quick") ? 1'000'000 : 10'000'000;
  if (const auto ids = bench::Argument(argc, argv, "--ids")) {
    before = std::strtoll(ids->c_str(), nullptr, 10);
  }
  const bool sync = bench::HasFlag(argc, argv, "--sync");
  bench::Report report("window/rocksdb-" + Short(before), argc, argv);
  const auto parent =
      std::filesystem::temp_directory_path() / ("oncemq-bench-" + std::to_string(before));
  std::filesystem::remove_all(parent);
  std::filesystem::create_directories(parent);
  if (bench::HasFlag(argc, argv, "--alone")) {
    RunAlone(report, parent, before, sync);
    std::filesystem::remove_all(parent);
    return 0;
  }
  std::vector<double> windows;
  std::vector<double> floors;
  {
    WindowSide window(parent / "window", sync);
    PlainSide plain(parent / "plain", sync);
    Ids window_ids(0);
    Ids plain_ids(0);
    Run(window, window_ids, before);
    Run(plain, plain_ids, before);
    window_ids.set_copies(kCopies);
    plain_ids.set_copies(kCopies);
    const StoreStat from = window.Stat();
    for (int round = 0; round < kRounds; round++) {
      floors.push_back(Run(plain, plain_ids, kMeasured));
      windows.push_back(Run(window, window_ids, kMeasured));
    }
    report.AddPairs(sync ? "30 % copies, fsync" : "30 % copies", windows, "id/s", floors);
    ReportPages(report, from, window.Stat());
  }
  ReportStore(report, parent / "window", before + kRounds * kMeasured * 7 / 10, sync);
  std::filesystem::remove_all(parent);
  return 0;
}

}  // namespace
}  // namespace oncemq

int main(int argc, char** argv) {
  return oncemq::Main(argc, argv);
}
