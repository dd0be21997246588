// SPDX-License-Identifier: Apache-2.0
// MemoryWindow: the engine behind OpenMemoryWindow(). Apart from its hash, which tests replace, all
// of it is private.
//
// Thread safety: any thread; one lock around each batch.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include "done_ids.h"
#include "marker_engine.h"
#include "oncemq/base/hash.h"
#include "oncemq/base/mutex.h"
#include "oncemq/dedup/memory_window.h"
#include "uncertain_calls.h"

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
  Result<OwnerEpoch> RaiseOwnerEpoch(uint32_t source, int32_t partition, OwnerEpoch floor) override;
  Status Claim(std::span<const ClaimRequest> requests, std::span<ClaimAnswer> answers) override;
  Status Judge(std::span<const ClaimRequest> requests, std::span<ClaimAnswer> answers) override;
  Status Complete(std::span<const CompleteRequest> requests,
                  std::span<MarkerChange> answers) override;
  Status Release(std::span<const ReleaseRequest> requests,
                 std::span<MarkerChange> answers) override;
  Status Park(std::span<const ParkRequest> requests, std::span<MarkerChange> answers) override;
  Status Renew(std::span<const RenewRequest> requests, std::span<MarkerChange> answers) override;
  Status Restore(std::span<const RestoreRequest> requests,
                 std::span<MarkerChange> answers) override;
  Status Peek(std::span<const std::string_view> ids, std::span<MarkerView> views) override;
  Status RecordUncertain(std::span<const UncertainCall> calls) override;
  Result<std::vector<UncertainRecord>> ListUncertain(WallTime since) override;

 private:
  // Finished ids of the engine, in memory.
  class Finished {
   public:
    explicit Finished(DoneIds& done) : done_(done) {}
    void set_now(BootTime now) { now_ = now; }
    std::optional<DoneRecord> Find(const Found& at) const {
      return done_.Find(at.hash, at.id, now_, at.within);
    }
    bool CompletedBy(const DoneRecord& done, const Token& token) const {
      return done.token == token;
    }
    void Append(const Found& at, const Finishing& finishing) {
      const bool ends = finishing.keep != milliseconds(0) && finishing.keep != kForEver;
      done_.Append(at.hash, at.id,
                   {finishing.at, finishing.token, finishing.fingerprint, finishing.result,
                    ends ? now_ + finishing.keep : BootTime::max()});
    }
    void Seen(const Found&, const DoneRecord&, LogTime) {}
    // It forgets by number: a claim below the horizon cannot be told from a new one.
    LogTime horizon() const { return LogTime::min(); }
    void Keep(const Found&, Marker&) {}
    void Forget(const Found&, const Marker&) {}

   private:
    DoneIds& done_;
    BootTime now_ = BootTime::min();
  };

  // Looks up each request of a batch and gives it to the engine, in order.
  template <class Request, class Reply>
  Status Apply(std::span<const Request> requests, std::span<Reply> replies) REQUIRES(mutex_);
  // Where partitions own their ids `at` decides, too, and has to outlive the answer.
  Found Locate(std::string_view id, const Coordinates& at) const;
  void NotePartition(const Coordinates& at) REQUIRES(mutex_);

  const WindowCapabilities capabilities_;
  const Clock& clock_;
  const IdHash hash_;
  bool allocated_;

  mutable Mutex mutex_;
  DoneIds done_ GUARDED_BY(mutex_);
  Finished finished_ GUARDED_BY(mutex_);
  MarkerEngine<Finished> engine_ GUARDED_BY(mutex_);
  UncertainCalls uncertain_ GUARDED_BY(mutex_);
  // That a look by the id alone has to ask: where partitions own their ids, all that had any.
  using Partition = std::pair<uint32_t, int32_t>;
  std::set<Partition> partitions_ GUARDED_BY(mutex_){{0, kNoPartition}};
  std::array<Partition, 64> noted_ GUARDED_BY(mutex_){};  // some of these, found without a search
};

}  // namespace oncemq
