// SPDX-License-Identifier: Apache-2.0
#include "kept_marker.h"

#include "sealed_row.h"

namespace oncemq {
namespace {

constexpr uint64_t kMarkerVersion = 1;
constexpr uint64_t kUncertain = 1;
constexpr uint64_t kHeld = 2;

}  // namespace

std::string EncodeKept(const Marker& marker) {
  const uint64_t flags = (marker.uncertain ? kUncertain : 0) | (marker.held ? kHeld : 0);
  return SealNumbers({kMarkerVersion, static_cast<uint64_t>(marker.state), flags,
                      marker.token.process, marker.token.attempt, marker.owner_epoch,
                      uint64_t{marker.at.source},
                      static_cast<uint64_t>(static_cast<uint32_t>(marker.at.partition)),
                      static_cast<uint64_t>(marker.at.offset), uint64_t{marker.attempt},
                      uint64_t{marker.fingerprint}, marker.entry});
}

std::optional<Marker> DecodeKept(std::string_view row) {
  const auto read = UnsealNumbers<12>(row);
  if (!read) {
    return std::nullopt;
  }
  const auto& numbers = *read;
  const auto state = static_cast<MarkerState>(numbers[1]);
  if (numbers[0] != kMarkerVersion || numbers[1] > UINT8_MAX ||
      (state != MarkerState::kOpen && state != MarkerState::kParked &&
       state != MarkerState::kHanded) ||
      (numbers[2] & ~(kUncertain | kHeld)) != 0) {
    return std::nullopt;
  }
  Marker marker;
  marker.state = state;
  marker.uncertain = (numbers[2] & kUncertain) != 0;
  marker.held = (numbers[2] & kHeld) != 0;
  marker.token = {numbers[3], numbers[4]};
  marker.owner_epoch = numbers[5];
  marker.at = {static_cast<uint32_t>(numbers[6]),
               static_cast<int32_t>(static_cast<uint32_t>(numbers[7])),
               static_cast<int64_t>(numbers[8])};
  marker.attempt = static_cast<uint32_t>(numbers[9]);
  marker.fingerprint = static_cast<uint32_t>(numbers[10]);
  marker.entry = numbers[11];
  return marker;
}

}  // namespace oncemq
