// SPDX-License-Identifier: Apache-2.0
// PartitionTable: the numbers of (topic, partition) in this process. A number is stable for the
// process's lifetime.
//
// Thread safety: none; belongs to the poll thread.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "oncemq/base/check.h"
#include "source.h"

namespace oncemq {

class PartitionTable {
 public:
  explicit PartitionTable(std::vector<std::string> topics) : topics_(std::move(topics)) {}

  // The number; a new one at first sight.
  PartitionId Number(std::string_view topic, int32_t partition) {
    const auto [place, is_new] = numbers_.try_emplace({std::string(topic), partition}, 0);
    if (is_new) {
      place->second = static_cast<PartitionId>(names_.size());
      names_.push_back({std::string(topic), partition});
    }
    return place->second;
  }
  // Precondition: Number() gave it.
  const PartitionName& Name(PartitionId id) const {
    ONCEMQ_CHECK(id < names_.size(), "Number() gives each number with its name");
    return names_[id];
  }

  // Number of the topic in the scope, as Coordinates::source.
  uint32_t Source(std::string_view topic) const {
    uint32_t source = 0;
    while (source < topics_.size() && topics_[source] != topic) {
      source++;
    }
    return source;
  }

 private:
  const std::vector<std::string> topics_;
  std::map<std::pair<std::string, int32_t>, PartitionId> numbers_;
  std::vector<PartitionName> names_;
};

}  // namespace oncemq
