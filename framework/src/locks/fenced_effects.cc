// SPDX-License-Identifier: Apache-2.0
#include "oncemq/framework/fenced_effects.h"

#include "oncemq/base/bytes.h"
#include "oncemq/base/mutant.h"

namespace oncemq {
namespace {

// Begins with a NUL, as no key does that a person chose.
constexpr std::string_view kRowsOfFences("\0oncemq/fence/", 14);

// Ordered as fences are.
std::string TextOf(const Fence& fence) {
  return Hex(fence.epoch) + Hex(fence.token);
}

}  // namespace

Result<std::optional<FencedEffects>> FencedEffects::Begin(Effects& effects, const Lease& lease) {
  if (const Status fit = CheckFenceOf(lease); !fit) {
    return fit.error();
  }
  const std::string row = std::string(kRowsOfFences) + std::string(lease.name());
  const std::string mine = TextOf(lease.fence());
  const auto last = effects.Get(row);
  if (!last) {
    return last.error();
  }
  if (*last && **last > mine && !ONCEMQ_MUTANT("effects-fence-lets-all-in")) {
    return std::optional<FencedEffects>();
  }
  if (!*last || **last != mine) {
    if (const Status put = effects.Put(row, mine); !put) {
      return put.error();
    }
  }
  return std::optional(FencedEffects(effects, lease));
}

Status FencedEffects::May(std::string_view key) const {
  if (key.starts_with(kRowsOfFences) && !ONCEMQ_MUTANT("effects-fence-can-be-written")) {
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
