// SPDX-License-Identifier: Apache-2.0
#include "oncemq/dedup/memory_window.h"

#include <algorithm>
#include <array>
#include <string>
#include <type_traits>
#include <unordered_set>

#include "memory_window_engine.h"
#include "oncemq/base/mutant.h"

namespace oncemq {
namespace {

constexpr uint32_t kMaxCount = 1'000'000'000;

Error Invalid(std::string message) {
  return {Code::kInvalid, Effect::kNone, std::move(message)};
}

template <class Request>
std::string_view IdOf(const Request& request) {
  if constexpr (std::is_same_v<Request, std::string_view>) {
    return request;
  } else {
    return request.id;
  }
}

std::string_view Known(std::string_view id) {
  return ONCEMQ_MUTANT("id-stops-at-nul") ? id.substr(0, id.find('\0')) : id;
}

// Judges a whole batch before any of it is applied.
template <class Request>
Status Check(const WindowCapabilities& limits, std::span<const Request> requests, size_t replies) {
  if (replies < requests.size()) {
    return Invalid("fewer places for answers than requests");
  }
  for (const Request& request : requests) {
    const std::string_view id = IdOf(request);
    if (id.empty() || id.size() > limits.max_id_bytes) {
      return Invalid("an id has 1 to " + std::to_string(limits.max_id_bytes) + " bytes, not " +
                     std::to_string(id.size()));
    }
    if constexpr (requires { request.token; }) {
      if (request.token.empty()) {
        return Invalid("an empty token names no claim");
      }
    }
    if constexpr (requires { request.result; }) {
      if (request.result.size() > limits.max_result_bytes) {
        return Invalid("a result has at most " + std::to_string(limits.max_result_bytes) +
                       " bytes, not " + std::to_string(request.result.size()));
      }
    }
  }
  return {};
}

Change Made(bool made) {
  return made ? Change::kMade : Change::kFenced;
}

}  // namespace

MemoryWindow::MemoryWindow(const MemoryWindowOptions& options, const Clock& clock, IdHash hash)
    : capabilities_{.engine = "memory", .level = *options.level},
      rules_(capabilities_.level, options.times),
      max_open_(options.max_open),
      max_parked_(options.max_parked),
      clock_(clock),
      hash_(hash),
      done_(options.remember) {
  allocated_ = done_.allocated();
}

size_t MemoryWindow::memory_bytes() const {
  MutexLock lock(mutex_);
  return done_.memory_bytes() + markers_.memory_bytes();
}

template <auto One, class Request, class Reply>
Status MemoryWindow::Apply(std::span<const Request> requests, std::span<Reply> replies) {
  // Long enough for the cache misses of its ids to overlap, short enough for its lines to stay in
  // the first cache.
  constexpr size_t kBlock = 64;
  // What is completed is open, as a rule: its finished record is written, not read.
  constexpr bool kCompletes = std::is_same_v<Request, CompleteRequest>;
  now_ = ONCEMQ_MUTANT("lease-by-wall-clock") ? BootTime(microseconds(clock_.Wall().micros))
                                              : clock_.Boot();
  std::array<Found, kBlock> found;
  for (size_t begin = 0; begin < requests.size(); begin += kBlock) {
    const size_t size = std::min(kBlock, requests.size() - begin);
    for (size_t i = 0; i < size; i++) {
      found[i].id = Known(IdOf(requests[begin + i]));
      found[i].hash = hash_(found[i].id);
      markers_.Prefetch(found[i].hash);
      done_.Prefetch(found[i].hash);
    }
    for (size_t i = 0; i < size; i++) {
      markers_.PrefetchMarker(found[i].hash);
      if (!kCompletes) {
        done_.PrefetchRecord(found[i].hash);
      }
    }
    for (size_t i = 0; i < size; i++) {
      (this->*One)(requests[begin + i], found[i], replies[begin + i]);
    }
  }
  return {};
}

Result<Own> MemoryWindow::RaiseOwn(uint32_t source, int32_t partition, Own floor) {
  if (partition < 0) {
    return Invalid("only a partition is owned, not number " + std::to_string(partition));
  }
  MutexLock lock(mutex_);
  return owners_.Raise(source, partition, floor, clock_);
}

Status MemoryWindow::Claim(std::span<const ClaimRequest> requests, std::span<ClaimAnswer> answers) {
  if (Status fit = Check(capabilities_, requests, answers.size()); !fit) {
    return fit;
  }
  MutexLock lock(mutex_);
  if (!HasRoomFor(requests)) {
    return Error{Code::kFull, Effect::kNone,
                 "the window holds " + std::to_string(open()) + " open ids; max_open is " +
                     std::to_string(max_open_)};
  }
  return Apply<&MemoryWindow::ClaimOne>(requests, answers);
}

// A batch is refused before any of it is applied, and only if it would really need more markers
// than are allowed.
bool MemoryWindow::HasRoomFor(std::span<const ClaimRequest> requests) {
  if (open() + requests.size() <= max_open_) [[likely]] {
    return true;
  }
  std::unordered_set<std::string_view> fresh;
  for (const ClaimRequest& request : requests) {
    const uint64_t hash = hash_(request.id);
    if (OwnershipHolds(request.own, owners_.Find(request.at)) && !done_.Find(hash, request.id) &&
        markers_.Find(hash, request.id) == nullptr) {
      fresh.insert(request.id);
    }
  }
  return open() + fresh.size() <= max_open_ || ONCEMQ_MUTANT("max-open-not-kept");
}

void MemoryWindow::ClaimOne(const ClaimRequest& request, const Found& at, ClaimAnswer& answer) {
  answer = ClaimAnswer{};
  const OwnRecord* owned = request.own != 0 ? owners_.Find(request.at) : nullptr;
  if (!OwnershipHolds(request.own, owned)) {
    answer.answer = Answer::kFenced;
    return;
  }
  if (Marker* marker = markers_.Find(at.hash, at.id); marker != nullptr) {
    const OwnRecord* holder = marker->own != 0 ? owners_.Find(marker->at) : nullptr;
    rules_.Claim(*marker, request, holder, now_, answer);
    return;
  }
  if (const auto done = done_.Find(at.hash, at.id)) {
    if (Conflicts(done->fingerprint, request.fingerprint)) {
      answer.answer = Answer::kConflict;
      return;
    }
    answer.answer = Answer::kDuplicate;
    answer.same_delivery = done->at == request.at || ONCEMQ_MUTANT("copy-is-own-redelivery");
    answer.result = ONCEMQ_MUTANT("duplicate-loses-result") ? "" : done->result;
    return;
  }
  Marker* fresh = markers_.Insert(at.hash, at.id);
  rules_.Grant(*fresh, request, now_, answer);
  if (ONCEMQ_MUTANT("marker-before-effect")) {
    done_.Append(at.hash, at.id, {request.at, request.token, request.fingerprint, {}});
    markers_.Erase(at.hash, fresh);
  }
}

Status MemoryWindow::Complete(std::span<const CompleteRequest> requests,
                              std::span<Change> answers) {
  if (Status fit = Check(capabilities_, requests, answers.size()); !fit) {
    return fit;
  }
  MutexLock lock(mutex_);
  return Apply<&MemoryWindow::CompleteOne>(requests, answers);
}

void MemoryWindow::CompleteOne(const CompleteRequest& request, const Found& at, Change& answer) {
  Marker* marker = markers_.Find(at.hash, at.id);
  if (marker == nullptr) {
    const auto done = done_.Find(at.hash, at.id);
    answer = Made(done && done->token == request.token && !ONCEMQ_MUTANT("done-forgets-token"));
    return;
  }
  const bool may = rules_.MayComplete(*marker, request, now_) &&
                   (!ONCEMQ_MUTANT("completion-needs-own") ||
                    OwnershipHolds(marker->own, owners_.Find(marker->at)));
  answer = Made(may);
  if (may) {
    done_.Append(at.hash, at.id, {request.at, request.token, marker->fingerprint, request.result});
    markers_.Erase(at.hash, marker);
  }
}

Status MemoryWindow::Release(std::span<const ReleaseRequest> requests, std::span<Change> answers) {
  if (Status fit = Check(capabilities_, requests, answers.size()); !fit) {
    return fit;
  }
  MutexLock lock(mutex_);
  return Apply<&MemoryWindow::ReleaseOne>(requests, answers);
}

void MemoryWindow::ReleaseOne(const ReleaseRequest& request, const Found& at, Change& answer) {
  Marker* marker = markers_.Find(at.hash, at.id);
  if (marker == nullptr) {
    // Nothing of the caller is left, which is what it asked for; a finished id is not the caller's
    // to release.
    answer = Made(!done_.Find(at.hash, at.id));
    return;
  }
  const MarkerRules::Released released = rules_.Release(*marker, request);
  answer = Made(released != MarkerRules::Released::kRefused);
  if (released == MarkerRules::Released::kErase) {
    markers_.Erase(at.hash, marker);
  }
}

Status MemoryWindow::Park(std::span<const ParkRequest> requests, std::span<Change> answers) {
  if (Status fit = Check(capabilities_, requests, answers.size()); !fit) {
    return fit;
  }
  MutexLock lock(mutex_);
  if (!HasRoomToPark(requests)) {
    return Error{Code::kFull, Effect::kNone,
                 "the window keeps " + std::to_string(parked_) + " parked ids; max_parked is " +
                     std::to_string(max_parked_)};
  }
  return Apply<&MemoryWindow::ParkOne>(requests, answers);
}

// As for claims: what is parked already, or is not the caller's, needs no room.
bool MemoryWindow::HasRoomToPark(std::span<const ParkRequest> requests) {
  if (parked_ + requests.size() <= max_parked_) [[likely]] {
    return true;
  }
  std::unordered_set<std::string_view> fresh;
  for (const ParkRequest& request : requests) {
    const Marker* marker = markers_.Find(hash_(request.id), request.id);
    if (marker != nullptr && marker->state == MarkerState::kOpen &&
        marker->token == request.token) {
      fresh.insert(request.id);
    }
  }
  return parked_ + fresh.size() <= max_parked_ || ONCEMQ_MUTANT("max-parked-not-kept");
}

void MemoryWindow::ParkOne(const ParkRequest& request, const Found& at, Change& answer) {
  Marker* marker = markers_.Find(at.hash, at.id);
  const bool was_open = marker != nullptr && marker->state == MarkerState::kOpen;
  const bool made = marker != nullptr && rules_.Park(*marker, request);
  parked_ += was_open && made && !ONCEMQ_MUTANT("parked-counts-as-open") ? 1 : 0;
  answer = Made(made);
}

Status MemoryWindow::Renew(std::span<const RenewRequest> requests, std::span<Change> answers) {
  if (Status fit = Check(capabilities_, requests, answers.size()); !fit) {
    return fit;
  }
  MutexLock lock(mutex_);
  return Apply<&MemoryWindow::RenewOne>(requests, answers);
}

void MemoryWindow::RenewOne(const RenewRequest& request, const Found& at, Change& answer) {
  Marker* marker = markers_.Find(at.hash, at.id);
  answer =
      Made(marker != nullptr && rules_.Renew(*marker, request, owners_.Find(marker->at), now_));
}

Status MemoryWindow::Restore(std::span<const RestoreRequest> requests, std::span<Change> answers) {
  if (Status fit = Check(capabilities_, requests, answers.size()); !fit) {
    return fit;
  }
  MutexLock lock(mutex_);
  return Apply<&MemoryWindow::RestoreOne>(requests, answers);
}

void MemoryWindow::RestoreOne(const RestoreRequest& request, const Found& at, Change& answer) {
  if (!OwnershipHolds(request.own, owners_.Find(request.at))) {
    answer = Change::kFenced;
    return;
  }
  Marker* marker = markers_.Find(at.hash, at.id);
  if (marker == nullptr) {
    if (!done_.Find(at.hash, at.id)) {
      done_.Append(at.hash, at.id, {request.at, {}, 0, {}});
    }
    answer = Change::kMade;
    return;
  }
  if (marker->state != MarkerState::kOpen) {
    answer = Change::kMade;
    return;
  }
  const bool may = rules_.MayRestore(*marker, request, now_);
  answer = may ? Change::kMade : Change::kInFlight;
  if (may) {
    done_.Append(at.hash, at.id, {request.at, {}, marker->fingerprint, {}});
    markers_.Erase(at.hash, marker);
  }
}

Status MemoryWindow::Peek(std::span<const std::string_view> ids, std::span<MarkerView> views) {
  if (Status fit = Check(capabilities_, ids, views.size()); !fit) {
    return fit;
  }
  MutexLock lock(mutex_);
  return Apply<&MemoryWindow::PeekOne>(ids, views);
}

void MemoryWindow::PeekOne(std::string_view, const Found& at, MarkerView& view) {
  view = MarkerView{};
  if (const Marker* marker = markers_.Find(at.hash, at.id); marker != nullptr) {
    const bool held = marker->state == MarkerState::kOpen && marker->held;
    view = {marker->state, marker->at, held ? marker->token : Token{}, marker->uncertain};
  } else if (const auto done = done_.Find(at.hash, at.id)) {
    view = {MarkerState::kDone, done->at, {}, false};
  }
}

Result<std::unique_ptr<Window>> OpenMemoryWindow(const MemoryWindowOptions& options,
                                                 const Clock& clock) {
  const WindowTimes& times = options.times;
  if (!options.level) {
    return Invalid(
        "say which level: guarded if the target of your effect stores the id with it and answers "
        "`already done`, opaque if nobody can check it");
  }
  if (options.level == Level::kAtomic) {
    return Invalid(
        "level atomic is impossible with the memory window: it cannot commit together with an "
        "effect; use guarded or opaque");
  }
  if (options.remember == 0 || options.remember > kMaxCount) {
    return Invalid("remember must be 1 to " + std::to_string(kMaxCount));
  }
  if (options.max_open == 0 || options.max_open > kMaxCount) {
    return Invalid("max_open must be 1 to " + std::to_string(kMaxCount));
  }
  if (options.max_parked == 0 || options.max_parked > kMaxCount) {
    return Invalid("max_parked must be 1 to " + std::to_string(kMaxCount));
  }
  constexpr milliseconds kYear = std::chrono::hours(24 * 365);
  if (times.lease <= milliseconds(0) || times.max_lease < times.lease || times.max_lease > kYear ||
      times.handler_timeout < milliseconds(0) || times.handler_timeout > kYear) {
    return Invalid("times need 0 < lease <= max_lease and handler_timeout >= 0, all within a year");
  }
  auto window = std::make_unique<MemoryWindow>(options, clock);
  if (!window->allocated()) {
    return Error{Code::kFull, Effect::kNone,
                 "no memory for two tables of " + std::to_string(options.remember) + " ids"};
  }
  return std::unique_ptr<Window>(std::move(window));
}

}  // namespace oncemq
