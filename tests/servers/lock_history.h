// SPDX-License-Identifier: Apache-2.0
// What several processes believed to hold, and whether that can be. A process says that it holds a
// name only while StillMine() says so, so a belief is an interval of the machine's one clock.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace oncemq::testing {

struct Belief {
  int64_t process = 0;
  std::string name;
  uint64_t fence = 0;  // 0: the engine has none
  int64_t from = 0;    // microseconds
  int64_t to = 0;      // the last moment at which it still believed
};

// Appends one; `to` may be said again, later, for the same process, name and `from`.
std::string LineOf(const Belief& belief);
// All that were said in a file, each once, with its last word.
std::vector<Belief> ReadBeliefs(const std::filesystem::path& file);

// Two that believed at the same time; of each name at most one is told.
std::vector<std::string> Overlaps(std::vector<Belief> beliefs);
// A later belief without a greater fence.
std::vector<std::string> FencesOutOfOrder(std::vector<Belief> beliefs);

}  // namespace oncemq::testing
