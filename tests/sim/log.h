// SPDX-License-Identifier: Apache-2.0
// Log: the topic as it will have been written in the end. What exists in it is the truth that
// checkers count against.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config.h"

namespace oncemq::sim {

inline constexpr int32_t kNoKey = -1;

struct LogRecord {
  int64_t offset = 0;
  uint32_t id = 0;  // index into Log::ids; a copy has the id of its original
  int32_t key = kNoKey;
  uint32_t bytes = 0;
  Micros appended = 0;
  Micros stamp = 0;      // what its producer says of that
  uint32_t payload = 0;  // differs from that of its original where a producer mixed ids up
};

struct PartitionLog {
  int64_t start = 0;
  int64_t end = 0;                 // one above the last offset, holes included
  std::vector<LogRecord> records;  // by offset
  std::vector<LogRecord> aborted;  // likewise: who reads committed messages only never sees them

  // Index of the first record at or above the offset.
  size_t Find(int64_t offset) const;
  // One above the last offset that was written by then.
  int64_t EndAt(Micros now) const;
  // How many offsets of [from, to) exist.
  int64_t Count(int64_t from, int64_t to) const;
};

struct Log {
  std::vector<std::string> ids;
  std::vector<PartitionLog> partitions;
};

Log BuildLog(const Config& config);
uint64_t KeyHash(int32_t key);
std::string KeyText(int32_t partition, int32_t key);

}  // namespace oncemq::sim
