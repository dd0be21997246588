// SPDX-License-Identifier: Apache-2.0
#include "renewal_queue.h"

#include <algorithm>

#include "oncemq/base/mutant.h"

namespace oncemq {

void RenewalQueue::Push(std::shared_ptr<Hold> hold) {
  waiting_.push_back(std::move(hold));
}

RenewalQueue::Batch RenewalQueue::Pop() {
  Batch batch;
  while (!waiting_.empty()) {
    const bool suspect = waiting_.front()->suspect;
    const bool other_kind = !batch.empty() && batch.front()->suspect != suspect &&
                            !ONCEMQ_MUTANT("suspects-travel-with-others");
    if (other_kind || batch.size() == (suspect ? suspects_together_ : kLargestBatch)) {
      break;
    }
    batch.push_back(std::move(waiting_.front()));
    waiting_.pop_front();
  }
  return batch;
}

void RenewalQueue::Answered(const Batch& batch) {
  const bool suspects =
      std::any_of(batch.begin(), batch.end(), [](const auto& hold) { return hold->suspect; });
  if (suspects) {
    suspects_together_ = std::min(kLargestBatch, suspects_together_ + suspects_together_ / 8 + 1);
  }
  for (const auto& hold : batch) {
    hold->suspect = false;
  }
}

void RenewalQueue::Failed(const Batch& batch) {
  if (!ONCEMQ_MUTANT("stuck-name-keeps-its-batch")) {
    suspects_together_ = std::max<size_t>(1, batch.size() / 4);
  }
  for (const auto& hold : batch) {
    hold->suspect = true;
  }
}

}  // namespace oncemq
