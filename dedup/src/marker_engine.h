// SPDX-License-Identifier: Apache-2.0
// MarkerEngine: what a request does to an id, for every window whose open markers live in this
// process: the contract of Window on one id at a time. Where finished ids are kept, and what has to
// be written down, is the business of `Finished`:
//
//   std::optional<Record> Find(const Found&)          Record: at, fingerprint, result; of an id
//                                                     that is kept no longer: nothing
//   bool CompletedBy(const Record&, const Token&)
//   void Append(const Found&, const Finishing&)
//   void Seen(const Found&, const Record&, LogTime)   a copy of it came
//   LogTime horizon()                                 ids of records before it may be forgotten
//   void Keep(const Found&, Marker&)                  a changed marker may have to outlive us
//   void Forget(const Found&, const Marker&)          it is about to go
//
// Thread safety: none; the window that owns it locks.
#pragma once

#include <algorithm>
#include <list>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "marker_rules.h"
#include "marker_table.h"
#include "oncemq/base/check.h"
#include "oncemq/dedup/window.h"
#include "owners.h"

namespace oncemq {

// One id of a batch.
struct Found {
  std::string_view id;
  uint64_t hash = 0;
  size_t index = 0;  // in the batch
  // Where partitions own their ids: the partition of the request. Outlives this.
  const Coordinates* within = nullptr;
};

struct MarkerLimits {
  uint32_t max_open;
  uint32_t max_parked;
};

// What is kept of an id when it is finished.
struct Finishing {
  Coordinates at;
  Token token = {};  // empty: restored
  uint32_t fingerprint = 0;
  std::string_view result = {};
  LogTime time = kNoLogTime;
  milliseconds keep{0};  // as in CompleteRequest
};

template <class Finished>
class MarkerEngine {
 public:
  MarkerEngine(Level level, const WindowTimes& times, const MarkerLimits& limits,
               Finished& finished)
      : rules_(level, times), limits_(limits), finished_(finished) {}

  Owners& owners() { return owners_; }
  MarkerTable& markers() { return markers_; }
  const MarkerTable& markers() const { return markers_; }
  void set_now(BootTime now) { now_ = now; }

  // A marker that an earlier process has left.
  void Load(const Found& at, const Marker& kept) {
    Marker& marker = *markers_.Insert(at.hash, at.id);
    marker = kept;
    parked_ += marker.state == MarkerState::kParked ? 1 : 0;
    List(at, marker);
  }

  // An earlier process has finished the id after all. A claim of this process stays.
  void Unload(const Found& at) {
    const Marker* marker = markers_.Find(at.hash, at.id, at.within);
    if (marker != nullptr && !(marker->state == MarkerState::kOpen && marker->held)) {
      const bool parks = marker->state == MarkerState::kParked;
      ONCEMQ_CHECK(!parks || parked_ > 0, "each parked id is counted");
      parked_ -= parks ? 1 : 0;
      markers_.Erase(at.hash, marker);
    }
  }

  // A batch is refused before any of it is applied, and only if it would really need more markers
  // than are allowed. `locate` gives the Found of a request's id.
  template <class Locate>
  Status RoomFor(std::span<const ClaimRequest> requests, Locate locate) {
    if (open() + requests.size() <= limits_.max_open) [[likely]] {
      return {};
    }
    std::set<std::pair<std::string_view, uint64_t>> fresh;
    for (size_t i = 0; i < requests.size(); i++) {
      const ClaimRequest& request = requests[i];
      const Found at = locate(i);
      if (OwnershipHolds(request.owner_epoch, owners_.Find(request.at)) && WouldOpen(request, at)) {
        fresh.emplace(request.id, at.hash);
      }
    }
    while (open() + fresh.size() > limits_.max_open && !failed_.empty()) {
      DropOldestFailed();
    }
    if (open() + fresh.size() <= limits_.max_open) {
      return {};
    }
    return Error{Code::kFull, Effect::kNone,
                 "the window holds " + std::to_string(open()) + " open ids; max_open is " +
                     std::to_string(limits_.max_open)};
  }

  // As for claims: what is parked already, or was before its record ran, or is not the caller's,
  // needs no room.
  template <class Locate>
  Status RoomToPark(std::span<const ParkRequest> requests, Locate locate) {
    if (parked_ + requests.size() <= limits_.max_parked) [[likely]] {
      return {};
    }
    std::set<std::pair<std::string_view, uint64_t>> fresh;
    for (size_t i = 0; i < requests.size(); i++) {
      const Found at = locate(i);
      const Marker* marker = markers_.Find(at.hash, at.id, at.within);
      if (marker != nullptr && marker->state == MarkerState::kOpen &&
          marker->token == requests[i].token && marker->entry != requests[i].entry) {
        fresh.emplace(requests[i].id, at.hash);
      }
    }
    if (parked_ + fresh.size() <= limits_.max_parked) {
      return {};
    }
    return Error{Code::kFull, Effect::kNone,
                 "the window keeps " + std::to_string(parked_) + " parked ids; max_parked is " +
                     std::to_string(limits_.max_parked)};
  }

  void One(const ClaimRequest& request, const Found& at, ClaimAnswer& answer) {
    answer = ClaimAnswer{};
    const OwnerRecord* owned = request.owner_epoch != 0 ? owners_.Find(request.at) : nullptr;
    if (!OwnershipHolds(request.owner_epoch, owned)) {
      answer.answer = ClaimVerdict::kFenced;
      return;
    }
    if (Marker* marker = markers_.Find(at.hash, at.id, at.within); marker != nullptr) {
      const OwnerRecord* holder = marker->owner_epoch != 0 ? owners_.Find(marker->at) : nullptr;
      const bool cut = rules_.CutToClock(*marker, holder, now_);
      const bool was_parked = marker->state == MarkerState::kParked;
      rules_.Claim(*marker, request, holder, now_, answer);
      if (was_parked && marker->state == MarkerState::kOpen) {
        ONCEMQ_CHECK(parked_ > 0, "each parked id is counted");
        parked_--;
      }
      if (cut || answer.answer == ClaimVerdict::kGranted) {
        finished_.Keep(at, *marker);
      }
      return;
    }
    if (const auto done = finished_.Find(at)) {
      if (Conflicts(done->fingerprint, request.fingerprint)) {
        answer.answer = ClaimVerdict::kConflict;
        return;
      }
      finished_.Seen(at, *done, std::max(request.time, request.copies_until));
      answer.answer = ClaimVerdict::kDuplicate;
      answer.same_delivery = done->at == request.at;
      answer.result = done->result;
      return;
    }
    const bool old = request.time != kNoLogTime && request.time < finished_.horizon();
    if (old && !request.first) {
      answer.answer = ClaimVerdict::kOutsideWindow;
      return;
    }
    Marker* fresh = markers_.Insert(at.hash, at.id);
    rules_.Grant(*fresh, request, now_, answer);
    finished_.Keep(at, *fresh);
  }

  // Whether it would turn an open marker of the caller to done: not whether it has done so before.
  bool WouldComplete(const CompleteRequest& request, const Found& at) const {
    const Marker* marker = markers_.Find(at.hash, at.id, at.within);
    return marker != nullptr && rules_.MayComplete(*marker, request);
  }

  void One(const CompleteRequest& request, const Found& at, MarkerChange& answer) {
    Marker* marker = markers_.Find(at.hash, at.id, at.within);
    if (marker == nullptr) {
      const auto done = finished_.Find(at);
      answer = Made(done && finished_.CompletedBy(*done, request.token));
      return;
    }
    const bool may = rules_.MayComplete(*marker, request);
    answer = Made(may);
    if (may) {
      Finish(at, *marker,
             {.at = request.at,
              .token = request.token,
              .result = request.result,
              .time = request.time,
              .keep = request.keep});
    }
  }

  void One(const ReleaseRequest& request, const Found& at, MarkerChange& answer) {
    Marker* marker = markers_.Find(at.hash, at.id, at.within);
    if (marker == nullptr) {
      // Nothing of the caller is left, which is what it asked for; a finished id is not the
      // caller's to release.
      answer = Made(!finished_.Find(at));
      return;
    }
    const bool was_open = marker->state == MarkerState::kOpen;
    const MarkerRules::Released released = rules_.Release(*marker, request);
    answer = Made(released != MarkerRules::Released::kRefused);
    if (released == MarkerRules::Released::kErase) {
      finished_.Forget(at, *marker);
      markers_.Erase(at.hash, marker);
    } else if (released == MarkerRules::Released::kKept && was_open) {
      parked_ += marker->state == MarkerState::kParked ? 1 : 0;
      finished_.Keep(at, *marker);
      List(at, *marker);
    }
  }

  void One(const ParkRequest& request, const Found& at, MarkerChange& answer) {
    Marker* marker = markers_.Find(at.hash, at.id, at.within);
    const bool was_open = marker != nullptr && marker->state == MarkerState::kOpen;
    const bool made = marker != nullptr && rules_.Park(*marker, request, owners_.Find(marker->at));
    if (was_open && made) {
      parked_++;
      finished_.Keep(at, *marker);
    }
    answer = Made(made);
  }

  void One(const RenewRequest& request, const Found& at, MarkerChange& answer) {
    Marker* marker = markers_.Find(at.hash, at.id, at.within);
    answer =
        Made(marker != nullptr && rules_.Renew(*marker, request, owners_.Find(marker->at), now_));
  }

  void One(const RestoreRequest& request, const Found& at, MarkerChange& answer) {
    if (!OwnershipHolds(request.owner_epoch, owners_.Find(request.at))) {
      answer = MarkerChange::kFenced;
      return;
    }
    Marker* marker = markers_.Find(at.hash, at.id, at.within);
    if (marker == nullptr) {
      if (const auto done = finished_.Find(at)) {
        finished_.Seen(at, *done, request.time);
      } else {
        finished_.Append(
            at, {.at = request.at, .fingerprint = request.fingerprint, .time = request.time});
      }
      answer = MarkerChange::kMade;
      return;
    }
    if (marker->state != MarkerState::kOpen) {
      answer = MarkerChange::kMade;
      return;
    }
    const OwnerRecord* holder = marker->owner_epoch != 0 ? owners_.Find(marker->at) : nullptr;
    const bool cut = rules_.CutToClock(*marker, holder, now_);
    const bool may = rules_.MayRestore(*marker, request, now_);
    answer = may ? MarkerChange::kMade : MarkerChange::kInFlight;
    if (may) {
      marker->fingerprint = marker->fingerprint != 0 ? marker->fingerprint : request.fingerprint;
      Finish(at, *marker, {.at = request.at, .time = request.time});
    } else if (cut) {
      finished_.Keep(at, *marker);
    }
  }

  void One(std::string_view, const Found& at, MarkerView& view) {
    view = MarkerView{};
    if (const Marker* marker = markers_.Find(at.hash, at.id, at.within); marker != nullptr) {
      const bool held = marker->state == MarkerState::kOpen && marker->held;
      const OwnerRecord* holder = marker->owner_epoch != 0 ? owners_.Find(marker->at) : nullptr;
      view = {marker->state, marker->at, held ? marker->token : Token{},
              rules_.IsUncertain(*marker, holder, now_)};
      view.fingerprint = marker->fingerprint;
    } else if (const auto done = finished_.Find(at)) {
      view = {MarkerState::kDone, done->at, {}, false};
      view.fingerprint = done->fingerprint;
    }
  }

  size_t open() const {
    ONCEMQ_CHECK(parked_ <= markers_.size(), "each parked id has a marker");
    return markers_.size() - parked_;
  }
  size_t parked() const { return parked_; }

 private:
  // Whether a grant of the claim would add to the open ids.
  bool WouldOpen(const ClaimRequest& request, const Found& at) const {
    const Marker* marker = markers_.Find(at.hash, at.id, at.within);
    if (marker == nullptr) {
      return !finished_.Find(at);
    }
    return marker->state == MarkerState::kParked && IsRedrive(*marker, request);
  }

  static constexpr size_t kMostFailed = 65'536;
  struct FailedId {
    std::string id;
    uint64_t hash = 0;
    bool within = false;
    Coordinates at;
  };

  static MarkerChange Made(bool made) { return made ? MarkerChange::kMade : MarkerChange::kFenced; }

  // So that the counts of failed attempts have a bound: nothing says of an id that is never
  // delivered again that it is over.
  void List(const Found& at, Marker& marker) {
    if (!marker.only_counts() || marker.listed) {
      return;
    }
    marker.listed = true;
    failed_.push_back({std::string(at.id), at.hash, at.within != nullptr, marker.at});
    if (failed_.size() > kMostFailed) {
      DropOldestFailed();
    }
  }

  // Or only its entry, where the id is held again or finished.
  void DropOldestFailed() {
    const FailedId oldest = std::move(failed_.front());
    failed_.pop_front();
    const Found at{oldest.id, oldest.hash, 0, oldest.within ? &oldest.at : nullptr};
    Marker* marker = markers_.Find(at.hash, at.id, at.within);
    if (marker == nullptr) {
      return;
    }
    marker->listed = false;
    if (marker->only_counts()) {
      finished_.Forget(at, *marker);
      markers_.Erase(at.hash, marker);
    }
  }

  void Finish(const Found& at, Marker& marker, Finishing finishing) {
    ONCEMQ_CHECK(marker.state == MarkerState::kOpen, "only an open id is finished (transition 5)");
    finishing.fingerprint = marker.fingerprint;
    finished_.Append(at, finishing);
    finished_.Forget(at, marker);
    markers_.Erase(at.hash, &marker);
  }

  const MarkerRules rules_;
  const MarkerLimits limits_;
  Finished& finished_;
  MarkerTable markers_;         // an id is here or finished, never both
  size_t parked_ = 0;           // of these; they stay
  std::list<FailedId> failed_;  // the oldest first; some are held again or gone
  Owners owners_;
  BootTime now_;
};

}  // namespace oncemq
