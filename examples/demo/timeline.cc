// SPDX-License-Identifier: Apache-2.0
#include "timeline.h"

#include <algorithm>
#include <string_view>
#include <unordered_set>
#include <utility>

namespace oncemq::demo {
namespace {

Step& StepAt(std::vector<Step>& steps, int64_t at_ms) {
  const auto index = static_cast<size_t>(std::max<int64_t>(at_ms, 0) / kStepMs);
  if (steps.size() <= index) {
    steps.resize(index + 1);
  }
  return steps[index];
}

}  // namespace

void Moments::BeginWait(int64_t at_ms, std::string reason) {
  EndWait(at_ms);
  open_ = Wait{at_ms, at_ms, std::move(reason)};
}

void Moments::EndWait(int64_t at_ms) {
  if (open_) {
    open_->end_ms = at_ms;
    waits_.push_back(*std::move(open_));
    open_.reset();
  }
}

void Sampler::Sample(int64_t at_ms, Step counted) {
  Step& step = StepAt(steps_, at_ms);
  step.effects += counted.effects - taken_.effects;
  step.others += counted.others - taken_.others;
  taken_ = counted;
}

std::vector<Step> StepsOf(const std::vector<Posting>& postings, int64_t begin_ms) {
  std::vector<Step> steps;
  std::unordered_set<std::string_view> ids;
  for (const Posting& posting : postings) {
    Step& step = StepAt(steps, posting.at_ms - begin_ms);
    (ids.insert(posting.payment.id).second ? step.effects : step.others)++;
  }
  return steps;
}

Step TotalOf(const std::vector<Step>& steps) {
  Step sum;
  for (const Step& step : steps) {
    sum.effects += step.effects;
    sum.others += step.others;
  }
  return sum;
}

}  // namespace oncemq::demo
