// SPDX-License-Identifier: Apache-2.0
// FencedEffects: the rows of a handler at the level atomic (context.effects()), written under a
// lock. Writes of an earlier holder of the name count for nothing.
//
//   const auto lease = context.Lock("account/42");
//   if (!lease || !*lease) return Retry{};                // the store did not answer; not granted
//   auto rows = FencedEffects::Begin(*context.effects(), **lease);
//   if (!rows) return Retry{};                            // the store did not answer
//   if (!*rows) return Retry{};                           // a later holder was here
//   const auto balance = (*rows)->Get("account/42");
//
// Promise: a row of the partition remembers the greatest fence of each name. Begin() raises it in
// the batch of the effects, before anything is read. If two holders have both begun, the first run
// to be written wins. Nothing of the other is written, and its messages come again.
//
// Limits: the row is kept for ever, and orders the holders of this partition only. Its key begins
// with NUL and `oncemq/fence/`. Such keys are refused here; with context.effects() leave them
// alone.
//
// Thread safety: as Effects.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "oncemq/base/result.h"
#include "oncemq/dedup/effects.h"
#include "oncemq/locks/lease.h"

namespace oncemq {

class FencedEffects {
 public:
  // Nothing: refused, a later holder was here. kInvalid: the lease has no fence, or is a shared or
  // counted one, next to which others are held.
  static Result<std::optional<FencedEffects>> Begin(Effects& effects, const Lease& lease);

  // As Effects; kFenced once the lease is lost; kInvalid for a key of the rows of fences.
  Result<std::optional<std::string>> Get(std::string_view key);
  Status Put(std::string_view key, std::string_view value);
  Status Delete(std::string_view key);
  Status Add(std::string_view key, int64_t delta);

 private:
  FencedEffects(Effects& effects, const Lease& lease) : effects_(&effects), lease_(&lease) {}
  Status May(std::string_view key) const;

  Effects* effects_;
  const Lease* lease_;
};

}  // namespace oncemq
