// SPDX-License-Identifier: Apache-2.0
// What a window on disk does before it can be used: check its options, open its store, read what is
// there.
#include <algorithm>
#include <filesystem>

#include "../remember_times.h"
#include "../window_check.h"
#include "admin_socket_file.h"
#include "families.h"
#include "kept_marker.h"
#include "local_window_engine.h"
#include "sealed_row.h"

namespace oncemq {
namespace {

Error Damaged(const char* what) {
  return {Code::kCorrupt, Effect::kNone, std::string(what) + " cannot be read"};
}

}  // namespace

Status LocalWindow::Load(bool read_only) {
  for (const size_t family : {kFacts, kJournal, kKept}) {
    if (Status sound = store_->Verify(family); !sound) {
      return sound;
    }
  }
  MutexLock lock(mutex_);
  for (const auto load : {&LocalWindow::LoadMarkers, &LocalWindow::LoadOwners,
                          &LocalWindow::LoadProgress, &LocalWindow::LoadHorizon}) {
    if (Status loaded = (this->*load)(); !loaded) {
      return loaded;
    }
  }
  if (Status timed = timed_.Open(); !timed) {
    return timed;
  }
  return ids_.Open(read_only);
}

Status LocalWindow::LoadMarkers() {
  Status read;
  const Status scanned =
      store_->Scan(kKept, {}, {}, [&](std::string_view id, std::string_view row) REQUIRES(mutex_) {
        auto marker = DecodeKept(row);
        if (!marker || id.empty() || id.size() > MarkerTable::kMaxId) {
          read = Damaged("a marker");
          return false;
        }
        marker->stored = true;
        if (marker->state == MarkerState::kOpen) {
          // Its process is gone, or it has lost the store to a failure: nobody renews it, and
          // whoever completes it may, as long as no other has claimed it.
          marker->uncertain |= marker->held;
          marker->held = false;
        }
        engine_.Load(Locate(id, 0), *marker);
        return true;
      });
  return scanned ? read : scanned;
}

Status LocalWindow::LoadOwners() {
  Status read;
  const Status scanned =
      store_->Scan(kFacts, kOwnerEpochPrefix, kOwnerEpochEnd,
                   [&](std::string_view key, std::string_view value) REQUIRES(mutex_) {
                     const auto owner_epoch = UnsealNumbers<1>(value);
                     const auto partition = ReadPartitionKey(key, kOwnerEpochPrefix);
                     if (!owner_epoch || !partition) {
                       read = Damaged("an ownership record");
                       return false;
                     }
                     engine_.owners().Restore(partition->first, partition->second,
                                              (*owner_epoch)[0], clock_.Boot());
                     progress_.Register(partition->first, partition->second);
                     return true;
                   });
  return scanned ? read : scanned;
}

Status LocalWindow::LoadProgress() {
  Status read;
  const Status scanned =
      store_->Scan(kFacts, kProgressPrefix, kProgressEnd,
                   [&](std::string_view key, std::string_view row) REQUIRES(mutex_) {
                     read = progress_.Load(key, row) ? Status() : Damaged("a partition's progress");
                     return read.has_value();
                   });
  return scanned ? read : scanned;
}

Status LocalWindow::LoadHorizon() {
  const auto row = store_->Get(kFacts, kHorizonKey);
  if (!row || !*row) {
    return row ? Status() : Status(row.error());
  }
  const auto horizon = UnsealNumbers<1>(**row);
  if (!horizon || (*horizon)[0] > INT64_MAX) {
    return Damaged("the horizon");
  }
  finished_.set_horizon(LogTime(milliseconds(static_cast<int64_t>((*horizon)[0]))));
  return {};
}

StoreMemory NewStoreMemory(const LocalWindowOptions& options) {
  return {NewRocksMemory(options.cache_bytes, options.buffer_bytes),
          std::make_shared<GenerationMemory>(options.memory_bytes)};
}

Status CheckLocalWindow(const LocalWindowOptions& options) {
  constexpr uint32_t kMaxCount = 1'000'000'000;
  constexpr uint32_t kMaxGeneration = 100'000'000;
  if (Status fit = CheckPromise(options.level, options.times, "local", /*atomic=*/true); !fit) {
    return fit;
  }
  if (options.directory.empty()) {
    return InvalidRequest("say the directory");
  }
  if (options.generation == 0 || options.generation > kMaxGeneration) {
    return InvalidRequest("generation must be 1 to " + std::to_string(kMaxGeneration));
  }
  if (options.max_open == 0 || options.max_open > kMaxCount || options.max_parked == 0 ||
      options.max_parked > kMaxCount) {
    return InvalidRequest("max_open and max_parked must be 1 to " + std::to_string(kMaxCount));
  }
  if (options.memory_bytes < 2 * GenerationMemory::kLeast) {
    return InvalidRequest("memory_bytes must be at least " +
                          std::to_string(2 * GenerationMemory::kLeast));
  }
  constexpr milliseconds kLongestAge = std::chrono::hours(24 * 365 * 10);
  if (options.remember <= milliseconds(0) || options.remember > kLongestAge ||
      options.skew < milliseconds(0) || options.skew > kLongestAge) {
    return InvalidRequest("remember must be above 0, skew not below, both at most ten years");
  }
  return {};
}

namespace {

RocksOptions StoreOptions(const LocalWindowOptions& options,
                          std::shared_ptr<RocksMemory> memory = nullptr) {
  // The journal holds the present generation and the one that is being put away; flushed earlier,
  // it would be written twice.
  constexpr size_t kUsualRow = 96;
  const size_t journal =
      std::clamp(2 * kUsualRow * options.generation, size_t{4} << 20, size_t{256} << 20);
  RocksOptions store{.directory = options.directory, .memory = std::move(memory)};
  store.families = {
      {.name = "default", .memtable_bytes = size_t{4} << 20},
      {.name = "journal", .memtable_bytes = journal},
      {.name = "history", .memtable_bytes = size_t{1} << 20, .compactions = false, .pages = true},
      {.name = "kept", .memtable_bytes = size_t{8} << 20},
      {.name = "effects", .memtable_bytes = size_t{32} << 20}};
  store.max_wal_bytes = 4 * journal;
  return store;
}

// One process holds it at a time, so its options are in force once they fit.
Status CheckStoreTimes(RocksStore& store, const LocalWindowOptions& options) {
  const auto in_force = ReadRememberTimes(store);
  return in_force ? CheckRememberTimes({options.remember, options.skew}, *in_force,
                                       "the store in " + options.directory)
                  : InStore(options.directory, in_force.error());
}

Error LostWrites(const std::string& directory, uint64_t last, uint64_t acknowledged) {
  return {Code::kLostWrites, Effect::kNone,
          directory + ": changes " + std::to_string(last + 1) + " to " +
              std::to_string(acknowledged) +
              " were acknowledged and are gone: the disk has lost them, or an older copy of the "
              "store lies there; its partition has to be assigned anew"};
}

}  // namespace

Result<std::unique_ptr<LocalWindow>> LocalWindow::OpenAt(const LocalWindowOptions& options,
                                                         const Clock& clock,
                                                         const StoreMemory& memory,
                                                         const FormerOpening& former) {
  RocksOptions asked = StoreOptions(options, memory.rocks);
  asked.exists = former.incarnation != 0;
  auto store = RocksStore::Open(asked);
  if (!store) {
    return store.error();
  }
  const auto manifest = OpenManifest(**store, options.identity, *options.level, former.incarnation);
  if (!manifest) {
    return InStore(options.directory, manifest.error());
  }
  if (asked.exists && std::find(manifest->earlier.begin(), manifest->earlier.end(),
                                former.incarnation) == manifest->earlier.end()) {
    return Error{
        Code::kCorrupt, Effect::kNone,
        options.directory + ": another store has taken the place of the one that was held"};
  }
  if (const uint64_t last = (*store)->acknowledged(); last < former.acknowledged) {
    return LostWrites(options.directory, last, former.acknowledged);
  }
  if (Status fits = CheckStoreTimes(**store, options); !fits) {
    return fits.error();
  }
  auto window = std::make_unique<LocalWindow>(options, clock, *std::move(store), *manifest,
                                              memory.generations);
  Status loaded = window->Load(/*read_only=*/false);
  if (loaded) {
    loaded = window->WriteManifest();
  }
  if (!loaded) {
    return InStore(options.directory, loaded.error());
  }
  WriteAdminSocket(options.directory, options.admin_socket);
  return window;
}

// While its lock is held no other process writes that file.
void LocalWindow::SetAdminSocket(const std::string& path) {
  MutexLock lock(mutex_);
  if (options_.admin_socket.empty() && admin_socket_ != path) {
    admin_socket_ = path;
    WriteAdminSocket(options_.directory, path);
  }
}

Status LocalWindow::WriteManifest() {
  MutexLock lock(mutex_);
  PutManifest(manifest_, batch_);
  PutRememberTimes({options_.remember, options_.skew}, batch_);
  return WriteNow(/*sync=*/true);
}

Result<std::unique_ptr<LocalWindow>> LocalWindow::OpenToRead(const std::string& directory,
                                                             const Clock& clock) {
  LocalWindowOptions options;
  options.directory = directory;
  auto store = RocksStore::OpenToRead(StoreOptions(options));
  if (!store) {
    return store.error();
  }
  const auto manifest = ReadManifest(**store);
  if (!manifest) {
    return InStore(directory, manifest.error());
  }
  const auto times = ReadRememberTimes(**store);
  if (!times) {
    return InStore(directory, times.error());
  }
  options.identity = manifest->identity;
  options.level = manifest->level;
  options.remember = times->remember;
  options.skew = times->skew;
  auto window =
      std::make_unique<LocalWindow>(options, clock, *std::move(store), *manifest, nullptr);
  if (Status loaded = window->Load(/*read_only=*/true); !loaded) {
    return InStore(directory, loaded.error());
  }
  return window;
}

Result<RememberTimes> ReplaceRememberTimes(const std::string& directory,
                                           const RememberTimes& times) {
  LocalWindowOptions options;
  options.directory = directory;
  RocksOptions asked = StoreOptions(options);
  asked.exists = true;
  const auto store = RocksStore::Open(asked);
  if (!store) {
    return store.error();
  }
  if (const auto manifest = ReadManifest(**store); !manifest) {
    return InStore(directory, manifest.error());
  }
  const auto in_force = ReadRememberTimes(**store);
  if (!in_force) {
    return InStore(directory, in_force.error());
  }
  if (IsLonger(times, *in_force)) {
    return in_force;
  }
  RocksBatch batch = (*store)->NewBatch();
  PutRememberTimes(times, batch);
  const Status written = (*store)->Write(batch, /*sync=*/true);
  return written ? Result<RememberTimes>(times) : written.error();
}

Result<std::unique_ptr<Window>> OpenLocalWindow(const LocalWindowOptions& options,
                                                const Clock& clock) {
  if (Status fit = CheckLocalWindow(options); !fit) {
    return fit.error();
  }
  if (options.identity.empty()) {
    return InvalidRequest("say whose window it is (identity)");
  }
  auto window = LocalWindow::OpenAt(options, clock, NewStoreMemory(options));
  if (!window) {
    return window.error();
  }
  return std::unique_ptr<Window>(*std::move(window));
}

Status ScanEffects(const std::string& directory,
                   const std::function<bool(std::string_view key, std::string_view value)>& visit) {
  std::error_code failed;  // an opening makes a store where there is none
  if (!std::filesystem::exists(std::filesystem::path(directory) / "CURRENT", failed)) {
    return InvalidRequest("there is no store in " + directory);
  }
  auto store = RocksStore::Open(StoreOptions({.directory = directory}));
  if (!store) {
    return store.error();
  }
  const Status sound = (*store)->Verify(kEffects);
  return sound ? (*store)->Scan(kEffects, {}, {}, visit) : sound;
}

}  // namespace oncemq
