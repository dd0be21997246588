// SPDX-License-Identifier: Apache-2.0
// MemoryWindow: the engine behind OpenMemoryWindow(). Apart from its hash, which tests replace, all
// of it is private.
//
// Thread safety: any thread; one lock around each batch.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "done_ids.h"
#include "marker_rules.h"
#include "marker_table.h"
#include "oncemq/base/hash.h"
#include "oncemq/base/mutex.h"
#include "oncemq/dedup/memory_window.h"
#include "owners.h"

namespace oncemq {

using IdHash = uint64_t (*)(std::string_view id);

class MemoryWindow final : public Window {
 public:
  // Precondition: the options are valid. `clock` outlives the window.
  MemoryWindow(const MemoryWindowOptions& options, const Clock& clock, IdHash hash = ProcessHash);

  // False if the system gave no memory: the window must not be used.
  bool allocated() const { return allocated_; }
  size_t memory_bytes() const;

  const WindowCapabilities& capabilities() const override { return capabilities_; }
  Result<Own> RaiseOwn(uint32_t source, int32_t partition, Own floor) override;
  Status Claim(std::span<const ClaimRequest> requests, std::span<ClaimAnswer> answers) override;
  Status Complete(std::span<const CompleteRequest> requests, std::span<Change> answers) override;
  Status Release(std::span<const ReleaseRequest> requests, std::span<Change> answers) override;
  Status Park(std::span<const ParkRequest> requests, std::span<Change> answers) override;
  Status Renew(std::span<const RenewRequest> requests, std::span<Change> answers) override;
  Status Restore(std::span<const RestoreRequest> requests, std::span<Change> answers) override;
  Status Peek(std::span<const std::string_view> ids, std::span<MarkerView> views) override;

 private:
  struct Found {  // one id of a batch
    std::string_view id;
    uint64_t hash;
  };

  // Looks up each request of a batch and gives it to `One`, in order.
  template <auto One, class Request, class Reply>
  Status Apply(std::span<const Request> requests, std::span<Reply> replies) REQUIRES(mutex_);

  void ClaimOne(const ClaimRequest& request, const Found& at, ClaimAnswer& answer) REQUIRES(mutex_);
  void CompleteOne(const CompleteRequest& request, const Found& at, Change& answer)
      REQUIRES(mutex_);
  void ReleaseOne(const ReleaseRequest& request, const Found& at, Change& answer) REQUIRES(mutex_);
  void ParkOne(const ParkRequest& request, const Found& at, Change& answer) REQUIRES(mutex_);
  void RenewOne(const RenewRequest& request, const Found& at, Change& answer) REQUIRES(mutex_);
  void RestoreOne(const RestoreRequest& request, const Found& at, Change& answer) REQUIRES(mutex_);
  void PeekOne(std::string_view id, const Found& at, MarkerView& view) REQUIRES(mutex_);
  bool HasRoomFor(std::span<const ClaimRequest> requests) REQUIRES(mutex_);
  bool HasRoomToPark(std::span<const ParkRequest> requests) REQUIRES(mutex_);
  size_t open() const REQUIRES(mutex_) { return markers_.size() - parked_; }

  const WindowCapabilities capabilities_;
  const MarkerRules rules_;
  const uint32_t max_open_;
  const uint32_t max_parked_;
  const Clock& clock_;
  const IdHash hash_;
  bool allocated_;

  mutable Mutex mutex_;
  BootTime now_ GUARDED_BY(mutex_);  // read once a batch
  DoneIds done_ GUARDED_BY(mutex_);
  MarkerTable markers_ GUARDED_BY(mutex_);  // an id is here or in done_, never in both
  size_t parked_ GUARDED_BY(mutex_) = 0;    // of these; they stay
  Owners owners_ GUARDED_BY(mutex_);
};

}  // namespace oncemq
