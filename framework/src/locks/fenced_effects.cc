// SPDX-License-Identifier: Apache-2.0
#include "oncemq/framework/fenced_effects.h"

#include "oncemq/base/bytes.h"

namespace oncemq {
namespace {

// Begins with a NUL, as no key does that a person chose.
constexpr std::string_view kRowsOfFences("\0oncemq/fence/", 14);

// Ordered as fences are.
std::string TextOf(const Fence& fence) {
  return Hex(fence.epoch) + Hex(fence.token);
}
constexpr size_t kTextOfFence = 32;

// Behind the fence, how often the row was written: no two batches leave the same bytes, so one that
// began before the other was written finds out, also if both have one fence. Rows of before the
// count have none.
std::string CountBehind(std::string_view last) {
  const auto count = last.size() > kTextOfFence ? ParseHex(last.substr(kTextOfFence)) : 0;
  return Hex(count.value_or(0) + 1);
}

}  // namespace

Result<std::optional<FencedEffects>> FencedEffects::Begin(Effects& effects, const Lease& lease) {
  if (const Status fit = CheckFenceOf(lease); !fit) {
    return fit.error();
  }
  const std::string row = std::string(kRowsOfFences) + std::string(lease.name());
  const std::string mine = TextOf(lease.fence());
  const auto found = effects.Watch(row);
  if (!found) {
    return found.error();
  }
  const std::string last = found->value_or("");
  if (last.substr(0, kTextOfFence) > mine) {
    return std::optional<FencedEffects>();
  }
  if (const Status put = effects.Put(row, mine + CountBehind(last)); !put) {
    return put.error();
  }
  return std::optional(FencedEffects(effects, lease));
}

Status FencedEffects::May(std::string_view key) const {
  if (key.starts_with(kRowsOfFences)) {
    return Error{Code::kInvalid, Effect::kNone, "rows with such keys remember fences"};
  }
  if (!lease_->StillMine()) {
    return Error{Code::kFenced, Effect::kNone, "the lease under these effects is lost"};
  }
  return {};
}

Result<std::optional<std::string>> FencedEffects::Get(std::string_view key) {
  const Status may = May(key);
  return may ? effects_->Get(key) : may.error();
}

Status FencedEffects::Put(std::string_view key, std::string_view value) {
  const Status may = May(key);
  return may ? effects_->Put(key, value) : may;
}

Status FencedEffects::Delete(std::string_view key) {
  const Status may = May(key);
  return may ? effects_->Delete(key) : may;
}

Status FencedEffects::Add(std::string_view key, int64_t delta) {
  const Status may = May(key);
  return may ? effects_->Add(key, delta) : may;
}

}  // namespace oncemq
