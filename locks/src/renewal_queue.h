// SPDX-License-Identifier: Apache-2.0
// RenewalQueue: which renewals travel together. Without clock or I/O.
//
// Q1  What a store cannot get at for one name looks as if the store were down: the call with that
//     name in it fails for all. Holds of a call that failed so are suspects until a renewal of
//     theirs is answered.
// Q2  Suspects never travel beside others, and in ever smaller company: of n that failed together,
//     a fourth do the next time, and in the end each goes alone.
// Q3  Company grows again with each call of suspects that is answered: behind a store that was
//     down they are soon through.
//
// Thread safety: none.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "hold.h"

namespace oncemq {

class RenewalQueue {
 public:
  using Batch = std::vector<std::shared_ptr<Hold>>;

  void Push(std::shared_ptr<Hold> hold);
  // The next ones to be renewed in one call; none when nothing waits.
  Batch Pop();

  // What became of a batch: the store spoke, or was out.
  void Answered(const Batch& batch);
  void Failed(const Batch& batch);

  bool empty() const { return waiting_.empty(); }
  void clear() { waiting_.clear(); }

 private:
  static constexpr size_t kLargestBatch = 100;

  std::deque<std::shared_ptr<Hold>> waiting_;
  size_t suspects_together_ = kLargestBatch;
};

}  // namespace oncemq
