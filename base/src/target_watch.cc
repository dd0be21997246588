// SPDX-License-Identifier: Apache-2.0
#include "target_watch.h"

namespace oncemq {

void TargetWatch::Took(By by, BootTime now) {
  took_at_ = std::max(took_at_, now);
  if (silence_ && (by == By::kUser || silence_->questions_only)) {
    silence_.reset();
  }
}

bool TargetWatch::Failed(By by, uint32_t epoch, BootTime sent_at, BootTime now,
                         milliseconds patience) {
  if (!silence_ || silence_->epoch != epoch) {
    silence_ = Silence{epoch, std::max(sent_at, took_at_)};
  }
  silence_->failures++;
  silence_->questions_only = silence_->questions_only && by == By::kQuestion;
  if (silence_->failures < 2 || now - silence_->since < patience) {
    return false;
  }
  silence_.reset();
  return true;
}

}  // namespace oncemq
