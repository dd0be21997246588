// SPDX-License-Identifier: Apache-2.0
#include "replay_text.h"

#include <algorithm>
#include <map>
#include <vector>

#include "safe_json.h"
#include "units.h"

namespace oncemq {
namespace {

using nlohmann::ordered_json;

constexpr int64_t kMillisOfDay = 86'400'000;

std::string DayText(int64_t day) {
  return day == kNoReplayDay ? "no time" : FormatTime(day * kMillisOfDay).substr(0, 10);
}

// 1234567 as 1,234,567.
std::string Grouped(int64_t number) {
  std::string text = std::to_string(number);
  for (size_t at = text.size(); at > 3; at -= 3) {
    text.insert(at - 3, ",");
  }
  return text;
}

std::vector<std::string> Cells(const std::string& name, const ReplayCounts& counts,
                               const ReplayCounts& total) {
  std::vector<std::string> cells{name};
  for (size_t word = 0; word < kReplayWords; word++) {
    if (total.words[word] > 0 || word <= static_cast<size_t>(ReplayWord::kSuppressed)) {
      cells.push_back(Grouped(counts.words[word]));
    }
  }
  cells.push_back(Grouped(counts.messages()));
  return cells;
}

std::vector<std::string> Columns(const ReplayCounts& total) {
  std::vector<std::string> names{""};
  for (size_t word = 0; word < kReplayWords; word++) {
    if (total.words[word] > 0 || word <= static_cast<size_t>(ReplayWord::kSuppressed)) {
      names.emplace_back(ToString(static_cast<ReplayWord>(word)));
    }
  }
  names.emplace_back("messages");
  return names;
}

// The first column to the left, numbers to the right.
std::string Aligned(const std::vector<std::vector<std::string>>& rows) {
  std::vector<size_t> widths(rows.front().size());
  for (const auto& row : rows) {
    for (size_t i = 0; i < row.size(); i++) {
      widths[i] = std::max(widths[i], row[i].size());
    }
  }
  std::string text;
  for (const auto& row : rows) {
    for (size_t i = 0; i < row.size(); i++) {
      const std::string fill(widths[i] - row[i].size(), ' ');
      text += i == 0 ? row[i] + fill : "  " + fill + row[i];
    }
    text += "\n";
  }
  return text;
}

ordered_json CountsAsJson(const ReplayCounts& counts) {
  ordered_json out;
  for (size_t word = 0; word < kReplayWords; word++) {
    out[std::string(ToString(static_cast<ReplayWord>(word)))] = counts.words[word];
  }
  out["before_history"] = counts.before_history;
  out["messages"] = counts.messages();
  return out;
}

}  // namespace

ReplayCounts TotalOf(const ReplayTable& table) {
  ReplayCounts total;
  for (const auto& [place, counts] : table) {
    total += counts;
  }
  return total;
}

std::string ReplayText(const ReplaySet& set, const ReplayTable& table) {
  std::map<std::string, int> partitions;
  for (const ReplayRange& range : set.ranges) {
    partitions[range.topic]++;
  }
  std::string text = "replay " + set.id + ", frozen " + FormatTime(set.frozen_ms) + "\n";
  for (const auto& [topic, count] : partitions) {
    text += topic + ": " + std::to_string(count) + (count == 1 ? " partition\n" : " partitions\n");
  }
  for (const std::string& notice : set.notices) {
    text += notice + "\n";
  }
  const ReplayCounts total = TotalOf(table);
  std::vector<std::vector<std::string>> rows{Columns(total)};
  for (const auto& [place, counts] : table) {
    const std::string topic = partitions.size() > 1 ? place.first + " " : "";
    rows.push_back(Cells(topic + DayText(place.second), counts, total));
  }
  rows.push_back(Cells("total", total, total));
  text += Aligned(rows);
  if (total.before_history > 0) {
    text += Grouped(total.before_history) +
            " of the first column lie before the history of the group: it has never handled them\n";
  }
  return text;
}

std::string ReplayJson(const ReplaySet& set, const ReplayTable& table) {
  ordered_json out{{"replay", set.id}, {"frozen_ms", set.frozen_ms}};
  out["ranges"] = ordered_json::array();
  for (const ReplayRange& range : set.ranges) {
    out["ranges"].push_back({{"topic", range.topic},
                             {"partition", range.partition},
                             {"from", range.from},
                             {"to", range.to},
                             {"frontier", range.frontier}});
  }
  out["notices"] = set.notices;
  out["days"] = ordered_json::array();
  for (const auto& [place, counts] : table) {
    ordered_json row{{"topic", place.first}};
    row["day"] =
        place.second == kNoReplayDay ? ordered_json() : ordered_json(DayText(place.second));
    row.update(CountsAsJson(counts));
    out["days"].push_back(std::move(row));
  }
  out["total"] = CountsAsJson(TotalOf(table));
  return SafeJson(out);
}

}  // namespace oncemq
