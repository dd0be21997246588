// SPDX-License-Identifier: Apache-2.0
#include "lag_watch.h"

#include <algorithm>

namespace oncemq {

std::string_view ToString(LagTrend trend) {
  switch (trend) {
    case LagTrend::kOk:
      return "OK";
    case LagTrend::kWarn:
      return "WARN";
    case LagTrend::kStop:
      return "STOP";
    case LagTrend::kStall:
      return "STALL";
    case LagTrend::kRewind:
      return "REWIND";
  }
  return "?";
}

void LagWatch::Note(BootTime now, int64_t committed, int64_t lag) {
  last_commit_ = now;
  while (!samples_.empty() && samples_.front().at < now - kWindow) {
    samples_.pop_front();
  }
  if (!samples_.empty()) {
    Sample& last = samples_.back();
    if (now - last.at < kSpacing && committed >= last.committed) {
      last.committed = committed;
      last.lag = last.lag == 0 ? 0 : lag;  // a lag of zero is what a later one is judged by
      return;
    }
  }
  samples_.push_back({now, committed, lag});
}

LagTrend LagWatch::Judge(BootTime now, int64_t lag) const {
  if (lag <= 0) {
    return LagTrend::kOk;
  }
  const auto first = std::ranges::find_if(
      samples_, [&](const Sample& sample) { return sample.at >= now - kWindow; });
  const auto any_step = [&](auto fits) {
    return std::adjacent_find(first, samples_.end(), fits) != samples_.end();
  };
  if (std::any_of(first, samples_.end(), [](const Sample& sample) { return sample.lag == 0; })) {
    return LagTrend::kOk;
  }
  if (any_step([](const Sample& a, const Sample& b) { return b.committed < a.committed; })) {
    return LagTrend::kRewind;
  }
  if (now - last_commit_ >= kWindow) {
    return LagTrend::kStop;
  }
  if (first == samples_.end() || samples_.back().at - first->at < kComplete) {
    return LagTrend::kOk;
  }
  if (!any_step([](const Sample& a, const Sample& b) { return b.committed != a.committed; })) {
    return LagTrend::kStall;
  }
  const bool fell = any_step([](const Sample& a, const Sample& b) { return b.lag < a.lag; });
  return fell ? LagTrend::kOk : LagTrend::kWarn;
}

}  // namespace oncemq
