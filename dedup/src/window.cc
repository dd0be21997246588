// SPDX-License-Identifier: Apache-2.0
#include "oncemq/dedup/window.h"

#include <algorithm>

#include "oncemq/dedup/store_stat.h"

namespace oncemq {

std::string_view ToString(Level level) {
  switch (level) {
    case Level::kAtomic:
      return "atomic";
    case Level::kGuarded:
      return "guarded";
    case Level::kOpaque:
      return "opaque";
  }
  return "?";
}

std::string_view ToString(MarkerState state) {
  switch (state) {
    case MarkerState::kNone:
      return "none";
    case MarkerState::kOpen:
      return "open";
    case MarkerState::kDone:
      return "done";
    case MarkerState::kParked:
      return "parked";
    case MarkerState::kHanded:
      return "handed";
  }
  return "?";
}

std::string_view ToString(ClaimVerdict answer) {
  switch (answer) {
    case ClaimVerdict::kGranted:
      return "granted";
    case ClaimVerdict::kDuplicate:
      return "duplicate";
    case ClaimVerdict::kInFlight:
      return "in_flight";
    case ClaimVerdict::kAttached:
      return "attached";
    case ClaimVerdict::kConflict:
      return "conflict";
    case ClaimVerdict::kOutsideWindow:
      return "outside_window";
    case ClaimVerdict::kIncomplete:
      return "incomplete";
    case ClaimVerdict::kFenced:
      return "fenced";
  }
  return "?";
}

// An engine that has one store, does not outlive its process and does not forget by age has nothing
// to do.
Result<StoreKnowledge> Window::Open(const StoreName&) {
  return StoreKnowledge{};
}

void Window::Close(uint32_t, int32_t) {}

Status Window::Announce(std::span<const Announcement>) {
  return {};
}

Result<std::unique_ptr<EffectBatch>> Window::NewEffects(uint32_t, int32_t,
                                                        std::span<const ClaimRequest>) {
  return Error{Code::kInvalid, Effect::kNone, "this window keeps no effects"};
}

Status Window::CompleteWith(EffectBatch&, std::span<const CompleteRequest>,
                            std::span<MarkerChange>) {
  return Error{Code::kInvalid, Effect::kNone, "this window keeps no effects"};
}

Status Window::RecordUncertain(std::span<const UncertainCall>) {
  return {};
}

Result<std::vector<UncertainRecord>> Window::ListUncertain(WallTime) {
  return Error{Code::kInvalid, Effect::kNone, "this window keeps no record of uncertain calls"};
}

Status Window::Judge(std::span<const ClaimRequest>, std::span<ClaimAnswer>) {
  return Error{Code::kInvalid, Effect::kNone, "this window claims only, and has no look without"};
}

Status Window::ForgetByHand(std::span<const std::string_view>, std::span<MarkerChange>) {
  return Error{Code::kInvalid, Effect::kNone, "this window forgets no id by hand"};
}

Result<uint64_t> Window::DropAged(milliseconds) {
  return Error{Code::kInvalid, Effect::kNone, "this window drops ids by itself only"};
}

Result<RememberTimes> Window::Remember(RememberChange) {
  return Error{Code::kInvalid, Effect::kNone, "no scope keeps `remember` for this window"};
}

void Window::SetAdminSocket(const std::string&) {}

Result<std::vector<StoreStat>> Window::Stat() {
  return std::vector<StoreStat>();
}

StoreLosses Window::losses() const {
  return {};
}

Status Window::Committed(std::span<const Progress> progress, std::span<MarkerChange> answers) {
  if (answers.size() < progress.size()) {
    return Error{Code::kInvalid, Effect::kNone, "fewer places for answers than requests"};
  }
  std::fill_n(answers.begin(), progress.size(), MarkerChange::kMade);
  return {};
}

}  // namespace oncemq
