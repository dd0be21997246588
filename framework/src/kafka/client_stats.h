// SPDX-License-Identifier: Apache-2.0
// ClientStats: the part of librdkafka's statistics (its STATISTICS.md) about reading.
//
// **Failure:** any other text knows nothing of any partition.
//
// **Thread safety:** any thread, as it does not change.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "source.h"

namespace oncemq {

class ClientStats {
 public:
  explicit ClientStats(std::string_view json);

  // Leaves `sight` alone where nothing is known of the partition. The text has come `now`.
  void Fill(const PartitionName& partition, BootTime now, FetchSight& sight) const;

 private:
  class Parser;
  struct Reading {
    std::string state;
    int64_t broker = -1;
  };

  std::map<std::pair<std::string, int32_t>, Reading> readings_;
  std::map<int64_t, microseconds> silent_;  // by broker, since its last bytes
};

}  // namespace oncemq
