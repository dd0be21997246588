// SPDX-License-Identifier: Apache-2.0
// What several processes believed to hold, and whether that can be. A process says that it holds a
// name only while StillMine() says so, so a belief is an interval of the machine's one clock.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "oncemq/base/fence.h"

namespace oncemq::testing {

struct Belief {
  int64_t process = 0;
  std::string name;
  Fence fence;          // empty: the engine has none
  int64_t from = 0;     // microseconds
  int64_t to = 0;       // the last moment at which it still believed
  bool shared = false;  // with others: a reader, or one that is counted
  uint32_t limit = 0;   // of one that is counted
};

// Appends one; `to` may be said again, later, for the same process, name and `from`.
std::string LineOf(const Belief& belief);
// All that were said in a file, each once, with its last word.
std::vector<Belief> ReadBeliefs(const std::filesystem::path& file);

// Two that believed at the same time and do not share; of each name at most one is told.
std::vector<std::string> Overlaps(std::vector<Belief> beliefs);
// More that are counted believed at the same time than the highest limit of them says; of each name
// at most one moment is told.
std::vector<std::string> TooMany(const std::vector<Belief>& beliefs);
// How many that are counted believed at the same time, at most.
size_t MostAtATime(const std::vector<Belief>& beliefs);
// A later belief with a fence that is not greater. Those who share may begin to believe in any
// order.
std::vector<std::string> FencesOutOfOrder(std::vector<Belief> beliefs);

}  // namespace oncemq::testing
