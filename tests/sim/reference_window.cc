// SPDX-License-Identifier: Apache-2.0
#include "reference_window.h"

#include <algorithm>
#include <vector>

namespace oncemq::sim {
namespace {

MarkerChange Made(bool made) {
  return made ? MarkerChange::kMade : MarkerChange::kFenced;
}

}  // namespace

Result<OwnerEpoch> ReferenceWindow::RaiseOwnerEpoch(uint32_t source, int32_t partition,
                                                    OwnerEpoch floor) {
  Owner& owner = owners_[{source, partition}];
  owner = {std::max({owner.owner_epoch + 1, floor, static_cast<OwnerEpoch>(clock_.Wall().micros)}),
           clock_.Boot()};
  return owner.owner_epoch;
}

bool ReferenceWindow::Owns(OwnerEpoch owner_epoch, const Coordinates& at) const {
  const auto owner = owners_.find({at.source, at.partition});
  return owner_epoch == 0 || (owner != owners_.end() && owner->second.owner_epoch == owner_epoch);
}

BootTime ReferenceWindow::LeaseEnd(const Marker& marker) const {
  return std::min<BootTime>(clock_.Boot() + times_.lease, marker.granted + times_.max_lease);
}

void ReferenceWindow::Grant(Marker& marker, const ClaimRequest& request, ClaimAnswer& answer) {
  marker.state = MarkerState::kOpen;
  marker.token = request.token;
  marker.held = true;
  marker.at = request.at;
  marker.owner_epoch = request.owner_epoch;
  marker.attempt++;
  marker.fingerprint = request.fingerprint != 0 ? request.fingerprint : marker.fingerprint;
  marker.granted = clock_.Boot();
  marker.lease_end = LeaseEnd(marker);
  answer.answer = ClaimVerdict::kGranted;
  answer.attempt = marker.attempt;
  answer.uncertain = marker.uncertain;
}

// From when on the claimant may have the id, whoever holds it now.
BootTime ReferenceWindow::FreeFrom(const Marker& marker, const ClaimRequest& request) {
  if (!marker.held) {
    return BootTime::min();
  }
  const bool successor = marker.at == request.at && marker.owner_epoch != 0 &&
                         marker.owner_epoch < request.owner_epoch;
  if (successor && !opaque_) {
    return BootTime::min();
  }
  const Owner& owner = owners_[{marker.at.source, marker.at.partition}];
  const bool silenced = marker.owner_epoch != 0 && owner.owner_epoch > marker.owner_epoch &&
                        marker.token != request.token;
  return opaque_ && silenced
             ? std::max<BootTime>(marker.lease_end, owner.raised + times_.handler_timeout)
             : marker.lease_end;
}

ClaimAnswer ReferenceWindow::ClaimOne(const ClaimRequest& request) {
  ClaimAnswer answer;
  if (!Owns(request.owner_epoch, request.at)) {
    answer.answer = ClaimVerdict::kFenced;
    return answer;
  }
  Marker& marker = markers_[std::string(request.id)];
  const BootTime now = clock_.Boot();
  const bool conflict = marker.fingerprint != 0 && request.fingerprint != 0 &&
                        marker.fingerprint != request.fingerprint;
  const bool redrive =
      request.parked_entry != 0 && request.parked_entry == marker.entry && request.at == marker.at;
  switch (marker.state) {
    case MarkerState::kNone:
      marker = Marker{};
      Grant(marker, request, answer);
      return answer;
    case MarkerState::kDone:
      if (conflict) {
        answer.answer = ClaimVerdict::kConflict;
        return answer;
      }
      answer.answer = ClaimVerdict::kDuplicate;
      answer.same_delivery = marker.at == request.at;
      answer.result = marker.result;
      return answer;
    case MarkerState::kParked:
    case MarkerState::kHanded:
      if (redrive && !(marker.uncertain && request.not_if_uncertain)) {
        Grant(marker, request, answer);
        return answer;
      }
      if (redrive) {
        answer.answer = ClaimVerdict::kInFlight;
        answer.uncertain = true;
        return answer;
      }
      if (conflict) {
        answer.answer = ClaimVerdict::kConflict;
        return answer;
      }
      answer.answer = ClaimVerdict::kAttached;
      answer.attached = marker.state;
      answer.entry = marker.entry;
      return answer;
    case MarkerState::kOpen:
      break;
  }
  if (marker.held && marker.token == request.token && now < marker.granted + times_.max_lease) {
    marker.owner_epoch = std::max(marker.owner_epoch, request.owner_epoch);
    marker.lease_end = LeaseEnd(marker);
    answer.answer = ClaimVerdict::kGranted;
    answer.attempt = marker.attempt;
    answer.uncertain = marker.uncertain;
    return answer;
  }
  if (conflict && !redrive) {
    answer.answer = ClaimVerdict::kConflict;
    return answer;
  }
  if (const BootTime free = FreeFrom(marker, request); now < free) {
    answer.answer = ClaimVerdict::kInFlight;
    answer.wait = free - now;
    return answer;
  }
  marker.uncertain |= opaque_ && marker.held;
  Grant(marker, request, answer);
  return answer;
}

Status ReferenceWindow::Claim(std::span<const ClaimRequest> requests,
                              std::span<ClaimAnswer> answers) {
  for (size_t i = 0; i < requests.size(); i++) {
    answers[i] = ClaimOne(requests[i]);
  }
  return {};
}

Status ReferenceWindow::Complete(std::span<const CompleteRequest> requests,
                                 std::span<MarkerChange> answers) {
  for (size_t i = 0; i < requests.size(); i++) {
    const auto found = markers_.find(requests[i].id);
    const bool mine = found != markers_.end() && found->second.token == requests[i].token;
    const bool open = mine && found->second.state == MarkerState::kOpen;
    answers[i] = Made(open || (mine && found->second.state == MarkerState::kDone));
    if (open) {
      found->second.state = MarkerState::kDone;
      found->second.at = requests[i].at;
      found->second.result = requests[i].result;
    }
  }
  return {};
}

Status ReferenceWindow::Release(std::span<const ReleaseRequest> requests,
                                std::span<MarkerChange> answers) {
  for (size_t i = 0; i < requests.size(); i++) {
    const auto found = markers_.find(requests[i].id);
    if (found == markers_.end() || found->second.state == MarkerState::kNone) {
      answers[i] = MarkerChange::kMade;
      continue;
    }
    Marker& marker = found->second;
    const bool mine = marker.state == MarkerState::kOpen && marker.token == requests[i].token;
    const uint64_t entry = requests[i].parked_entry;
    const bool parked = marker.state == MarkerState::kParked && entry != 0 && marker.entry == entry;
    answers[i] = Made(mine || parked);
    if (mine) {
      const bool spent = requests[i].uncertain || requests[i].failed;
      marker.attempt -= marker.held && !spent ? 1 : 0;
      marker.uncertain |= requests[i].uncertain;
      marker.held = false;
      if (entry != 0) {
        marker.state = MarkerState::kParked;
        marker.entry = entry;
        continue;
      }
      marker.fingerprint = marker.uncertain ? marker.fingerprint : 0;
      const bool counts = marker.attempt > 0 && marker.at.partition != kNoPartition;
      marker.state = marker.uncertain || counts ? MarkerState::kOpen : MarkerState::kNone;
    }
  }
  return {};
}

Status ReferenceWindow::Park(std::span<const ParkRequest> requests,
                             std::span<MarkerChange> answers) {
  for (size_t i = 0; i < requests.size(); i++) {
    Marker& marker = markers_[std::string(requests[i].id)];
    const bool mine = marker.state == MarkerState::kOpen && marker.held &&
                      marker.token == requests[i].token && Owns(marker.owner_epoch, marker.at);
    if (mine) {
      marker.state = MarkerState::kParked;
      marker.entry = requests[i].entry;
    }
    answers[i] =
        Made(mine || (marker.state == MarkerState::kParked && marker.entry == requests[i].entry));
  }
  return {};
}

Status ReferenceWindow::Renew(std::span<const RenewRequest> requests,
                              std::span<MarkerChange> answers) {
  for (size_t i = 0; i < requests.size(); i++) {
    Marker& marker = markers_[std::string(requests[i].id)];
    const bool mine = marker.state == MarkerState::kOpen && marker.held &&
                      marker.token == requests[i].token && Owns(marker.owner_epoch, marker.at) &&
                      clock_.Boot() < marker.granted + times_.max_lease;
    if (mine) {
      marker.lease_end = LeaseEnd(marker);
    }
    answers[i] = Made(mine);
  }
  return {};
}

Status ReferenceWindow::Restore(std::span<const RestoreRequest> requests,
                                std::span<MarkerChange> answers) {
  for (size_t i = 0; i < requests.size(); i++) {
    const RestoreRequest& request = requests[i];
    if (!Owns(request.owner_epoch, request.at)) {
      answers[i] = MarkerChange::kFenced;
      continue;
    }
    Marker& marker = markers_[std::string(request.id)];
    const bool free = !marker.held || clock_.Boot() >= marker.lease_end ||
                      (marker.at == request.at && marker.owner_epoch < request.owner_epoch);
    const bool takes =
        marker.state == MarkerState::kNone || (marker.state == MarkerState::kOpen && free);
    if (takes) {
      const bool known = marker.state == MarkerState::kOpen && marker.fingerprint != 0;
      marker = Marker{.state = MarkerState::kDone,
                      .at = request.at,
                      .fingerprint = known ? marker.fingerprint : request.fingerprint};
    }
    answers[i] =
        takes || marker.state != MarkerState::kOpen ? MarkerChange::kMade : MarkerChange::kInFlight;
  }
  return {};
}

Status ReferenceWindow::Peek(std::span<const std::string_view> ids, std::span<MarkerView> views) {
  for (size_t i = 0; i < ids.size(); i++) {
    const auto found = markers_.find(ids[i]);
    views[i] = MarkerView{};
    if (found != markers_.end()) {
      const Marker& marker = found->second;
      const bool held = marker.state == MarkerState::kOpen && marker.held;
      views[i] = {marker.state, marker.at, held ? marker.token : Token{}, marker.uncertain};
    }
  }
  return {};
}

void ReferenceWindow::Forget(std::string_view id) {
  const auto found = markers_.find(id);
  if (found != markers_.end() && found->second.state == MarkerState::kDone) {
    markers_.erase(found);
  }
}

void CheckedWindow::Follow(std::string_view id) {
  MarkerView view;
  if (forgets_ && engine_->Peek({&id, 1}, {&view, 1}) && view.state == MarkerState::kNone) {
    reference_->Forget(id);
  }
}

Result<OwnerEpoch> CheckedWindow::RaiseOwnerEpoch(uint32_t source, int32_t partition,
                                                  OwnerEpoch floor) {
  const auto engine = engine_->RaiseOwnerEpoch(source, partition, floor);
  const auto reference = reference_->RaiseOwnerEpoch(source, partition, floor);
  if (!engine || *engine != *reference) {
    report_("RaiseOwnerEpoch differs from the contract");
  }
  return engine;
}

Status CheckedWindow::Claim(std::span<const ClaimRequest> requests,
                            std::span<ClaimAnswer> answers) {
  for (size_t i = 0; i < requests.size(); i++) {
    Follow(requests[i].id);
    ClaimAnswer b;
    (void)reference_->Claim(requests.subspan(i, 1), {&b, 1});
    if (Status status = engine_->Claim(requests.subspan(i, 1), answers.subspan(i, 1)); !status) {
      return status;
    }
    const ClaimAnswer& a = answers[i];
    if (a.answer != b.answer || a.same_delivery != b.same_delivery || a.uncertain != b.uncertain ||
        a.attempt != b.attempt || a.entry != b.entry || a.wait != b.wait || a.result != b.result) {
      report_("Claim answers " + std::string(oncemq::ToString(a.answer)) + ", the contract says " +
              std::string(oncemq::ToString(b.answer)));
    }
  }
  return {};
}

template <class Request>
Status CheckedWindow::Compare(std::string_view what,
                              Status (Window::*call)(std::span<const Request>,
                                                     std::span<MarkerChange>),
                              std::span<const Request> requests, std::span<MarkerChange> answers) {
  for (size_t i = 0; i < requests.size(); i++) {
    Follow(requests[i].id);
    MarkerChange wanted{};
    (void)(reference_.get()->*call)(requests.subspan(i, 1), {&wanted, 1});
    if (Status status = (engine_.get()->*call)(requests.subspan(i, 1), answers.subspan(i, 1));
        !status) {
      return status;
    }
    if (wanted != answers[i]) {
      report_(std::string(what) + " differs from the contract");
    }
  }
  return {};
}

Status CheckedWindow::Complete(std::span<const CompleteRequest> requests,
                               std::span<MarkerChange> answers) {
  return Compare("Complete", &Window::Complete, requests, answers);
}
Status CheckedWindow::Release(std::span<const ReleaseRequest> requests,
                              std::span<MarkerChange> answers) {
  return Compare("Release", &Window::Release, requests, answers);
}
Status CheckedWindow::Park(std::span<const ParkRequest> requests, std::span<MarkerChange> answers) {
  return Compare("Park", &Window::Park, requests, answers);
}
Status CheckedWindow::Renew(std::span<const RenewRequest> requests,
                            std::span<MarkerChange> answers) {
  return Compare("Renew", &Window::Renew, requests, answers);
}
Status CheckedWindow::Restore(std::span<const RestoreRequest> requests,
                              std::span<MarkerChange> answers) {
  return Compare("Restore", &Window::Restore, requests, answers);
}
Status CheckedWindow::Peek(std::span<const std::string_view> ids, std::span<MarkerView> views) {
  return engine_->Peek(ids, views);
}

}  // namespace oncemq::sim
