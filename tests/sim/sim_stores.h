// SPDX-License-Identifier: Apache-2.0
// SimStores: what a process sees of the stores on its host's disk: the contract of the window on
// disk (one store for each partition), with the product's own marker rules and effect batches. A
// write may fail: then it is there or not, and the store has to be opened again, as the product's
// does.
//
// Thread safety: none; the disk outlives it.
#pragma once

#include <map>
#include <memory>

#include "config.h"
#include "sim_store.h"

namespace oncemq::sim {

class SimStores final : public Window {
 public:
  SimStores(ActorId actor, SimDisk& disk, StoreTools tools);
  ~SimStores() override;

  const WindowCapabilities& capabilities() const override { return capabilities_; }
  Result<StoreKnowledge> Open(const StoreName& name) override;
  void Close(uint32_t source, int32_t partition) override;
  Result<OwnerEpoch> RaiseOwnerEpoch(uint32_t source, int32_t partition, OwnerEpoch floor) override;
  Status Claim(std::span<const ClaimRequest> requests, std::span<ClaimAnswer> answers) override;
  Status Complete(std::span<const CompleteRequest> requests,
                  std::span<MarkerChange> answers) override;
  Result<std::unique_ptr<EffectBatch>> NewEffects(uint32_t source, int32_t partition,
                                                  std::span<const ClaimRequest> granted) override;
  Status CompleteWith(EffectBatch& effects, std::span<const CompleteRequest> requests,
                      std::span<MarkerChange> answers) override;
  Status Release(std::span<const ReleaseRequest> requests,
                 std::span<MarkerChange> answers) override;
  Status Park(std::span<const ParkRequest> requests, std::span<MarkerChange> answers) override;
  Status Renew(std::span<const RenewRequest> requests, std::span<MarkerChange> answers) override;
  Status Restore(std::span<const RestoreRequest> requests,
                 std::span<MarkerChange> answers) override;
  Status Announce(std::span<const Announcement> announcements) override;
  Status Committed(std::span<const Progress> progress, std::span<MarkerChange> answers) override;
  Status Peek(std::span<const std::string_view> ids, std::span<MarkerView> views) override;

 private:
  // nullptr: not open here, so not ours.
  Result<OpenStore*> Find(int32_t partition);
  template <class Request, class Reply>
  Status Apply(std::span<const Request> requests, std::span<Reply> replies);
  template <class Request, class Reply>
  Status ApplyTo(OpenStore& store, std::span<const Request> requests, std::span<Reply> replies);

  const ActorId actor_;
  SimDisk& disk_;
  const StoreTools tools_;
  const WindowCapabilities capabilities_;
  Rng rng_;
  std::map<int32_t, std::unique_ptr<OpenStore>> open_;
};

}  // namespace oncemq::sim
