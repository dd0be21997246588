// SPDX-License-Identifier: Apache-2.0
#include "lock_history.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>
#include <tuple>

namespace oncemq::testing {
namespace {

std::string Told(const Belief& belief) {
  return "process " + std::to_string(belief.process) + " from " + std::to_string(belief.from) +
         " to " + std::to_string(belief.to) + " under fence " + std::to_string(belief.fence);
}

std::map<std::string, std::vector<Belief>> ByName(std::vector<Belief> beliefs) {
  std::sort(beliefs.begin(), beliefs.end(), [](const Belief& a, const Belief& b) {
    return std::tie(a.from, a.to) < std::tie(b.from, b.to);
  });
  std::map<std::string, std::vector<Belief>> by_name;
  for (Belief& belief : beliefs) {
    by_name[belief.name].push_back(std::move(belief));
  }
  return by_name;
}

// Of each name the first two neighbours in time that `are` wrong.
template <class Wrong>
std::vector<std::string> Neighbours(std::vector<Belief> beliefs, const char* what,
                                    const Wrong& are) {
  std::vector<std::string> found;
  for (const auto& [name, all] : ByName(std::move(beliefs))) {
    const Belief* last = nullptr;  // the one that believed longest so far
    for (const Belief& belief : all) {
      if (last != nullptr && are(*last, belief)) {
        found.push_back(name + " " + what + ": " + Told(*last) + "; " + Told(belief));
        break;
      }
      if (last == nullptr || belief.to > last->to) {
        last = &belief;
      }
    }
  }
  return found;
}

}  // namespace

std::string LineOf(const Belief& belief) {
  return std::to_string(belief.process) + " " + belief.name + " " + std::to_string(belief.fence) +
         " " + std::to_string(belief.from) + " " + std::to_string(belief.to) + "\n";
}

std::vector<Belief> ReadBeliefs(const std::filesystem::path& file) {
  std::map<std::tuple<int64_t, std::string, int64_t>, Belief> last;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    Belief belief;
    // A process that is killed may leave half a line.
    if (words >> belief.process >> belief.name >> belief.fence >> belief.from >> belief.to) {
      last[{belief.process, belief.name, belief.from}] = belief;
    }
  }
  std::vector<Belief> beliefs;
  for (auto& [key, belief] : last) {
    beliefs.push_back(std::move(belief));
  }
  return beliefs;
}

std::vector<std::string> Overlaps(std::vector<Belief> beliefs) {
  return Neighbours(std::move(beliefs), "is held twice at a time",
                    [](const Belief& a, const Belief& b) { return b.from <= a.to; });
}

std::vector<std::string> FencesOutOfOrder(std::vector<Belief> beliefs) {
  return Neighbours(std::move(beliefs), "has fences out of order",
                    [](const Belief& a, const Belief& b) { return b.fence <= a.fence; });
}

}  // namespace oncemq::testing
