// SPDX-License-Identifier: Apache-2.0
// The naive window: a map, and the protocol's table written down as plainly as it can be. It
// forgets nothing, knows no batches and shares no code with any engine.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "oncemq/dedup/window.h"

namespace oncemq::conformance {

class WindowModel {
 public:
  WindowModel(Level level, const WindowTimes& times)
      : opaque_(level == Level::kOpaque), times_(times) {}

  void Advance(microseconds by) { now_ += by; }

  // The store chooses the number; the model only remembers it.
  void Raised(uint32_t source, int32_t partition, OwnerEpoch owner_epoch) {
    owners_[{source, partition}] = {owner_epoch, now_};
  }
  OwnerEpoch OwnerEpochOf(uint32_t source, int32_t partition) const;

  ClaimAnswer Claim(const ClaimRequest& request);
  MarkerChange Complete(const CompleteRequest& request);
  MarkerChange Release(const ReleaseRequest& request);
  MarkerChange Park(const ParkRequest& request);
  MarkerChange Renew(const RenewRequest& request);
  MarkerChange Restore(const RestoreRequest& request);
  MarkerView Peek(std::string_view id) const;

 private:
  struct Marker {
    MarkerState state = MarkerState::kOpen;
    Token token;
    bool held = true;
    bool uncertain = false;
    OwnerEpoch owner_epoch = 0;
    Coordinates at;
    uint32_t attempt = 0;
    uint32_t fingerprint = 0;
    uint64_t entry = 0;
    microseconds granted_at{0};
    microseconds lease_end{0};
    std::string result;
  };

  bool Fenced(OwnerEpoch owner_epoch, const Coordinates& at) const;
  Marker* Find(std::string_view id);
  bool TakeoverIsUncertain(const Marker& marker) const;
  microseconds HolderEnds(const Marker& marker, const ClaimRequest& request) const;
  Marker* FindOpen(std::string_view id, const Token& token);
  ClaimAnswer Grant(Marker& marker, const ClaimRequest& request);

  bool opaque_;
  WindowTimes times_;
  microseconds now_{0};
  std::map<std::string, Marker, std::less<>> markers_;
  std::map<std::pair<uint32_t, int32_t>, std::pair<OwnerEpoch, microseconds>> owners_;
};

}  // namespace oncemq::conformance
