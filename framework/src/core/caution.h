// SPDX-License-Identifier: Apache-2.0
// Caution: the suspects of a partition after deaths of its owners, and the one on trial now (rule
// 12). All of it comes from the metadata of commits and goes there.
//
//   Start(facts)            a new assignment: counts the death that the last commit shows
//   Try(offset)             the next commit names it; Tries() once that is acknowledged
//   Left(offset)            its call has returned, or it has its outcome
//   State(), Acknowledged() each commit
//
// **Promise:** a death counts for a message only if an acknowledged commit names it as alone.
//
// **Limits:** one entry for each suspect that has left, until the frontier has passed the last one.
//
// **Thread safety:** none; lives inside the core.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <unordered_set>
#include <utility>

#include "oncemq/base/check.h"
#include "oncemq/framework/core.h"

namespace oncemq {

class Caution {
 public:
  explicit Caution(const CoreOptions& options)
      : most_deaths_(options.refusals.deaths), always_bounded_(options.suspects) {}

  // `alive`: the writer of the last commit is this process.
  void Start(const AssignFacts& facts, bool alive) {
    notes_ = most_deaths_ > 0 ? DeathNotes(facts.metadata) : DeathNotes();
    const std::optional<int64_t> alone = std::exchange(notes_.alone, std::nullopt);
    left_.clear();
    in_hand_.clear();
    tried_ = named_ = std::nullopt;
    names_ = false;
    if (facts.start >= notes_.cautious_to || facts.metadata.clean) {
      ForgetEnds();
    }
    // A commit without a writer begins a history.
    const bool ended = !facts.metadata.clean && facts.metadata.owner_epoch != 0;
    after_death_ = most_deaths_ > 0 && ended && !alive;
    if (after_death_) {
      alone ? Blame(*alone, facts.start) : CountEnd(facts);
    }
    bounded_ = notes_.unclean_ends > 0;
  }

  // An earlier owner may have had this redriven message in hand. It holds no frontier back, so one
  // death is enough for a suspect.
  void WasInHand(int64_t offset) {
    if (after_death_) {
      in_hand_.insert(offset);
    }
  }
  // Whether any message has to run alone, or to be refused.
  bool on() const {
    return notes_.unclean_ends >= kCautiousFrom || !notes_.killers.empty() || !in_hand_.empty();
  }
  // Whether it has to run alone.
  bool Suspects(int64_t offset, bool redriven) const {
    if (const DeathNotes::Killer* killer = Find(offset)) {
      return killer->deaths < most_deaths_;
    }
    if (redriven && in_hand_.contains(offset)) {
      return true;
    }
    const bool in_range = redriven || offset < notes_.cautious_to;
    return notes_.unclean_ends >= kCautiousFrom && in_range && !left_.contains(offset);
  }
  // How many processes it has killed, once these are enough; else 0.
  uint32_t Killed(int64_t offset) const {
    const DeathNotes::Killer* killer = Find(offset);
    return killer != nullptr && killer->deaths >= most_deaths_ ? killer->deaths : 0;
  }
  void Left(int64_t offset) {
    if (notes_.unclean_ends >= kCautiousFrom) {
      left_.insert(offset);
    }
    in_hand_.erase(offset);
    std::erase_if(notes_.killers, [&](const auto& killer) { return killer.offset == offset; });
  }

  void Try(std::optional<int64_t> offset) { tried_ = offset; }
  bool Tries(int64_t offset) const { return tried_ == offset && named_ == offset; }
  // Whether the last commit may name a message.
  bool names() const { return names_; }
  bool WantsCommit() const { return tried_ ? named_ != tried_ : names_; }

  // Whether no handler may be called beyond the bound of an acknowledged commit (Reserve). It is so
  // from the first unclean end on, until such a commit has moved the frontier.
  bool bounded() const { return always_bounded_ || bounded_; }
  // Whether the next commit states a bound, and a near one.
  bool states_bound() const { return always_bounded_ || bound_is_near(); }
  bool bound_is_near() const { return notes_.unclean_ends > 0; }
  int64_t cautious_to() const {
    return notes_.unclean_ends >= kCautiousFrom ? notes_.cautious_to : -1;
  }

  // For a commit with this frontier. The last one of an assignment leaves nothing in doubt here.
  DeathNotes State(int64_t frontier, bool last) {
    if (frontier >= notes_.cautious_to) {
      ForgetEnds();
    }
    DeathNotes stated = notes_;
    stated.alone = tried_;
    if (last) {
      stated.unclean_ends = 0;
      stated.cautious_to = 0;
      stated.alone.reset();
    }
    names_ |= stated.alone.has_value();
    return stated;
  }
  // A commit has no room for it, beside the full map of an earlier version.
  void Forget() {
    notes_ = {};
    left_.clear();
    in_hand_.clear();
    tried_.reset();
  }
  void Acknowledged(const DeathNotes& stated) {
    const std::optional<int64_t>& alone = stated.alone;
    ONCEMQ_CHECK(!alone || names_, "a message is named before the name is acknowledged");
    named_ = alone;
    names_ = alone.has_value();
    bounded_ &= stated.unclean_ends > 0;
  }

 private:
  static constexpr uint32_t kCautiousFrom = 2;  // unclean ends

  void ForgetEnds() {
    notes_.unclean_ends = 0;
    notes_.cautious_to = 0;
    left_.clear();
  }
  // The first end leaves every message after the frontier in doubt. Its owner may have stated no
  // bound, so the suspects are those of the next.
  void CountEnd(const AssignFacts& facts) {
    if (notes_.unclean_ends == 0) {
      notes_.unclean_ends = 1;
      notes_.cautious_to = facts.start + 1;
    } else if (facts.metadata.reserved) {
      notes_.unclean_ends = std::min(notes_.unclean_ends + 1, kMostDeaths);
      notes_.cautious_to =
          std::max(notes_.cautious_to, std::min(*facts.metadata.reserved, facts.log_end));
    }
  }
  // A full list keeps its messages. If newer ones replaced them, none of many would reach its end.
  // A redriven one below the frontier may be over.
  void Blame(int64_t offset, int64_t frontier) {
    for (DeathNotes::Killer& killer : notes_.killers) {
      if (killer.offset == offset) {
        killer.deaths = std::min(killer.deaths + 1, kMostDeaths);
        return;
      }
    }
    auto& killers = notes_.killers;
    if (killers.size() == kMaxKillers) {
      const auto over = std::find_if(killers.begin(), killers.end(),
                                     [&](const auto& killer) { return killer.offset < frontier; });
      if (over == killers.end()) {
        return;
      }
      killers.erase(over);
    }
    killers.push_back({offset, 1});
  }
  const DeathNotes::Killer* Find(int64_t offset) const {
    for (const DeathNotes::Killer& killer : notes_.killers) {
      if (killer.offset == offset) {
        return &killer;
      }
    }
    return nullptr;
  }

  const uint32_t most_deaths_;
  const bool always_bounded_;
  DeathNotes notes_;                  // as the next commit states them
  std::unordered_set<int64_t> left_;  // suspects that are none any more
  bool after_death_ = false;          // the last owner ended uncleanly
  std::unordered_set<int64_t> in_hand_;
  std::optional<int64_t> tried_;  // to be named by commits
  std::optional<int64_t> named_;  // by the last acknowledged one
  bool names_ = false;
  bool bounded_ = false;
};

}  // namespace oncemq
