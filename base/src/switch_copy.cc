// SPDX-License-Identifier: Apache-2.0
#include "oncemq/base/switch_copy.h"

#include <algorithm>

namespace oncemq {
namespace {

// As for leases: clocks differ, and tick.
milliseconds Safe(milliseconds lease) {
  return std::max(milliseconds(0), lease - lease / 1000 - milliseconds(2));
}

}  // namespace

SwitchCopy::Seen SwitchCopy::Saw(const SwitchRecord& record, BootTime requested_at, BootTime now) {
  if (record.epoch < record_.epoch) {
    return requested_at <= seen_at_ ? Seen::kOvertaken : Seen::kWentBack;
  }
  good_until_ = std::max(good_until_, requested_at + Safe(record.config_lease));
  if (record == record_) {
    return Seen::kSame;
  }
  record_ = record;
  seen_at_ = now;
  return Seen::kNews;
}

std::optional<BootTime> SwitchCopy::may_end_at() const {
  if (record_.mode == SwitchMode::kSingle) {
    return std::nullopt;
  }
  return seen_at_ + HowLongToEnd(record_);
}

}  // namespace oncemq
