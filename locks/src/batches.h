// SPDX-License-Identifier: Apache-2.0
// Batches: which names travel in one call, to be renewed or to be given back. Without clock or I/O.
//
// Q1  What a store cannot get at for one name looks as if the store were down: the call with that
//     name in it fails for all. Those of a call that failed so are suspects until a call of theirs
//     is answered.
// Q2  Suspects never travel beside others, and in ever smaller company: of n that failed together,
//     a fourth do the next time, and in the end each goes alone.
// Q3  Company grows again with each call of suspects that is answered: behind a store that was
//     down they are soon through.
//
// Thread safety: none.
#pragma once

#include <algorithm>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "oncemq/base/check.h"

namespace oncemq {

// One has a `bool suspect`, which is ours.
template <class One>
class Batches {
 public:
  using Batch = std::vector<std::shared_ptr<One>>;

  void Push(std::shared_ptr<One> one) { waiting_.push_back(std::move(one)); }

  // The next ones for one call; none when nothing waits.
  Batch Pop() {
    ONCEMQ_CHECK(suspects_together_ > 0, "a suspect goes alone at last (Q2)");
    Batch batch;
    while (!waiting_.empty()) {
      const bool suspect = waiting_.front()->suspect;
      const bool other_kind = !batch.empty() && batch.front()->suspect != suspect;
      if (other_kind || batch.size() == (suspect ? suspects_together_ : kLargestBatch)) {
        break;
      }
      batch.push_back(std::move(waiting_.front()));
      waiting_.pop_front();
    }
    return batch;
  }

  // What became of a batch: the store spoke, or was out.
  void Answered(const Batch& batch) {
    const bool suspects =
        std::any_of(batch.begin(), batch.end(), [](const auto& one) { return one->suspect; });
    if (suspects) {
      suspects_together_ = std::min(kLargestBatch, suspects_together_ + suspects_together_ / 8 + 1);
    }
    for (const auto& one : batch) {
      one->suspect = false;
    }
  }
  void Failed(const Batch& batch) {
    suspects_together_ = std::max<size_t>(1, batch.size() / 4);
    for (const auto& one : batch) {
      one->suspect = true;
    }
  }

  bool empty() const { return waiting_.empty(); }
  void clear() { waiting_.clear(); }

 private:
  static constexpr size_t kLargestBatch = 100;

  std::deque<std::shared_ptr<One>> waiting_;
  size_t suspects_together_ = kLargestBatch;
};

}  // namespace oncemq
