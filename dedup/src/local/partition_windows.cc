// SPDX-License-Identifier: Apache-2.0
#include "partition_windows.h"

#include <algorithm>
#include <type_traits>
#include <vector>

#include "../by_partition.h"
#include "../uncertain_calls.h"
#include "../window_check.h"
#include "oncemq/base/topic_name.h"

namespace oncemq {
namespace {

constexpr uint32_t kKeptSource = 0;

// The requests as a store of one partition keeps them. `copies` holds them where that makes a
// difference.
template <class Request>
std::span<const Request> AsKept(std::span<const Request> requests, std::vector<Request>& copies) {
  if (PartitionOf(requests.front()).first == kKeptSource) {
    return requests;
  }
  copies.assign(requests.begin(), requests.end());
  for (Request& copy : copies) {
    if constexpr (requires { copy.at; }) {
      copy.at.source = kKeptSource;
    } else {
      copy.source = kKeptSource;
    }
  }
  return copies;
}

}  // namespace

PartitionWindows::PartitionWindows(const LocalWindowOptions& options, const Clock& clock)
    : capabilities_{.engine = "rocksdb",
                    .level = *options.level,
                    .durable = true,
                    .atomic = true,
                    .ages = true,
                    .by_partition = true,
                    .partition_owned = true,
                    .keeps_history = true,
                    .times = options.times},
      options_(options),
      memory_(NewStoreMemory(options)),
      clock_(clock) {}

Result<StoreKnowledge> PartitionWindows::Open(const StoreName& name) {
  // Anything but a name could be another directory.
  if (!IsTopicName(name.topic) || name.partition < 0) {
    return InvalidRequest("a store belongs to a partition of a topic");
  }
  const SourcePartition where{name.source, name.partition};
  std::shared_ptr<Store> store = StoreAt(where);
  if (store == nullptr) {
    LocalWindowOptions options = options_;
    const std::string number = std::to_string(name.partition);
    options.directory += "/" + std::string(name.topic) + "/" + number;
    options.identity += std::string(options_.identity.empty() ? "" : ", ") +
                        std::string(name.owner) + ", topic " + std::string(name.topic) +
                        ", partition " + number;
    store = std::make_shared<Store>(std::move(options), name.source);
  }
  const auto window = Ready(*store, OpenFor::kAssignment);
  if (!window || *window == nullptr) {
    return window ? PartitionNotOpen() : window.error();
  }
  auto known = (*window)->KnownOf(kKeptSource, name.partition);
  {
    MutexLock lock(mutex_);
    MutexLock its_lock(store->mutex);
    if (store->given_back) {
      return PartitionNotOpen();
    }
    if (known) {
      known->source = name.source;
      known->lost_writes = std::exchange(store->lost_writes, false);
      stores_[where] = store;
    }
  }
  PassAdminSocket(**window);
  return known;
}

void PartitionWindows::SetAdminSocket(const std::string& path) {
  {
    MutexLock lock(mutex_);
    socket_ = path;
  }
  for (const std::shared_ptr<Store>& store : AllStores()) {
    StorePtr window;  // as long as we have it, the store's lock is ours
    {
      MutexLock its_lock(store->mutex);
      window = store->window;
    }
    if (window != nullptr) {
      PassAdminSocket(*window);
    }
  }
}

void PartitionWindows::PassAdminSocket(LocalWindow& store) const {
  std::string socket;
  {
    MutexLock lock(mutex_);
    socket = socket_;
  }
  store.SetAdminSocket(socket);
}

void PartitionWindows::Close(uint32_t source, int32_t partition) {
  std::shared_ptr<Store> store;
  StorePtr last;  // goes when the locks are free: closing takes the disk's time
  MutexLock lock(mutex_);
  if (const auto found = stores_.find({source, partition}); found != stores_.end()) {
    store = std::move(found->second);
    stores_.erase(found);
    MutexLock its_lock(store->mutex);
    store->given_back = true;
    last = std::move(store->window);
  }
}

std::shared_ptr<PartitionWindows::Store> PartitionWindows::StoreAt(SourcePartition where) const {
  MutexLock lock(mutex_);
  const auto found = stores_.find(where);
  return found == stores_.end() ? nullptr : found->second;
}

Result<PartitionWindows::StorePtr> PartitionWindows::Find(SourcePartition where) const {
  const std::shared_ptr<Store> store = StoreAt(where);
  return store == nullptr ? Result<StorePtr>(nullptr) : Ready(*store);
}

// An opening reads and syncs much. Where it fails, as on a full disk, the next but one comes later,
// and each after it later still.
void PartitionWindows::Store::NoteOpening(Status opened, BootTime now) {
  constexpr milliseconds kFirstPause{100};
  constexpr int kMostDoublings = 6;
  failures = opened ? 0 : failures + 1;
  const int doublings = std::min(failures - 2, kMostDoublings);
  next_try = doublings < 0 ? BootTime{} : now + kFirstPause * (1 << doublings);
  last = std::move(opened);
}

Result<PartitionWindows::StorePtr> PartitionWindows::Ready(Store& store, OpenFor whom) const {
  StorePtr failed;
  FormerOpening former;
  {
    MutexLock lock(store.mutex);
    if (store.given_back || (store.window != nullptr && !store.window->failed())) {
      return store.window;
    }
    if (store.opening) {
      return Error{Code::kUnavailable, Effect::kNone, "the partition's store is being opened"};
    }
    const bool lost_writes = !store.last && store.last.error().code == Code::kLostWrites;
    const bool waits = clock_.Boot() < store.next_try;
    if (lost_writes ? whom == OpenFor::kCall : waits) {
      return store.last.error();
    }
    store.opening = true;
    failed = std::move(store.window);
    if (failed != nullptr) {
      store.former.acknowledged = failed->acknowledged();
    }
    former = store.former;
  }
  failed.reset();  // its directory is free once the calls that are under way in it have ended
  auto opened = LocalWindow::OpenAt(store.options, clock_, memory_, former);
  const bool lost_writes = !opened && opened.error().code == Code::kLostWrites;
  if (lost_writes && whom == OpenFor::kAssignment) {
    former.acknowledged = 0;
    opened = LocalWindow::OpenAt(store.options, clock_, memory_, former);
  }
  StorePtr window = opened ? StorePtr(*std::move(opened)) : nullptr;
  bool given_back = false;
  {
    MutexLock lock(store.mutex);
    store.opening = false;
    store.lost_writes |= lost_writes;
    store.NoteOpening(opened ? Status() : Status(opened.error()), clock_.Boot());
    given_back = store.given_back;
    if (!given_back) {
      store.window = window;
      if (window != nullptr) {
        store.former = {window->incarnation(), window->acknowledged()};
      }
    } else {
      window.swap(failed);  // goes when the lock is free
    }
  }
  if (window != nullptr) {
    PassAdminSocket(*window);
  }
  return opened || given_back ? Result<StorePtr>(window) : opened.error();
}

Result<OwnerEpoch> PartitionWindows::RaiseOwnerEpoch(uint32_t source, int32_t partition,
                                                     OwnerEpoch floor) {
  if (partition < 0) {
    return InvalidRequest("only a partition is owned, not number " + std::to_string(partition));
  }
  const auto store = Find({source, partition});
  if (!store) {
    return store.error();
  }
  return *store == nullptr ? Result<OwnerEpoch>(PartitionNotOpen())
                           : (*store)->RaiseOwnerEpoch(kKeptSource, partition, floor);
}

template <class Request, class Reply>
Status PartitionWindows::Send(LocalWindow& store, std::span<const Request> asked,
                              std::span<Reply> replies) {
  std::vector<Request> copies;
  const std::span<const Request> requests = AsKept(asked, copies);
  if constexpr (std::is_same_v<Request, ClaimRequest>) {
    return store.Claim(requests, replies);
  } else if constexpr (std::is_same_v<Request, CompleteRequest>) {
    return store.Complete(requests, replies);
  } else if constexpr (std::is_same_v<Request, ReleaseRequest>) {
    return store.Release(requests, replies);
  } else if constexpr (std::is_same_v<Request, ParkRequest>) {
    return store.Park(requests, replies);
  } else if constexpr (std::is_same_v<Request, RenewRequest>) {
    return store.Renew(requests, replies);
  } else if constexpr (std::is_same_v<Request, RestoreRequest>) {
    return store.Restore(requests, replies);
  } else {
    return store.Committed(requests, replies);
  }
}

template <class Request, class Reply>
Status PartitionWindows::Route(std::span<const Request> requests, std::span<Reply> replies) {
  if constexpr (!std::is_same_v<Request, Progress>) {
    if (Status fit = CheckBatch(capabilities_, requests, replies.size()); !fit) {
      return fit;
    }
  } else if (replies.size() < requests.size()) {
    return InvalidRequest("fewer places for answers than requests");
  }
  return SendByPartition(requests, replies,
                         [this](const SourcePartition& where, std::span<const Request> asked,
                                std::span<Reply> answers) -> Status {
                           const auto store = Find(where);
                           if (!store) {
                             return store.error();
                           }
                           if (*store == nullptr) {
                             RefuseUnopened(answers);
                             return {};
                           }
                           return Send(**store, asked, answers);
                         });
}

Status PartitionWindows::Claim(std::span<const ClaimRequest> requests,
                               std::span<ClaimAnswer> answers) {
  return Route(requests, answers);
}

Status PartitionWindows::Complete(std::span<const CompleteRequest> requests,
                                  std::span<MarkerChange> answers) {
  return Route(requests, answers);
}

// The store may be closed while a handler runs on: it is not held open for that.
Result<std::unique_ptr<EffectBatch>> PartitionWindows::NewEffects(uint32_t source,
                                                                  int32_t partition,
                                                                  std::span<const ClaimRequest>) {
  if (capabilities_.level != Level::kAtomic) {
    return InvalidRequest("the windows were not opened at the level atomic");
  }
  const auto store = Find({source, partition});
  if (!store) {
    return store.error();
  }
  return std::unique_ptr<EffectBatch>(std::make_unique<EffectOverlay>(
      [weak = std::weak_ptr(*store)](std::string_view key) -> Result<std::optional<std::string>> {
        const StorePtr open = weak.lock();
        if (open == nullptr) {
          return PartitionNotOpen();
        }
        return open->ReadEffect(key);
      },
      this));
}

Status PartitionWindows::CompleteWith(EffectBatch& effects,
                                      std::span<const CompleteRequest> requests,
                                      std::span<MarkerChange> answers) {
  const auto overlay = EffectOverlay::Of(effects, this);
  if (!overlay) {
    return overlay.error();
  }
  if (requests.empty()) {
    return NoMarkerForEffects();
  }
  const auto store = Find(PartitionOf(requests.front()));
  if (!store) {
    return store.error();
  }
  if (*store == nullptr) {
    if (answers.size() < requests.size()) {
      return InvalidRequest("fewer places for answers than requests");
    }
    RefuseUnopened(answers.first(requests.size()));
    return {};
  }
  std::vector<CompleteRequest> copies;
  return (*store)->CompleteOverlay(**overlay, AsKept(requests, copies), answers);
}

Status PartitionWindows::Release(std::span<const ReleaseRequest> requests,
                                 std::span<MarkerChange> answers) {
  return Route(requests, answers);
}

Status PartitionWindows::Park(std::span<const ParkRequest> requests,
                              std::span<MarkerChange> answers) {
  return Route(requests, answers);
}

Status PartitionWindows::Renew(std::span<const RenewRequest> requests,
                               std::span<MarkerChange> answers) {
  return Route(requests, answers);
}

Status PartitionWindows::Restore(std::span<const RestoreRequest> requests,
                                 std::span<MarkerChange> answers) {
  return Route(requests, answers);
}

Status PartitionWindows::Committed(std::span<const Progress> progress,
                                   std::span<MarkerChange> answers) {
  return Route(progress, answers);
}

Status PartitionWindows::Announce(std::span<const Announcement> announcements) {
  for (const Announcement& one : announcements) {
    const auto store = Find({one.source, one.partition});
    if (!store || *store == nullptr) {
      return store ? PartitionNotOpen() : store.error();
    }
    Announcement kept = one;
    kept.source = kKeptSource;
    if (Status announced = (*store)->Announce({&kept, 1}); !announced) {
      return announced;
    }
  }
  return {};
}

Status PartitionWindows::Peek(std::span<const std::string_view> ids, std::span<MarkerView> views) {
  if (Status fit = CheckBatch(capabilities_, ids, views.size()); !fit) {
    return fit;
  }
  const std::vector<std::shared_ptr<Store>> stores = AllStores();
  std::fill_n(views.begin(), ids.size(), MarkerView{});
  std::vector<MarkerView> seen(ids.size());
  for (const std::shared_ptr<Store>& store : stores) {
    const auto window = Ready(*store);
    if (window && *window == nullptr) {
      continue;
    }
    if (Status peeked = window ? (*window)->Peek(ids, seen) : Status(window.error()); !peeked) {
      return peeked;
    }
    for (size_t i = 0; i < ids.size(); i++) {
      if (seen[i].state != MarkerState::kNone) {
        views[i] = seen[i];
        views[i].at.source = store->source;
        views[i].store = store->options.directory;
      }
    }
  }
  return {};
}

Status PartitionWindows::RecordUncertain(std::span<const UncertainCall> calls) {
  return SendByPartition(
      calls, [&](const SourcePartition& where, size_t begin, size_t count) -> Status {
        const auto store = Find(where);
        if (!store || *store == nullptr) {
          return store ? PartitionNotOpen() : store.error();
        }
        std::vector<UncertainCall> copies;
        return (*store)->RecordUncertain(AsKept(calls.subspan(begin, count), copies));
      });
}

Result<std::vector<UncertainRecord>> PartitionWindows::ListUncertain(WallTime since) {
  std::vector<UncertainRecord> all;
  for (const std::shared_ptr<Store>& store : AllStores()) {
    const auto window = Ready(*store);
    if (window && *window == nullptr) {
      continue;
    }
    const auto listed = window ? (*window)->ListUncertain(since)
                               : Result<std::vector<UncertainRecord>>(window.error());
    if (!listed) {
      return listed.error();
    }
    for (const UncertainRecord& record : *listed) {
      all.push_back(record);
      all.back().at.source = store->source;
    }
  }
  SortByLastCall(all);
  return all;
}

std::vector<std::shared_ptr<PartitionWindows::Store>> PartitionWindows::AllStores() const {
  std::vector<std::shared_ptr<Store>> stores;
  MutexLock lock(mutex_);
  for (const auto& [where, store] : stores_) {
    stores.push_back(store);
  }
  return stores;
}

// One that cannot be read must not hide the others.
Result<std::vector<StoreStat>> PartitionWindows::Stat() {
  std::vector<StoreStat> stats;
  for (const std::shared_ptr<Store>& store : AllStores()) {
    const auto window = Ready(*store);
    if (window && *window == nullptr) {
      continue;
    }
    auto stat = window ? (*window)->Stat() : Result<std::vector<StoreStat>>(window.error());
    StoreStat one{.directory = store->options.directory};
    if (stat) {
      one = std::move(stat->front());
      for (PartitionStat& partition : one.partitions) {
        partition.source = store->source;
      }
    } else {
      one.error = stat.error().message;
    }
    stats.push_back(std::move(one));
  }
  return stats;
}

Status CheckWindowDirectory(const std::string& directory) {
  return RocksStore::CheckDirectory(directory);
}

Result<std::unique_ptr<Window>> OpenPartitionWindows(const LocalWindowOptions& options,
                                                     const Clock& clock) {
  if (Status fit = CheckLocalWindow(options); !fit) {
    return fit.error();
  }
  const Status made = RocksStore::MakeDirectory(options.directory);
  if (!made && made.error().code == Code::kInvalid) {
    return made.error();
  }
  return std::unique_ptr<Window>(std::make_unique<PartitionWindows>(options, clock));
}

}  // namespace oncemq
