// SPDX-License-Identifier: Apache-2.0
#include "model.h"

#include <algorithm>

namespace oncemq::conformance {

OwnerEpoch WindowModel::OwnerEpochOf(uint32_t source, int32_t partition) const {
  const auto found = owners_.find({source, partition});
  return found == owners_.end() ? 0 : found->second.first;
}

bool WindowModel::Fenced(OwnerEpoch owner_epoch, const Coordinates& at) const {
  return owner_epoch != 0 && owner_epoch != OwnerEpochOf(at.source, at.partition);
}

WindowModel::Marker* WindowModel::Find(std::string_view id) {
  const auto found = markers_.find(id);
  return found == markers_.end() ? nullptr : &found->second;
}

WindowModel::Marker* WindowModel::FindOpen(std::string_view id, const Token& token) {
  Marker* marker = Find(id);
  const bool open = marker != nullptr && marker->state == MarkerState::kOpen;
  return open && marker->token == token ? marker : nullptr;
}

ClaimAnswer WindowModel::Claim(const ClaimRequest& request) {
  if (Fenced(request.owner_epoch, request.at)) {
    return {.answer = ClaimVerdict::kFenced};
  }
  Marker* marker = Find(request.id);
  if (marker == nullptr) {
    return Grant(markers_[std::string(request.id)], request);
  }
  const bool differs = marker->fingerprint != 0 && request.fingerprint != 0 &&
                       marker->fingerprint != request.fingerprint;
  const bool redrive = request.parked_entry != 0 && request.parked_entry == marker->entry &&
                       request.at == marker->at;
  switch (marker->state) {
    case MarkerState::kDone:
      if (differs) {
        return {.answer = ClaimVerdict::kConflict};
      }
      return {.answer = ClaimVerdict::kDuplicate,
              .same_delivery = marker->at == request.at,
              .result = marker->result};
    case MarkerState::kParked:
    case MarkerState::kHanded:
      if (redrive && marker->uncertain && request.not_if_uncertain) {
        return {.answer = ClaimVerdict::kInFlight, .uncertain = true};
      }
      if (redrive) {
        return Grant(*marker, request);
      }
      if (differs) {
        return {.answer = ClaimVerdict::kConflict};
      }
      return {.answer = ClaimVerdict::kAttached, .entry = marker->entry, .attached = marker->state};
    default:
      break;
  }
  const microseconds longest = marker->granted_at + times_.max_lease;
  if (marker->held && marker->token == request.token && now_ < longest) {
    marker->lease_end = std::min<microseconds>(now_ + times_.lease, longest);
    marker->owner_epoch = std::max(marker->owner_epoch, request.owner_epoch);
    return {.answer = ClaimVerdict::kGranted,
            .uncertain = marker->uncertain,
            .attempt = marker->attempt};
  }
  if (differs && !redrive) {
    return {.answer = ClaimVerdict::kConflict};
  }
  const microseconds from = marker->held ? HolderEnds(*marker, request) : now_;
  if (now_ < from) {
    return {.answer = ClaimVerdict::kInFlight, .wait = from - now_};
  }
  const bool uncertain = TakeoverIsUncertain(*marker);
  if (uncertain && request.not_if_uncertain) {
    return {.answer = ClaimVerdict::kInFlight, .uncertain = true};
  }
  marker->uncertain = uncertain;
  return Grant(*marker, request);
}

bool WindowModel::TakeoverIsUncertain(const Marker& marker) const {
  return marker.uncertain || (opaque_ && marker.held);
}

microseconds WindowModel::HolderEnds(const Marker& marker, const ClaimRequest& request) const {
  const bool by_ownership = marker.at == request.at && marker.owner_epoch != 0 &&
                            marker.owner_epoch < request.owner_epoch;
  const auto owner = owners_.find({marker.at.source, marker.at.partition});
  const bool raised = owner != owners_.end() && owner->second.first > marker.owner_epoch;
  if (opaque_ && marker.owner_epoch != 0 && raised && marker.token != request.token) {
    return std::max<microseconds>(marker.lease_end, owner->second.second + times_.handler_timeout);
  }
  return by_ownership ? now_ : marker.lease_end;
}

ClaimAnswer WindowModel::Grant(Marker& marker, const ClaimRequest& request) {
  marker.state = MarkerState::kOpen;
  marker.token = request.token;
  marker.held = true;
  marker.owner_epoch = request.owner_epoch;
  marker.at = request.at;
  marker.attempt++;
  marker.granted_at = now_;
  marker.lease_end = now_ + std::min(times_.lease, times_.max_lease);
  if (request.fingerprint != 0) {
    marker.fingerprint = request.fingerprint;
  }
  return {
      .answer = ClaimVerdict::kGranted, .uncertain = marker.uncertain, .attempt = marker.attempt};
}

MarkerChange WindowModel::Complete(const CompleteRequest& request) {
  if (Marker* open = FindOpen(request.id, request.token)) {
    open->state = MarkerState::kDone;
    open->uncertain = false;
    open->at = request.at;
    open->result = request.result;
    return MarkerChange::kMade;
  }
  const Marker* marker = Find(request.id);
  const bool mine =
      marker != nullptr && marker->state == MarkerState::kDone && marker->token == request.token;
  return mine ? MarkerChange::kMade : MarkerChange::kFenced;
}

MarkerChange WindowModel::Release(const ReleaseRequest& request) {
  if (Find(request.id) == nullptr) {
    return MarkerChange::kMade;
  }
  const Marker* marker = Find(request.id);
  const bool parked = marker->state == MarkerState::kParked && request.parked_entry != 0;
  if (parked && marker->entry == request.parked_entry) {
    return MarkerChange::kMade;
  }
  Marker* open = FindOpen(request.id, request.token);
  if (open == nullptr) {
    return MarkerChange::kFenced;
  }
  if (open->held && !request.uncertain && !request.failed) {
    open->attempt--;
  }
  open->uncertain = open->uncertain || request.uncertain;
  const bool counts = open->attempt > 0 && open->at.partition != kNoPartition;
  if (request.parked_entry != 0) {
    open->state = MarkerState::kParked;
    open->entry = request.parked_entry;
    open->held = false;
  } else if (open->uncertain || counts) {
    open->held = false;
    open->fingerprint = open->uncertain ? open->fingerprint : 0;
  } else {
    markers_.erase(std::string(request.id));
  }
  return MarkerChange::kMade;
}

MarkerChange WindowModel::Park(const ParkRequest& request) {
  Marker* open = FindOpen(request.id, request.token);
  if (open != nullptr && open->held && !Fenced(open->owner_epoch, open->at)) {
    open->state = MarkerState::kParked;
    open->entry = request.entry;
    return MarkerChange::kMade;
  }
  const Marker* marker = Find(request.id);
  const bool parked = marker != nullptr && marker->state == MarkerState::kParked;
  return parked && marker->entry == request.entry ? MarkerChange::kMade : MarkerChange::kFenced;
}

MarkerChange WindowModel::Renew(const RenewRequest& request) {
  Marker* open = FindOpen(request.id, request.token);
  if (open == nullptr || !open->held || Fenced(open->owner_epoch, open->at) ||
      now_ >= open->granted_at + times_.max_lease) {
    return MarkerChange::kFenced;
  }
  open->lease_end =
      std::min<microseconds>(now_ + times_.lease, open->granted_at + times_.max_lease);
  return MarkerChange::kMade;
}

MarkerChange WindowModel::Restore(const RestoreRequest& request) {
  if (Fenced(request.owner_epoch, request.at)) {
    return MarkerChange::kFenced;
  }
  Marker* marker = Find(request.id);
  if (marker == nullptr) {
    Marker& restored = markers_[std::string(request.id)];
    restored.state = MarkerState::kDone;
    restored.at = request.at;
    restored.fingerprint = request.fingerprint;
    return MarkerChange::kMade;
  }
  if (marker->state != MarkerState::kOpen) {
    return MarkerChange::kMade;
  }
  const bool deserted = !marker->held || now_ >= marker->lease_end;
  if (!deserted && (marker->at != request.at || marker->owner_epoch >= request.owner_epoch)) {
    return MarkerChange::kInFlight;
  }
  marker->state = MarkerState::kDone;
  marker->at = request.at;
  marker->fingerprint = marker->fingerprint != 0 ? marker->fingerprint : request.fingerprint;
  marker->uncertain = false;
  marker->token = Token{};
  return MarkerChange::kMade;
}

MarkerView WindowModel::Peek(std::string_view id) const {
  const auto found = markers_.find(id);
  if (found == markers_.end()) {
    return {};
  }
  const Marker& marker = found->second;
  const bool held = marker.state == MarkerState::kOpen && marker.held;
  const bool silent = held && now_ >= HolderEnds(marker, {});
  return {marker.state, marker.at, held ? marker.token : Token{},
          silent ? TakeoverIsUncertain(marker) : marker.uncertain};
}

}  // namespace oncemq::conformance
