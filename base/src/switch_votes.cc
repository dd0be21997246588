// SPDX-License-Identifier: Apache-2.0
#include "oncemq/base/switch_votes.h"

#include <algorithm>
#include <limits>

#include "oncemq/base/bytes.h"

namespace oncemq {
namespace {

// As many configuration leases.
constexpr int kBurials = 20;

}  // namespace

std::string Format(const SwitchBeat& beat) {
  return std::to_string(beat.beat) + " " + std::to_string(beat.leaves);
}

Result<SwitchBeat> ParseSwitchBeat(std::string_view text) {
  const size_t space = text.find(' ');
  if (space != std::string_view::npos) {
    const auto beat = ParseDecimal(text.substr(0, space));
    const auto leaves = ParseDecimal(text.substr(space + 1));
    if (beat && leaves && *beat >= 0 && *leaves >= 0 &&
        *leaves <= std::numeric_limits<uint32_t>::max()) {
      return SwitchBeat{static_cast<uint64_t>(*beat), static_cast<uint32_t>(*leaves)};
    }
  }
  return Error{Code::kCorrupt, Effect::kNone, "this is no beat of a switchboard"};
}

void SwitchVotes::Heard(const std::map<std::string, SwitchBeat>& said, BootTime now) {
  std::erase_if(voters_, [&](const auto& voter) { return !said.contains(voter.first); });
  for (const auto& [who, beat] : said) {
    const auto [at, fresh] = voters_.try_emplace(who, Voter{beat, now});
    if (!fresh && at->second.beat.beat != beat.beat) {
      at->second.moved_at = now;
    }
    at->second.beat = beat;
  }
}

bool SwitchVotes::Quorum(uint32_t epoch, BootTime now) const {
  const auto votes = std::count_if(voters_.begin(), voters_.end(), [&](const auto& voter) {
    return voter.second.beat.leaves == epoch && Lives(voter.second, now);
  });
  return static_cast<size_t>(votes) * 2 > living(now);
}

size_t SwitchVotes::living(BootTime now) const {
  return static_cast<size_t>(std::count_if(
      voters_.begin(), voters_.end(), [&](const auto& voter) { return Lives(voter.second, now); }));
}

std::vector<std::string> SwitchVotes::Dead(BootTime now) const {
  std::vector<std::string> dead;
  for (const auto& [who, voter] : voters_) {
    if (now - voter.moved_at >= lease_ * kBurials) {
      dead.push_back(who);
    }
  }
  return dead;
}

}  // namespace oncemq
