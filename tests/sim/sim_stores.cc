// SPDX-License-Identifier: Apache-2.0
#include "sim_stores.h"

#include <algorithm>
#include <utility>

#include "oncemq/base/hash.h"
#include "window_check.h"

namespace oncemq::sim {
namespace {

enum class Sync : int64_t { kNever, kEachCommit, kEachBatch };

const Error kNotOpen{Code::kUnavailable, Effect::kNone, "the partition's store is not open"};
const Error kBusy{Code::kUnavailable, Effect::kNone, "busy"};

WindowTimes TimesOf(const Config& config) {
  const auto milli = [](Micros micros) { return milliseconds(micros / kMilli); };
  return {milli(config.lease), milli(config.max_lease), milli(config.handler_timeout)};
}

// What a request is told whose partition has no open store here: it is not ours.
void Refuse(ClaimAnswer& answer) {
  answer = ClaimAnswer{};
  answer.answer = Answer::kFenced;
}
void Refuse(Change& answer) {
  answer = Change::kFenced;
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

int64_t SumAt(const StoreState& store, std::string_view key) {
  const auto row = store.effects.find(key);
  return row == store.effects.end() ? 0 : SumOf(row->second).value_or(-1);
}

// One open store. What a call changes is staged, seen by the rest of the call, and written as one
// batch.
class SimStores::Store {
 public:
  // What the engine asks of the store.
  class Finished {
   public:
    explicit Finished(Store& store) : store_(store) {}
    std::optional<DoneRow> Find(const Found& at) const {
      const auto staged = store_.staged_done_.find(at.id);
      if (staged != store_.staged_done_.end()) {
        return staged->second;
      }
      const auto row = store_.file_.now().done.find(at.id);
      return row == store_.file_.now().done.end() ? std::nullopt : std::optional(row->second);
    }
    bool CompletedBy(const DoneRow& row, const Token& token) const { return row.token == token; }
    LogTime horizon() const { return store_.file_.now().horizon; }
    void Append(const Found& at, const Finishing& finishing);
    void Keep(const Found& at, Marker& marker);
    void Forget(const Found& at, const Marker& marker);

   private:
    Store& store_;
  };

  Store(SimStoreFile& file, const Tools& tools, uint64_t incarnation);

  SimStoreFile& file() { return file_; }
  MarkerEngine<Finished>& engine() { return engine_; }
  bool failed() const { return failed_; }
  void Fail() { failed_ = true; }
  LogTime Wall() const { return LogTime(milliseconds(tools_.clock.Wall().micros / 1000)); }
  void set_now() { engine_.set_now(tools_.clock.Boot()); }
  void Stage(std::function<void(StoreState&)> change) { batch_.push_back(std::move(change)); }
  bool staged() const { return !batch_.empty(); }
  bool kept() const { return kept_; }
  // `lands`: false for a write that fails and is not there.
  void Write(bool sync, bool lands = true);
  Known Knows() const;
  void Note(const Progress& progress);
  void ForgetAged();

  std::optional<Progress> progress;

 private:
  friend class Finished;
  SimStoreFile& file_;
  const Tools& tools_;
  Finished finished_{*this};
  MarkerEngine<Finished> engine_;
  StoreBatch batch_;
  std::map<std::string, DoneRow, std::less<>> staged_done_;
  bool kept_ = false;
  bool failed_ = false;
};

SimStores::Store::Store(SimStoreFile& file, const Tools& tools, uint64_t incarnation)
    : file_(file),
      tools_(tools),
      engine_(LevelOf(tools.config), TimesOf(tools.config), {100'000, 100'000}, finished_) {
  Stage([incarnation](StoreState& state) {
    if (state.incarnation != 0) {
      state.earlier.push_back(state.incarnation);
    }
    state.incarnation = incarnation;
  });
  Write(/*sync=*/true);
  for (const auto& [id, row] : file_.now().kept) {
    Marker marker = row;
    marker.stored = true;
    if (marker.state == MarkerState::kOpen) {
      // Judged by incarnation, not by a clock: its process is gone (rule 13).
      marker.uncertain |= marker.held;
      marker.held = false;
    }
    engine_.Load({id, StableHash(id), 0}, marker);
  }
}

void SimStores::Store::Finished::Append(const Found& at, const Finishing& finishing) {
  LogTime latest = store_.Wall();
  if (store_.progress && store_.progress->watermark != kNoLogTime) {
    latest = std::max(latest, store_.progress->watermark);
  }
  DoneRow row{
      .at = finishing.at,
      .token = finishing.token,
      .fingerprint = finishing.fingerprint,
      .result = std::string(finishing.result),
      .time = finishing.time == kNoLogTime ? store_.Wall() : std::min(finishing.time, latest)};
  store_.staged_done_.insert_or_assign(std::string(at.id), row);
  store_.Stage([id = std::string(at.id), row = std::move(row)](StoreState& state) {
    state.done.insert_or_assign(id, row);
  });
}

void SimStores::Store::Finished::Keep(const Found& at, Marker& marker) {
  const bool opaque = LevelOf(store_.tools_.config) == Level::kOpaque;
  if (marker.state == MarkerState::kOpen && !marker.uncertain && !opaque) {
    return;
  }
  marker.stored = store_.kept_ = true;
  store_.Stage([id = std::string(at.id), marker](StoreState& state) {
    state.kept.insert_or_assign(id, marker);
  });
}

void SimStores::Store::Finished::Forget(const Found& at, const Marker& marker) {
  if (marker.stored) {
    store_.Stage([id = std::string(at.id)](StoreState& state) { state.kept.erase(id); });
  }
}

void SimStores::Store::Write(bool sync, bool lands) {
  if (lands) {
    file_.Write(std::exchange(batch_, {}), sync);
  }
  batch_.clear();
  staged_done_.clear();
  kept_ = false;
}

Known SimStores::Store::Knows() const {
  const StoreState& state = file_.now();
  Known known;
  known.from = state.from;
  known.to = state.to;
  known.offset = state.offset;
  known.metadata = state.metadata;
  known.incarnation = state.incarnation;
  known.earlier = state.earlier;
  return known;
}

void SimStores::Store::Note(const Progress& noted) {
  progress = noted;
  if (noted.watermark != kNoLogTime) {
    progress->watermark = std::clamp(noted.watermark, LogTime(milliseconds(0)), Wall());
  }
  Stage([named = noted.incarnation](StoreState& state) {
    // The commit is of that opening: none before it matters any more.
    const auto last = std::find(state.earlier.begin(), state.earlier.end(), named);
    if (named == state.incarnation) {
      state.earlier.clear();
    } else if (last != state.earlier.end()) {
      state.earlier.erase(state.earlier.begin(), last);
    }
  });
  Write(/*sync=*/false);
  ForgetAged();
}

// One by one, as early as it may: the product forgets whole generations, so never earlier.
void SimStores::Store::ForgetAged() {
  if (tools_.config.remember_for == 0 || progress->watermark == kNoLogTime) {
    return;
  }
  const LogTime limit = progress->watermark - milliseconds(tools_.config.remember_for / kMilli);
  std::vector<std::string> aged;
  LogTime newest = file_.now().horizon;
  for (const auto& [id, row] : file_.now().done) {
    if (row.time < limit && row.at.offset < progress->frontier) {
      aged.push_back(id);
      newest = std::max(newest, row.time + milliseconds(1));
    }
  }
  if (aged.empty()) {
    return;
  }
  tools_.sometimes.Count(Situation::kAged);
  Stage([newest](StoreState& state) { state.horizon = newest; });
  Write(/*sync=*/true);
  Stage([aged = std::move(aged)](StoreState& state) {
    for (const std::string& id : aged) {
      state.done.erase(id);
    }
  });
  Write(/*sync=*/false);
}

SimStores::SimStores(ActorId actor, SimDisk& disk, Tools tools)
    : actor_(actor),
      disk_(disk),
      tools_(std::move(tools)),
      capabilities_{.engine = "simulated disk",
                    .level = LevelOf(tools_.config),
                    .durable = true,
                    .leases_by_clock = true,
                    .atomic = true,
                    .ages = true,
                    .by_partition = true},
      rng_(static_cast<uint64_t>(tools_.config.seed) * 613 + actor, "stores") {}

SimStores::~SimStores() = default;

Result<Known> SimStores::Open(const StoreName& name) {
  SimStoreFile& file = disk_.At(name.partition);
  if (file.holder() != kWorld && file.holder() != actor_) {
    tools_.sometimes.Count(Situation::kStoreHeld);
    return Error{Code::kUnavailable, Effect::kNone, "another process holds the store"};
  }
  if (!tools_.healed && rng_.Chance(tools_.config.store_busy)) {
    return kBusy;
  }
  std::unique_ptr<Store>& store = open_[name.partition];
  if (store == nullptr || store->failed() || file.holder() == kWorld) {
    file.Hold(actor_);
    store = std::make_unique<Store>(file, tools_, rng_.Next() | 1);
    store->engine().owners().Restore(name.source, name.partition, file.now().own,
                                     tools_.clock.Boot());
  }
  return store->Knows();
}

void SimStores::Close(uint32_t, int32_t partition) {
  if (open_.erase(partition) > 0 && disk_.At(partition).holder() == actor_) {
    disk_.At(partition).Hold(kWorld);
  }
}

Result<SimStores::Store*> SimStores::Find(int32_t partition) {
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
    found->second = std::make_unique<Store>(disk_.At(partition), tools_, rng_.Next() | 1);
    found->second->progress = progress;
    found->second->engine().owners().Restore(0, partition, disk_.At(partition).now().own,
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
Status SimStores::ApplyTo(Store& store, std::span<const Request> requests,
                          std::span<Reply> replies) {
  store.set_now();
  for (size_t i = 0; i < requests.size(); i++) {
    store.engine().One(requests[i], {requests[i].id, StableHash(requests[i].id), i}, replies[i]);
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
Status SimStores::Complete(std::span<const CompleteRequest> requests, std::span<Change> answers) {
  return Apply(requests, answers);
}
Status SimStores::Release(std::span<const ReleaseRequest> requests, std::span<Change> answers) {
  return Apply(requests, answers);
}
Status SimStores::Park(std::span<const ParkRequest> requests, std::span<Change> answers) {
  return Apply(requests, answers);
}
Status SimStores::Renew(std::span<const RenewRequest> requests, std::span<Change> answers) {
  return Apply(requests, answers);
}
Status SimStores::Restore(std::span<const RestoreRequest> requests, std::span<Change> answers) {
  return Apply(requests, answers);
}

Result<std::unique_ptr<EffectBatch>> SimStores::NewEffects(uint32_t, int32_t partition) {
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
      }));
}

Status SimStores::CompleteWith(EffectBatch& effects, std::span<const CompleteRequest> requests,
                               std::span<Change> answers) {
  const auto store = Find(requests.front().at.partition);
  if (!store) {
    return store.error();
  }
  const bool all =
      *store != nullptr && std::all_of(requests.begin(), requests.end(), [&](const auto& request) {
        return (*store)->engine().WouldComplete(request, {request.id, StableHash(request.id), 0});
      });
  if (!all) {
    std::fill_n(answers.begin(), requests.size(), Change::kFenced);
    return {};
  }
  auto& overlay = static_cast<EffectOverlay&>(effects);
  const auto& present = (*store)->file().now().effects;
  const auto rows = overlay.Rows([&](std::string_view key) -> Result<std::optional<std::string>> {
    const auto row = present.find(key);
    return row == present.end() ? std::nullopt : std::optional(row->second);
  });
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
  const auto& done = disk_.At(requests.front().at.partition).now().done;
  for (const CompleteRequest& request : requests) {
    const auto row = done.find(request.id);
    if (row != done.end() && row->second.token == request.token) {
      tools_.took_effect(request);
    }
  }
  return written;
}

Result<Own> SimStores::RaiseOwn(uint32_t source, int32_t partition, Own floor) {
  const auto store = Find(partition);
  if (!store || *store == nullptr) {
    return store ? kNotOpen : store.error();
  }
  const Own own = (*store)->engine().owners().Raise(source, partition, floor, tools_.clock);
  (*store)->Stage([own](StoreState& state) { state.own = own; });
  (*store)->Write(/*sync=*/true);
  return own;
}

Status SimStores::Announce(std::span<const Announcement> announcements) {
  for (const Announcement& one : announcements) {
    const auto store = Find(one.partition);
    if (!store || *store == nullptr) {
      return store ? kNotOpen : store.error();
    }
    (*store)->Stage([from = one.from, to = one.to, offset = one.offset,
                     metadata = std::string(one.metadata)](StoreState& state) {
      state.from = from;
      state.to = to;
      state.offset = offset;
      state.metadata = metadata;
    });
    (*store)->Write(tools_.config.sync != static_cast<int64_t>(Sync::kNever));
  }
  return {};
}

Status SimStores::Committed(std::span<const Progress> progress, std::span<Change> answers) {
  for (size_t i = 0; i < progress.size(); i++) {
    const auto store = Find(progress[i].partition);
    if (!store) {
      return store.error();
    }
    const Coordinates at{progress[i].source, progress[i].partition, progress[i].frontier};
    const bool holds = *store != nullptr && progress[i].own != 0 &&
                       OwnershipHolds(progress[i].own, (*store)->engine().owners().Find(at));
    answers[i] = holds ? Change::kMade : Change::kFenced;
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
