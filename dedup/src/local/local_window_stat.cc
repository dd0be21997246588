// SPDX-License-Identifier: Apache-2.0
// What a store on disk holds, in numbers, and the look at one that nobody holds.
#include <algorithm>
#include <filesystem>
#include <optional>

#include "../uncertain_calls.h"
#include "families.h"
#include "known_row.h"
#include "local_window_engine.h"
#include "oncemq/dedup/store_reader.h"

namespace oncemq {
namespace {

namespace fs = std::filesystem;

// Files may go while they are counted.
uint64_t DiskBytes(const std::string& directory) {
  uint64_t sum = 0;
  std::error_code failed;
  for (fs::directory_iterator entry(directory, failed), end; !failed && entry != end;
       entry.increment(failed)) {
    std::error_code gone;
    const uint64_t bytes = entry->is_regular_file(gone) ? entry->file_size(gone) : 0;
    sum += gone ? 0 : bytes;
  }
  return sum;
}

std::optional<int32_t> PartitionOf(const std::string& name) {
  const bool digits = !name.empty() && name.size() <= 9 &&
                      name.find_first_not_of("0123456789") == std::string::npos;
  return digits ? std::optional(static_cast<int32_t>(std::stol(name))) : std::nullopt;
}

// As the windows of partitions end their identities.
std::string TopicOf(const std::string& identity) {
  constexpr std::string_view kTopic = "topic ";
  constexpr std::string_view kPartition = ", partition ";
  const size_t end = identity.rfind(kPartition);
  const size_t at = end == std::string::npos ? end : identity.rfind(kTopic, end);
  return at == std::string::npos || !PartitionOf(identity.substr(end + kPartition.size()))
             ? ""
             : identity.substr(at + kTopic.size(), end - at - kTopic.size());
}

// Also one that has lost its CURRENT, and cannot be read: it must not count as none.
bool IsStore(const fs::path& directory) {
  std::error_code failed;
  return fs::exists(directory / "CURRENT", failed) || fs::exists(directory / "SYNCED", failed);
}

std::vector<fs::path> FoldersOf(const fs::path& directory) {
  std::vector<fs::path> folders;
  std::error_code failed;
  for (fs::directory_iterator entry(directory, failed), end; !failed && entry != end;
       entry.increment(failed)) {
    std::error_code gone;
    if (entry->is_directory(gone)) {
      folders.push_back(entry->path());
    }
  }
  return folders;
}

class LocalStoreReader final : public StoreReader {
 public:
  explicit LocalStoreReader(std::unique_ptr<LocalWindow> window) : window_(std::move(window)) {}

  Result<StoreStat> Stat() override {
    auto stats = window_->Stat();
    return stats ? Result<StoreStat>(std::move(stats->front())) : stats.error();
  }
  Status Peek(std::span<const std::string_view> ids, std::span<MarkerView> views) override {
    return window_->Peek(ids, views);
  }
  Result<std::vector<UncertainRecord>> ListUncertain(WallTime since) override {
    return window_->ListUncertain(since);
  }

 private:
  const std::unique_ptr<LocalWindow> window_;
};

Status NobodyHolds(const std::string& directory) {
  const auto holder = RocksStore::HolderOf(directory);
  if (!holder) {
    return holder.error();
  }
  if (*holder == 0) {
    return {};
  }
  return Error{Code::kUnavailable, Effect::kNone,
               directory + ": process " + std::to_string(*holder) + " holds it"};
}

}  // namespace

Status LocalWindow::StatPartitions(std::vector<PartitionStat>& partitions) {
  const auto watermark = progress_.Watermark();
  for (const auto& [where, position] : progress_.positions()) {
    PartitionStat stat{.source = where.first,
                       .partition = where.second,
                       .frontier = position.frontier,
                       .watermark = position.watermark};
    if (const OwnerRecord* owner = engine_.owners().Find({stat.source, stat.partition, 0})) {
      stat.owner_epoch = owner->owner_epoch;
    }
    stat.pins = position.watermark == kNoLogTime || position.watermark == watermark;
    const auto row = store_->Get(kFacts, PartitionKey(kKnownPrefix, stat.source, stat.partition));
    if (!row) {
      return row.error();
    }
    if (const auto known = *row ? DecodeKnown(**row) : std::nullopt) {
      stat.known_from = known->from;
      stat.known_to = known->to;
      stat.announced = known->offset;
    }
    partitions.push_back(stat);
  }
  return {};
}

Result<std::vector<StoreStat>> LocalWindow::Stat() {
  StoreStat stat{.directory = options_.directory,
                 .topic = TopicOf(options_.identity),
                 .identity = options_.identity,
                 .level = *options_.level,
                 .disk_bytes = DiskBytes(options_.directory)};
  MutexLock lock(mutex_);
  // What is being forgotten counts as gone.
  forgotten_.wait(mutex_, [this]() REQUIRES(mutex_) { return !forgetting_; });
  if (Status usable = Usable(); !usable) {
    return usable.error();
  }
  stat.incarnation = manifest_.incarnation;
  stat.recent = ids_.in_memory();
  stat.history = ids_.history().ids();
  stat.buckets = ids_.history().buckets();
  stat.merges = ids_.history().merges();
  stat.merges_failed = ids_.failed_merges();
  stat.known = ids_.totals().known;
  stat.known_pages = ids_.totals().known_pages;
  stat.fresh = ids_.totals().fresh;
  stat.fresh_pages = ids_.totals().fresh_pages;
  stat.open = engine_.open();
  stat.parked = engine_.parked();
  stat.memory_bytes = ids_.memory_bytes() + engine_.markers().memory_bytes();
  stat.remembers = {options_.remember, options_.skew};
  stat.horizon = finished_.horizon();
  if (Status read = StatPartitions(stat.partitions); !read) {
    return read.error();
  }
  return std::vector<StoreStat>{std::move(stat)};
}

Result<std::vector<UncertainRecord>> LocalWindow::ListUncertain(WallTime since) {
  MutexLock lock(mutex_);
  if (Status usable = Usable(); !usable) {
    return usable.error();
  }
  auto records = ReadUncertain(kUncertainPrefix, kUncertainEnd);
  if (!records) {
    return records;
  }
  for (UncertainRecord& record : *records) {
    record.topic = TopicOf(options_.identity);
  }
  std::erase_if(*records, [&](const UncertainRecord& one) { return one.last < since; });
  SortByLastCall(*records);
  return records;
}

Result<std::unique_ptr<StoreReader>> StoreReader::Open(const std::string& directory,
                                                       const Clock& clock) {
  if (!IsStore(directory)) {
    return Error{Code::kNotFound, Effect::kNone, directory + ": no store lies there"};
  }
  if (Status free = NobodyHolds(directory); !free) {
    return free.error();
  }
  auto window = LocalWindow::OpenToRead(directory, clock);
  // Whoever came meanwhile has changed what was read, or made it unreadable.
  if (Status free = NobodyHolds(directory); !free) {
    return free.error();
  }
  if (!window) {
    return window.error();
  }
  return std::unique_ptr<StoreReader>(std::make_unique<LocalStoreReader>(*std::move(window)));
}

std::vector<std::string> FindStores(const std::string& directory) {
  if (IsStore(directory)) {
    return {directory};
  }
  std::vector<std::pair<std::string, int32_t>> names;
  std::vector<fs::path> topics = FoldersOf(directory);
  topics.push_back(directory);  // or it is the folder of one topic
  for (const fs::path& topic : topics) {
    for (const fs::path& folder : FoldersOf(topic)) {
      const auto partition = PartitionOf(folder.filename().string());
      if (partition && IsStore(folder)) {
        names.emplace_back(topic.string(), *partition);
      }
    }
  }
  std::sort(names.begin(), names.end());
  std::vector<std::string> stores;
  stores.reserve(names.size());
  for (const auto& [topic, partition] : names) {
    stores.push_back(topic + "/" + std::to_string(partition));
  }
  return stores;
}

}  // namespace oncemq
