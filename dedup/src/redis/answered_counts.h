// SPDX-License-Identifier: Apache-2.0
// AnsweredCounts: the counts that the store has answered to this process's changes (rule 31).
//
// Invariant: each change has a count of its own, one above the last. So two changes with the same
// count prove that the store has lost the first one.
//
// Thread safety: none; the window's mutex.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>

namespace oncemq {

class AnsweredCounts {
 public:
  // The highest count that was answered. A store that has less has lost changes.
  uint64_t newest() const { return newest_; }
  // Takes the count that came with an answer: of a change, or of a look, which repeats one. False:
  // another change had it.
  bool Take(uint64_t count, bool change);
  // The store is known to have this count now.
  void Restart(uint64_t count);

 private:
  uint64_t newest_ = 0;
  // Below newest_ and without an answer: still on the way, or lost. The lowest go first when there
  // are too many, and count as answered then.
  std::set<uint64_t> open_;
};

}  // namespace oncemq
