// SPDX-License-Identifier: Apache-2.0
#include "log_repeat.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "oncemq/base/hash.h"

namespace oncemq {
namespace {

constexpr size_t kSlots = 256;
constexpr size_t kProbes = 4;

}  // namespace

RepeatLimit::RepeatLimit(uint32_t most, microseconds interval, Alike alike)
    : most_(most), interval_(interval), alike_(alike), slots_(kSlots) {}

uint64_t RepeatLimit::HashOf(std::string_view area, std::string_view text) const {
  if (alike_ == Alike::kSameText) {
    return MixBits(ProcessHash(area)) ^ ProcessHash(text);
  }
  std::string words;
  std::copy_if(text.begin(), text.end(), std::back_inserter(words),
               [](char c) { return c < '0' || c > '9'; });
  return MixBits(ProcessHash(area)) ^ ProcessHash(words);
}

// The line's own slot, else one that nobody needs any more, else none.
RepeatLimit::Slot* RepeatLimit::Find(uint64_t hash, BootTime now) {
  Slot* unused = nullptr;
  for (size_t i = 0; i < kProbes; i++) {
    Slot& slot = slots_[(hash + i) % kSlots];
    if (slot.hash == hash) {
      return &slot;
    }
    if (slot.hash == 0 || (slot.held.count == 0 && now - slot.since >= interval_)) {
      unused = &slot;
    }
  }
  if (unused != nullptr) {
    *unused = Slot{hash, now, 0, {}};
  }
  return unused;
}

bool RepeatLimit::Admit(LogLevel level, std::string_view area, std::string_view text,
                        BootTime now) {
  if (most_ == 0) {
    return true;
  }
  Slot* slot = Find(HashOf(area, text), now);
  if (slot == nullptr) {
    return true;
  }
  if (now - slot->since >= interval_) {
    if (slot->held.count > 0) {
      ended_.push_back(std::exchange(slot->held, {}));
    }
    slot->since = now;
    slot->passed = 0;
  }
  if (slot->passed < most_) {
    slot->passed++;
    return true;
  }
  if (slot->held.count == 0) {
    slot->held = {level, std::string(area), std::string(text), 0};
  }
  slot->held.count++;
  return false;
}

std::vector<RepeatLimit::HeldBack> RepeatLimit::Take(BootTime now) {
  std::vector<HeldBack> taken = std::exchange(ended_, {});
  for (Slot& slot : slots_) {
    if (slot.held.count > 0 && now - slot.since >= interval_) {
      taken.push_back(std::exchange(slot.held, {}));
    }
  }
  return taken;
}

}  // namespace oncemq
