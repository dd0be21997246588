// SPDX-License-Identifier: Apache-2.0
#include "payment_plan.h"

#include <algorithm>
#include <cstdio>

#include "oncemq/base/hash.h"

namespace oncemq::demo {
namespace {

// Numbers that follow from the seed alone.
class Draw {
 public:
  explicit Draw(uint64_t seed) : state_(MixBits(seed)) {}
  uint32_t Below(uint32_t bound) {
    state_ += 0x9E3779B97F4A7C15ull;
    return static_cast<uint32_t>(MixBits(state_) % bound);
  }

 private:
  uint64_t state_;
};

std::string IdOf(uint32_t index) {
  char text[16];
  std::snprintf(text, sizeof(text), "pay-%05u", index + 1);
  return text;
}

// Four copies of ten follow at once, as a retry does; the others come after a while.
uint32_t Distance(Draw& draw, uint32_t farthest) {
  return draw.Below(10) < 4 ? 0 : 1 + draw.Below(farthest);
}

}  // namespace

PaymentPlan MakePlan(const PlanOptions& options) {
  Draw draw(options.seed);
  PaymentPlan plan;
  std::vector<uint32_t> sequence(options.accounts, 0);
  std::vector<std::vector<uint32_t>> copies(options.payments);  // to send after the payment there
  uint32_t copied = 0;
  for (uint32_t i = 0; i < options.payments; ++i) {
    const uint32_t from = draw.Below(options.accounts);
    const uint32_t to = (from + 1 + draw.Below(options.accounts - 1)) % options.accounts;
    plan.payments.push_back(
        {IdOf(i), from, to, 1 + int64_t{draw.Below(100'000)}, ++sequence[from]});
    if (i % options.copy_one_in == 0) {
      copied = i + draw.Below(options.copy_one_in);
    }
    if (i == copied) {
      const uint32_t at = i + Distance(draw, options.farthest);
      copies[std::min(at, options.payments - 1)].push_back(i);
    }
  }
  for (uint32_t i = 0; i < options.payments; ++i) {
    plan.sends.push_back(i);
    plan.sends.insert(plan.sends.end(), copies[i].begin(), copies[i].end());
  }
  return plan;
}

}  // namespace oncemq::demo
