// SPDX-License-Identifier: Apache-2.0
#include "sim_stores.h"

#include <algorithm>
#include <utility>

#include "effect_overlay.h"
#include "sim_store.h"

namespace oncemq::sim {
namespace {

enum class Sync : int64_t { kNever, kEachCommit, kEachBatch };

const Error kNotOpen{Code::kUnavailable, Effect::kNone, "the partition's store is not open"};
const Error kBusy{Code::kUnavailable, Effect::kNone, "busy"};

// What a request is told whose partition has no open store here: it is not ours.
void Refuse(ClaimAnswer& answer) {
  answer = ClaimAnswer{};
  answer.answer = ClaimVerdict::kFenced;
}
void Refuse(MarkerChange& answer) {
  answer = MarkerChange::kFenced;
}

template <class Request>
int32_t PartitionOf(const Request& request) {
  if constexpr (requires { request.at; }) {
    return request.at.partition;
  } else {
    return request.partition;
  }
}

}  // namespace

SimStores::SimStores(ActorId actor, SimDisk& disk, StoreTools tools)
    : actor_(actor),
      disk_(disk),
      tools_(std::move(tools)),
      capabilities_{.engine = "simulated disk",
                    .level = LevelOf(tools_.config),
                    .durable = true,
                    .leases_by_clock = true,
                    .atomic = true,
                    .ages = true,
                    .by_partition = true,
                    .keeps_history = true},
      rng_(static_cast<uint64_t>(tools_.config.seed) * 613 + actor, "stores") {}

SimStores::~SimStores() = default;

Result<StoreKnowledge> SimStores::Open(const StoreName& name) {
  SimStoreFile& file = disk_.At(name.partition);
  if (file.holder() != kWorld && file.holder() != actor_) {
    tools_.sometimes.Count(Situation::kStoreHeld);
    return Error{Code::kUnavailable, Effect::kNone, "another process holds the store"};
  }
  if (!tools_.healed && rng_.Chance(tools_.config.store_busy)) {
    return kBusy;
  }
  const std::string& owner = file.now().owner;
  if (!owner.empty() && owner != name.owner) {
    return Error{Code::kInvalid, Effect::kNone, "the directory belongs to \"" + owner + "\""};
  }
  std::unique_ptr<OpenStore>& store = open_[name.partition];
  if (store == nullptr || store->failed() || file.holder() == kWorld) {
    file.Hold(actor_);
    store = std::make_unique<OpenStore>(name.partition, file, tools_, rng_.Next() | 1);
    store->Stage([owner = std::string(name.owner)](StoreState& state) { state.owner = owner; });
    store->Write(/*sync=*/true);
    store->engine().owners().Restore(name.source, name.partition, file.now().owner_epoch,
                                     tools_.clock.Boot());
  }
  StoreKnowledge known = store->Knows();
  known.source = name.source;
  return known;
}

void SimStores::Close(uint32_t, int32_t partition) {
  const auto found = open_.find(partition);
  if (found == open_.end()) {
    return;
  }
  if (disk_.At(partition).holder() == actor_) {
    if (!found->second->failed()) {
      found->second->EndForgetting();
    }
    disk_.At(partition).Hold(kWorld);
  }
  open_.erase(found);
}

Result<OpenStore*> SimStores::Find(int32_t partition) {
  const auto found = open_.find(partition);
  if (found == open_.end() || disk_.At(partition).holder() != actor_) {
    return nullptr;
  }
  if (!tools_.healed && rng_.Chance(tools_.config.store_busy)) {
    return kBusy;
  }
  if (found->second->failed()) {
    tools_.sometimes.Count(Situation::kStoreReopened);
    const auto progress = found->second->progress;
    found->second =
        std::make_unique<OpenStore>(partition, disk_.At(partition), tools_, rng_.Next() | 1);
    found->second->progress = progress;
    found->second->engine().owners().Restore(0, partition, disk_.At(partition).now().owner_epoch,
                                             tools_.clock.Boot());
  }
  return found->second.get();
}

template <class Request, class Reply>
Status SimStores::Apply(std::span<const Request> requests, std::span<Reply> replies) {
  if (requests.empty()) {
    return {};
  }
  const auto store = Find(PartitionOf(requests.front()));
  if (!store) {
    return store.error();
  }
  if (*store != nullptr) {
    return ApplyTo(**store, requests, replies);
  }
  for (size_t i = 0; i < requests.size(); i++) {
    Refuse(replies[i]);
  }
  return {};
}

template <class Request, class Reply>
Status SimStores::ApplyTo(OpenStore& store, std::span<const Request> requests,
                          std::span<Reply> replies) {
  store.set_now();
  for (size_t i = 0; i < requests.size(); i++) {
    store.engine().One(requests[i], {requests[i].id, IdHashOf(tools_.config, requests[i].id), i},
                       replies[i]);
  }
  if (!store.staged()) {
    return {};
  }
  const bool sync = tools_.config.sync == static_cast<int64_t>(Sync::kEachBatch) ||
                    (tools_.config.sync == static_cast<int64_t>(Sync::kEachCommit) && store.kept());
  if (!tools_.healed && rng_.Chance(tools_.config.store_fails)) {
    store.Write(sync, rng_.Chance(500));
    store.Fail();
    return Error{Code::kUnavailable, Effect::kUnknown, "the disk failed"};
  }
  store.Write(sync);
  return {};
}

Status SimStores::Claim(std::span<const ClaimRequest> requests, std::span<ClaimAnswer> answers) {
  return Apply(requests, answers);
}
Status SimStores::Complete(std::span<const CompleteRequest> requests,
                           std::span<MarkerChange> answers) {
  return Apply(requests, answers);
}
Status SimStores::Release(std::span<const ReleaseRequest> requests,
                          std::span<MarkerChange> answers) {
  return Apply(requests, answers);
}
Status SimStores::Park(std::span<const ParkRequest> requests, std::span<MarkerChange> answers) {
  return Apply(requests, answers);
}
Status SimStores::Renew(std::span<const RenewRequest> requests, std::span<MarkerChange> answers) {
  return Apply(requests, answers);
}
Status SimStores::Restore(std::span<const RestoreRequest> requests,
                          std::span<MarkerChange> answers) {
  return Apply(requests, answers);
}

Result<std::unique_ptr<EffectBatch>> SimStores::NewEffects(uint32_t, int32_t partition,
                                                           std::span<const ClaimRequest>) {
  const auto store = Find(partition);
  if (!store || *store == nullptr) {
    return store ? kNotOpen : store.error();
  }
  return std::unique_ptr<EffectBatch>(std::make_unique<EffectOverlay>(
      [this, partition](std::string_view key) -> Result<std::optional<std::string>> {
        const auto open = open_.find(partition);
        if (open == open_.end() || disk_.At(partition).holder() != actor_) {
          return kNotOpen;
        }
        const auto& rows = disk_.At(partition).now().effects;
        const auto row = rows.find(key);
        return row == rows.end() ? std::nullopt : std::optional(row->second);
      },
      this));
}

Status SimStores::CompleteWith(EffectBatch& effects, std::span<const CompleteRequest> requests,
                               std::span<MarkerChange> answers) {
  const auto made = EffectOverlay::Of(effects, this);
  if (!made) {
    return made.error();
  }
  const auto store = Find(requests.front().at.partition);
  if (!store) {
    return store.error();
  }
  const bool all =
      *store != nullptr && std::all_of(requests.begin(), requests.end(), [&](const auto& request) {
        return (*store)->engine().WouldComplete(
            request, {request.id, IdHashOf(tools_.config, request.id), 0});
      });
  const EffectOverlay& overlay = **made;
  const auto read = [&](std::string_view key) -> Result<std::optional<std::string>> {
    const auto& present = (*store)->file().now().effects;
    const auto row = present.find(key);
    return row == present.end() ? std::nullopt : std::optional(row->second);
  };
  if (!all || !*overlay.Holds(read)) {
    std::fill_n(answers.begin(), requests.size(), MarkerChange::kFenced);
    return {};
  }
  const auto rows = overlay.Rows(read);
  if (!rows) {
    return rows.error();
  }
  for (const EffectOverlay::Row& row : *rows) {
    (*store)->Stage([key = std::string(row.key), value = row.value](StoreState& state) {
      if (value) {
        state.effects.insert_or_assign(key, *value);
      } else {
        state.effects.erase(key);
      }
    });
  }
  const Status written = ApplyTo(**store, requests, answers);
  const StoreState& state = disk_.At(requests.front().at.partition).now();
  for (const CompleteRequest& request : requests) {
    const DoneRow* row = state.Find(request.id);
    if (row != nullptr && row->token == request.token) {
      tools_.took_effect(request);
    }
  }
  return written;
}

Result<OwnerEpoch> SimStores::RaiseOwnerEpoch(uint32_t source, int32_t partition,
                                              OwnerEpoch floor) {
  const auto store = Find(partition);
  if (!store || *store == nullptr) {
    return store ? kNotOpen : store.error();
  }
  const OwnerEpoch owner_epoch =
      (*store)->engine().owners().Raise(source, partition, floor, tools_.clock);
  (*store)->Stage([owner_epoch](StoreState& state) { state.owner_epoch = owner_epoch; });
  (*store)->Write(/*sync=*/true);
  return owner_epoch;
}

Status SimStores::Announce(std::span<const Announcement> announcements) {
  for (const Announcement& one : announcements) {
    const auto store = Find(one.partition);
    if (!store || *store == nullptr) {
      return store ? kNotOpen : store.error();
    }
    if (one.commits) {
      (*store)->Stage([from = one.from, to = one.to, offset = one.offset,
                       metadata = std::string(one.metadata)](StoreState& state) {
        state.from = from;
        state.to = to;
        state.offset = offset;
        state.metadata = metadata;
      });
    }
    (*store)->Write(!one.commits || tools_.config.sync != static_cast<int64_t>(Sync::kNever));
  }
  return {};
}

Status SimStores::Committed(std::span<const Progress> progress, std::span<MarkerChange> answers) {
  for (size_t i = 0; i < progress.size(); i++) {
    const auto store = Find(progress[i].partition);
    if (!store) {
      return store.error();
    }
    const Coordinates at{progress[i].source, progress[i].partition, progress[i].frontier};
    const bool holds =
        *store != nullptr && progress[i].owner_epoch != 0 &&
        OwnershipHolds(progress[i].owner_epoch, (*store)->engine().owners().Find(at));
    answers[i] = holds ? MarkerChange::kMade : MarkerChange::kFenced;
    if (holds) {
      (*store)->Note(progress[i]);
    }
  }
  return {};
}

Status SimStores::Peek(std::span<const std::string_view>, std::span<MarkerView>) {
  return kNotOpen;  // nobody in the simulator looks at a store in passing
}

}  // namespace oncemq::sim
