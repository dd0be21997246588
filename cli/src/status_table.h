// SPDX-License-Identifier: Apache-2.0
// The table of partitions in `group status`, and in each picture of a watch.
//
// Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace oncemq {

enum class Mood : uint8_t { kGood, kHeld, kBad };

struct StatusRow {
  std::vector<std::string> cells;  // one for each column, the first one names the partition
  std::optional<int64_t> lag;      // not known
  Mood mood = Mood::kGood;
};

struct StatusTable {
  std::vector<std::string> head;     // lines above it
  std::vector<std::string> columns;  // a bar follows the one named "lag"
  std::vector<StatusRow> rows;
  std::vector<std::string> alarms;  // lines below it
};

struct TableLook {
  // 0 without a limit.
  size_t width = 0;
  size_t height = 0;
  bool color = false;
};

// Without room for all rows it shows those in trouble first, then those with the most lag.
std::string TableText(const StatusTable& table, const TableLook& look);

// A line for each of its parts, to be read without the others.
std::vector<std::string> TableLines(const StatusTable& table);

// "####......" is a share of the largest lag. Some lag is never an empty bar.
std::string LagBar(int64_t lag, int64_t largest);

}  // namespace oncemq
