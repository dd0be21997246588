// SPDX-License-Identifier: Apache-2.0
#include "lock_history.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>
#include <tuple>

namespace oncemq::testing {
namespace {

std::string Describe(const Belief& belief) {
  return "process " + std::to_string(belief.process) + " from " + std::to_string(belief.from) +
         " to " + std::to_string(belief.to) + " under fence " + std::to_string(belief.fence.epoch) +
         "/" + std::to_string(belief.fence.token);
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

// Of each name the first two neighbours in time that `are` wrong, unless they share.
template <class Wrong>
std::vector<std::string> Neighbours(std::vector<Belief> beliefs, const char* what,
                                    const Wrong& are) {
  std::vector<std::string> found;
  for (const auto& [name, all] : ByName(std::move(beliefs))) {
    // Those that believed longest so far: of all, and of those that do not share.
    const Belief* last = nullptr;
    const Belief* last_exclusive = nullptr;
    for (const Belief& belief : all) {
      const Belief* before = belief.shared ? last_exclusive : last;
      if (before != nullptr && are(*before, belief)) {
        found.push_back(name + " " + what + ": " + Describe(*before) + "; " + Describe(belief));
        break;
      }
      if (last == nullptr || belief.to > last->to) {
        last = &belief;
      }
      if (!belief.shared && (last_exclusive == nullptr || belief.to > last_exclusive->to)) {
        last_exclusive = &belief;
      }
    }
  }
  return found;
}

// Those that are counted and believed at a moment, and the highest limit of them.
struct Crowd {
  size_t count = 0;
  uint32_t limit = 0;
};

Crowd CrowdAt(const std::vector<Belief>& beliefs, int64_t moment) {
  Crowd crowd;
  for (const Belief& belief : beliefs) {
    if (belief.limit > 0 && belief.from <= moment && moment <= belief.to) {
      crowd.count++;
      crowd.limit = std::max(crowd.limit, belief.limit);
    }
  }
  return crowd;
}

}  // namespace

std::string LineOf(const Belief& belief) {
  return std::to_string(belief.process) + " " + belief.name + " " +
         std::to_string(belief.fence.epoch) + " " + std::to_string(belief.fence.token) + " " +
         std::to_string(belief.from) + " " + std::to_string(belief.to) + " " +
         std::to_string(static_cast<int>(belief.shared)) + " " + std::to_string(belief.limit) +
         "\n";
}

std::vector<Belief> ReadBeliefs(const std::filesystem::path& file) {
  std::map<std::tuple<int64_t, std::string, int64_t>, Belief> last;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    Belief belief;
    // A process that is killed may leave half a line.
    if (words >> belief.process >> belief.name >> belief.fence.epoch >> belief.fence.token >>
        belief.from >> belief.to >> belief.shared >> belief.limit) {
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

std::vector<std::string> TooMany(const std::vector<Belief>& beliefs) {
  std::vector<std::string> found;
  for (const auto& [name, all] : ByName(beliefs)) {
    for (const Belief& belief : all) {
      const Crowd crowd = CrowdAt(all, belief.from);
      if (belief.limit > 0 && crowd.count > crowd.limit) {
        found.push_back(name + " is held by " + std::to_string(crowd.count) + " of " +
                        std::to_string(crowd.limit) + ": " + Describe(belief));
        break;
      }
    }
  }
  return found;
}

size_t MostAtATime(const std::vector<Belief>& beliefs) {
  size_t most = 0;
  for (const auto& [name, all] : ByName(beliefs)) {
    for (const Belief& belief : all) {
      most = std::max(most, CrowdAt(all, belief.from).count);
    }
  }
  return most;
}

std::vector<std::string> FencesOutOfOrder(std::vector<Belief> beliefs) {
  return Neighbours(
      std::move(beliefs), "has fences out of order",
      [](const Belief& a, const Belief& b) { return !b.fence.empty() && b.fence <= a.fence; });
}

}  // namespace oncemq::testing
