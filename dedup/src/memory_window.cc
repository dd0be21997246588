// SPDX-License-Identifier: Apache-2.0
#include "oncemq/dedup/memory_window.h"

#include <algorithm>
#include <array>
#include <string>
#include <type_traits>

#include "memory_window_engine.h"
#include "window_check.h"

namespace oncemq {
namespace {

constexpr uint32_t kMaxCount = 1'000'000'000;

}  // namespace

MemoryWindow::MemoryWindow(const MemoryWindowOptions& options, const Clock& clock, IdHash hash)
    : capabilities_{.engine = "memory",
                    .level = *options.level,
                    .partition_owned = options.partition_owned,
                    .times = options.times,
                    .timed = true,
                    .forgets_by_number = true},
      clock_(clock),
      hash_(hash),
      done_(options.remember),
      finished_(done_),
      engine_(*options.level, options.times, {options.max_open, options.max_parked}, finished_) {
  allocated_ = done_.allocated();
  noted_.fill({0, kNoPartition});
}

size_t MemoryWindow::memory_bytes() const {
  MutexLock lock(mutex_);
  return done_.memory_bytes() + engine_.markers().memory_bytes();
}

Found MemoryWindow::Locate(std::string_view id, const Coordinates& at) const {
  if (!capabilities_.partition_owned) {
    return {id, hash_(id), 0};
  }
  const uint64_t partition = uint64_t{at.source} << 32 | static_cast<uint32_t>(at.partition);
  return {id, hash_(id) ^ MixBits(partition), 0, &at};
}

void MemoryWindow::NotePartition(const Coordinates& at) {
  if (!capabilities_.partition_owned) {
    return;
  }
  const Partition partition{at.source, at.partition};
  Partition& noted = noted_[(at.source + static_cast<uint32_t>(at.partition)) % noted_.size()];
  if (noted != partition) {
    partitions_.insert(partition);
    noted = partition;
  }
}

template <class Request, class Reply>
Status MemoryWindow::Apply(std::span<const Request> requests, std::span<Reply> replies) {
  // Long enough for the cache misses of its ids to overlap, short enough for its lines to stay in
  // the first cache.
  constexpr size_t kBlock = 64;
  // What is completed is open, as a rule: its finished record is written, not read.
  constexpr bool kCompletes = std::is_same_v<Request, CompleteRequest>;
  const BootTime now = clock_.Boot();
  engine_.set_now(now);
  finished_.set_now(now);
  const MarkerTable& markers = engine_.markers();
  std::array<Found, kBlock> found;
  for (size_t begin = 0; begin < requests.size(); begin += kBlock) {
    const size_t size = std::min(kBlock, requests.size() - begin);
    for (size_t i = 0; i < size; i++) {
      const Request& request = requests[begin + i];
      found[i] = Locate(request.id, request.at);
      if constexpr (requires { request.owner_epoch; }) {  // of it something may be kept
        NotePartition(request.at);
      }
      markers.Prefetch(found[i].hash);
      done_.Prefetch(found[i].hash);
    }
    for (size_t i = 0; i < size; i++) {
      markers.PrefetchMarker(found[i].hash);
      if (!kCompletes) {
        done_.PrefetchRecord(found[i].hash);
      }
    }
    for (size_t i = 0; i < size; i++) {
      engine_.One(requests[begin + i], found[i], replies[begin + i]);
    }
  }
  return {};
}

Result<OwnerEpoch> MemoryWindow::RaiseOwnerEpoch(uint32_t source, int32_t partition,
                                                 OwnerEpoch floor) {
  if (partition < 0) {
    return InvalidRequest("only a partition is owned, not number " + std::to_string(partition));
  }
  MutexLock lock(mutex_);
  return engine_.owners().Raise(source, partition, floor, clock_);
}

Status MemoryWindow::Claim(std::span<const ClaimRequest> requests, std::span<ClaimAnswer> answers) {
  if (Status fit = CheckBatch(capabilities_, requests, answers.size()); !fit) {
    return fit;
  }
  MutexLock lock(mutex_);
  const Status room =
      engine_.RoomFor(requests, [&](size_t i) { return Locate(requests[i].id, requests[i].at); });
  return room ? Apply(requests, answers) : room;
}

// Claims on copies of the markers. So a copy of an id in the batch is in flight, as in a claim.
Status MemoryWindow::Judge(std::span<const ClaimRequest> requests, std::span<ClaimAnswer> answers) {
  if (Status fit = CheckBatch(capabilities_, requests, answers.size()); !fit) {
    return fit;
  }
  MutexLock lock(mutex_);
  const BootTime now = clock_.Boot();
  finished_.set_now(now);
  MarkerEngine<Finished> copies(capabilities_.level, capabilities_.times, {}, finished_);
  copies.set_now(now);
  const auto copy_owner = [&](const Coordinates& at) REQUIRES(mutex_) {
    if (const OwnerRecord* owner = engine_.owners().Find(at); owner != nullptr) {
      copies.owners().Restore(at.source, at.partition, owner->owner_epoch, owner->raised_at);
    }
  };
  for (size_t i = 0; i < requests.size(); i++) {
    const Found found = Locate(requests[i].id, requests[i].at);
    const Marker* marker = engine_.markers().Find(found.hash, found.id, found.within);
    copy_owner(requests[i].at);
    if (marker != nullptr && copies.markers().Find(found.hash, found.id, found.within) == nullptr) {
      copy_owner(marker->at);
      copies.Load(found, *marker);
    }
    copies.One(requests[i], found, answers[i]);
  }
  return {};
}

Status MemoryWindow::Park(std::span<const ParkRequest> requests, std::span<MarkerChange> answers) {
  if (Status fit = CheckBatch(capabilities_, requests, answers.size()); !fit) {
    return fit;
  }
  MutexLock lock(mutex_);
  const Status room = engine_.RoomToPark(
      requests, [&](size_t i) { return Locate(requests[i].id, requests[i].at); });
  return room ? Apply(requests, answers) : room;
}

Status MemoryWindow::Complete(std::span<const CompleteRequest> requests,
                              std::span<MarkerChange> answers) {
  if (Status fit = CheckBatch(capabilities_, requests, answers.size()); !fit) {
    return fit;
  }
  MutexLock lock(mutex_);
  return Apply(requests, answers);
}

Status MemoryWindow::Release(std::span<const ReleaseRequest> requests,
                             std::span<MarkerChange> answers) {
  if (Status fit = CheckBatch(capabilities_, requests, answers.size()); !fit) {
    return fit;
  }
  MutexLock lock(mutex_);
  return Apply(requests, answers);
}

Status MemoryWindow::Renew(std::span<const RenewRequest> requests,
                           std::span<MarkerChange> answers) {
  if (Status fit = CheckBatch(capabilities_, requests, answers.size()); !fit) {
    return fit;
  }
  MutexLock lock(mutex_);
  return Apply(requests, answers);
}

Status MemoryWindow::Restore(std::span<const RestoreRequest> requests,
                             std::span<MarkerChange> answers) {
  if (Status fit = CheckBatch(capabilities_, requests, answers.size()); !fit) {
    return fit;
  }
  MutexLock lock(mutex_);
  return Apply(requests, answers);
}

Status MemoryWindow::Peek(std::span<const std::string_view> ids, std::span<MarkerView> views) {
  if (Status fit = CheckBatch(capabilities_, ids, views.size()); !fit) {
    return fit;
  }
  MutexLock lock(mutex_);
  const BootTime now = clock_.Boot();
  engine_.set_now(now);
  finished_.set_now(now);
  for (size_t i = 0; i < ids.size(); i++) {
    views[i] = MarkerView{};
    for (const auto& [source, partition] : partitions_) {
      const Coordinates at{source, partition};
      MarkerView view;
      engine_.One(ids[i], Locate(ids[i], at), view);
      views[i] = view.state != MarkerState::kNone ? view : views[i];
    }
    views[i].uncertain |= views[i].state != MarkerState::kNone && uncertain_.Has(ids[i]);
  }
  return {};
}

Status MemoryWindow::RecordUncertain(std::span<const UncertainCall> calls) {
  MutexLock lock(mutex_);
  uncertain_.Record(calls, clock_.Wall());
  return {};
}

Result<std::vector<UncertainRecord>> MemoryWindow::ListUncertain(WallTime since) {
  MutexLock lock(mutex_);
  return uncertain_.Since(since);
}

Result<std::unique_ptr<Window>> OpenMemoryWindow(const MemoryWindowOptions& options,
                                                 const Clock& clock) {
  if (Status fit = CheckPromise(options.level, options.times, "memory"); !fit) {
    return fit.error();
  }
  if (options.remember == 0 || options.remember > kMaxCount) {
    return InvalidRequest("remember must be 1 to " + std::to_string(kMaxCount));
  }
  if (options.max_open == 0 || options.max_open > kMaxCount) {
    return InvalidRequest("max_open must be 1 to " + std::to_string(kMaxCount));
  }
  if (options.max_parked == 0 || options.max_parked > kMaxCount) {
    return InvalidRequest("max_parked must be 1 to " + std::to_string(kMaxCount));
  }
  auto window = std::make_unique<MemoryWindow>(options, clock);
  if (!window->allocated()) {
    return Error{Code::kFull, Effect::kNone,
                 "no memory for two tables of " + std::to_string(options.remember) + " ids"};
  }
  return std::unique_ptr<Window>(std::move(window));
}

}  // namespace oncemq
