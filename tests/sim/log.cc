// SPDX-License-Identifier: Apache-2.0
#include "log.h"

#include <algorithm>

#include "rng.h"

namespace oncemq::sim {
namespace {

// Ids that differ only behind a zero byte, as binary ids may.
std::string IdText(size_t number) {
  return std::string("id\0", 3) + std::to_string(number);
}

struct Original {
  uint32_t id;
  int32_t key;
  uint32_t payload = 0;
};

class Builder {
 public:
  explicit Builder(const Config& config)
      : config_(config),
        rng_(seed(), "log"),
        stamps_(seed(), "stamps"),
        aborts_(seed(), "aborts") {}

  Log Build() {
    log_.partitions.resize(static_cast<size_t>(config_.partitions));
    originals_.resize(log_.partitions.size());
    waiting_.resize(log_.partitions.size());
    for (PartitionLog& partition : log_.partitions) {
      partition.start = partition.end = rng_.Chance(500) ? 0 : rng_.Between(1, 5000);
    }
    for (int64_t i = 0; i < config_.messages; i++) {
      const Micros at =
          config_.messages > 1 ? config_.appended_over * i / (config_.messages - 1) : 0;
      for (size_t p = 0; p < log_.partitions.size(); p++) {
        AddOne(p, at);
      }
    }
    for (size_t p = 0; p < log_.partitions.size(); p++) {
      SendAgain(p, config_.appended_over, /*all=*/true);
    }
    return std::move(log_);
  }

 private:
  uint64_t seed() const { return static_cast<uint64_t>(config_.seed); }

  void AddOne(size_t p, Micros at) {
    PartitionLog& partition = log_.partitions[p];
    while (rng_.Chance(config_.holes)) {
      partition.end++;
    }
    const Original message = rng_.Chance(config_.copies) ? Copy(p) : Fresh();
    originals_[p].push_back(message);
    const auto bytes = static_cast<uint32_t>(rng_.Between(10, 400));
    LogRecord record{partition.end++, message.id, message.key, bytes, at, Stamp(at)};
    record.payload = message.payload;
    if (config_.aborted > 0 && aborts_.Chance(config_.aborted)) {
      partition.aborted.push_back(record);
      waiting_[p].push_back(record);
      return;
    }
    partition.records.push_back(record);
    SendAgain(p, at, /*all=*/false);
  }

  // What was aborted is sent again, sooner or later.
  void SendAgain(size_t p, Micros at, bool all) {
    PartitionLog& partition = log_.partitions[p];
    while (!waiting_[p].empty() && (all || aborts_.Chance(150))) {
      LogRecord record = waiting_[p].front();
      waiting_[p].erase(waiting_[p].begin());
      record.offset = partition.end++;
      record.appended = record.stamp = at;
      partition.records.push_back(record);
    }
  }

  // Some clocks are wrong by about what a window remembers.
  Micros Stamp(Micros at) {
    const Micros most = 2 * std::max(config_.remember_for, kSecond);
    return config_.stamps > 0 && stamps_.Chance(config_.stamps) ? at + stamps_.Between(-most, most)
                                                                : at;
  }

  Original Fresh() {
    const auto id = static_cast<uint32_t>(log_.ids.size());
    log_.ids.push_back(IdText(id));
    const bool keyed = !rng_.Chance(config_.no_key);
    return {id, keyed ? static_cast<int32_t>(rng_.Between(0, config_.keys - 1)) : kNoKey};
  }

  Original Copy(size_t p) {
    const bool crosses = rng_.Chance(config_.crossing);
    const auto& from = originals_[crosses ? rng_.Below(originals_.size()) : p];
    if (from.empty()) {
      return Fresh();
    }
    Original copy = rng_.Chance(config_.near_copies) ? from.back() : from[rng_.Below(from.size())];
    if (config_.conflicting > 0 && rng_.Chance(config_.conflicting)) {
      copy.payload++;
    }
    if (rng_.Chance(config_.rekeyed)) {
      copy.key = static_cast<int32_t>(rng_.Between(0, config_.keys - 1));
    }
    return copy;
  }

  const Config& config_;
  Rng rng_;
  Rng stamps_;
  Rng aborts_;
  Log log_;
  std::vector<std::vector<Original>> originals_;
  std::vector<std::vector<LogRecord>> waiting_;  // aborted, and not sent again yet
};

}  // namespace

size_t PartitionLog::Find(int64_t offset) const {
  const auto at = std::lower_bound(
      records.begin(), records.end(), offset,
      [](const LogRecord& record, int64_t wanted) { return record.offset < wanted; });
  return static_cast<size_t>(at - records.begin());
}

int64_t PartitionLog::EndAt(Micros now) const {
  int64_t written = start;
  for (const std::vector<LogRecord>* part : {&records, &aborted}) {
    const auto later = std::partition_point(
        part->begin(), part->end(), [now](const LogRecord& one) { return one.appended <= now; });
    written = later == part->begin() ? written : std::max(written, std::prev(later)->offset + 1);
  }
  return written;
}

int64_t PartitionLog::Count(int64_t from, int64_t to) const {
  return to <= from ? 0 : static_cast<int64_t>(Find(to) - Find(from));
}

Log BuildLog(const Config& config) {
  return Builder(config).Build();
}

uint64_t KeyHash(int32_t key) {
  return ProcessHash("k" + std::to_string(key));
}

std::string KeyText(int32_t partition, int32_t key) {
  return std::to_string(partition) + "/" + std::to_string(key);
}

}  // namespace oncemq::sim
