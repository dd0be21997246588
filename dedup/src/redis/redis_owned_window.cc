// SPDX-License-Identifier: Apache-2.0
#include "redis_owned_window.h"

#include <algorithm>
#include <array>
#include <utility>

#include "../by_partition.h"
#include "../id_digest.h"
#include "../window_check.h"
#include "oncemq/base/bytes.h"
#include "oncemq/base/log.h"
#include "packed.h"
#include "redis_ids.h"

namespace oncemq {
namespace {

constexpr size_t kEntriesOfAScript = 64;  // of 4 KB: others wait for it
constexpr size_t kEntriesOfAPage = 200;
constexpr size_t kMostTrimmed = 1'000;  // entries, for one call of Committed()
constexpr int kAllowsPart = 16;         // of `remember`, as in the window on disk

// A server without the ownership that another one has just taken.
Error OlderStore() {
  return {Code::kUnavailable, Effect::kNone, "a Redis answers that lacks the latest changes"};
}

std::string NameOf(const RedisWindow::Partition& where) {
  return PartitionName(where.first, where.second);
}

uint64_t NumberOf(const RedisReply& reply) {
  return static_cast<uint64_t>(std::max<int64_t>(ParseDecimal(reply.text).value_or(0), 0));
}

// An entry as XRANGE tells it: its id, and one field with its value.
std::optional<OwnedIds::Loaded> ReadEntry(RedisReply& reply) {
  if (reply.list.size() != 2 || reply.list[1].list.size() != 2) {
    return std::nullopt;
  }
  const auto position = ParseStreamPosition(reply.list[0].text);
  return position
             ? std::optional(OwnedIds::Loaded{*position, std::move(reply.list[1].list[1].text)})
             : std::nullopt;
}

}  // namespace

Result<std::unique_ptr<RedisOwnedWindow>> RedisOwnedWindow::OpenAt(
    std::string_view address, const RedisWindowOptions& options, std::string_view server_clock,
    const Clock& clock) {
  auto scope = RedisWindow::OpenAt(address, options, server_clock);
  if (!scope) {
    return scope.error();
  }
  return std::unique_ptr<RedisOwnedWindow>(new RedisOwnedWindow(*std::move(scope), options, clock));
}

RedisOwnedWindow::PartitionPtr RedisOwnedWindow::Find(const SourcePartition& where) const {
  MutexLock lock(mutex_);
  const auto found = open_.find(where);
  return found == open_.end() ? nullptr : found->second;
}

void RedisOwnedWindow::NoteServerTime(int64_t micros) {
  server_ahead_ = microseconds(micros) - clock_.Boot().time_since_epoch();
}

LogTime RedisOwnedWindow::Wall() const {
  const auto wall = clock_.Boot().time_since_epoch() + server_ahead_.load();
  return LogTime(std::chrono::duration_cast<milliseconds>(wall));
}

std::vector<RedisOwnedWindow::PartitionPtr> RedisOwnedWindow::AllOpen() const {
  std::vector<PartitionPtr> all;
  MutexLock lock(mutex_);
  for (const auto& [where, partition] : open_) {
    all.push_back(partition);
  }
  return all;
}

// After a loss the secret of the digests may be another one, so nothing in memory stays.
Result<StoreKnowledge> RedisOwnedWindow::Open(const StoreName& name) {
  if (name.partition < 0) {
    return InvalidRequest("ids are owned by a partition, not by number " +
                          std::to_string(name.partition));
  }
  auto known = scope_->Open(name);
  if (!known) {
    return known;
  }
  NoteServerTime(scope_->server_micros());
  const SourcePartition where{known->source, name.partition};
  if (known->lost_writes) {
    Close(where.first, where.second);
    MutexLock lock(mutex_);
    lost_writes_.insert(where);
  }
  PartitionPtr partition = Find(where);
  if (partition == nullptr) {
    const auto snapshot = scope_->SnapshotFor({});
    if (!snapshot) {
      return snapshot.error();
    }
    const PartitionMemory::Terms terms{.level = *options_.level,
                                       .times = options_.times,
                                       .allows = options_.remember / kAllowsPart,
                                       .secret = snapshot->scope->secret};
    partition = std::make_shared<PartitionMemory>(where.first, where.second, terms, clock_);
  }
  if (const Status loaded = Load(*partition, 0); !loaded) {
    return loaded.error();
  }
  MutexLock lock(mutex_);
  open_[where] = partition;
  known->lost_writes = lost_writes_.erase(where) > 0;
  return known;
}

// Ids without an announcement go: their owner counts them as not finished.
void RedisOwnedWindow::Close(uint32_t source, int32_t partition) {
  PartitionPtr last;  // goes when the lock is free: there may be millions of ids
  MutexLock lock(mutex_);
  if (const auto found = open_.find({source, partition}); found != open_.end()) {
    last = std::move(found->second);
    open_.erase(found);
  }
}

// Once it is raised no former owner appends any more, so nothing is missing in a later look.
Result<OwnerEpoch> RedisOwnedWindow::RaiseOwnerEpoch(uint32_t source, int32_t partition,
                                                     OwnerEpoch floor) {
  const PartitionPtr open = Find({source, partition});
  if (open == nullptr && partition >= 0) {
    return PartitionNotOpen();
  }
  auto owner_epoch = scope_->RaiseOwnerEpoch(source, partition, floor);
  if (!owner_epoch) {
    return owner_epoch;
  }
  NoteServerTime(scope_->server_micros());
  const Status loaded = Load(*open, *owner_epoch);
  if (!loaded) {
    return Error{loaded.error().code, Effect::kUnknown, loaded.error().message};
  }
  open->Raised(*owner_epoch);
  return owner_epoch;
}

Status RedisOwnedWindow::Load(PartitionMemory& partition, OwnerEpoch owner_epoch) {
  MutexLock control(partition.control());
  const std::string name = PartitionName(partition.source(), partition.partition());
  const Status read = ReadStream(name, partition.stored_to(), owner_epoch,
                                 [&](Page page) { return partition.Load(std::move(page)); });
  if (!read) {
    return read;
  }
  const std::string row = scope_->base() + "p:" + name;
  const std::string kept = scope_->base() + "k:" + name;
  const std::array commands{
      RedisCommand{"HMGET", row, "millis", "number", "horizon", "own", "watermark", "latest"},
      RedisCommand{"HGETALL", kept}};
  const auto rest = scope_->Read(commands);
  if (!rest) {
    return rest.error();
  }
  const std::vector<RedisReply>& numbers = (*rest)[0].list;
  const std::vector<RedisReply>& markers = (*rest)[1].list;
  if (numbers.size() != 6 || markers.size() % 2 != 0) {
    return NotOurs();
  }
  if (NumberOf(numbers[3]) < owner_epoch) {
    return OlderStore();
  }
  for (size_t i = 0; i < markers.size(); i += 2) {
    if (!partition.LoadKept(markers[i].text, markers[i + 1].text)) {
      return NotOurs();
    }
  }
  partition.Loaded({NumberOf(numbers[0]), NumberOf(numbers[1])}, HorizonOf(NumberOf(numbers[2])),
                   HorizonOf(std::max(NumberOf(numbers[4]), NumberOf(numbers[5]))));
  return {};
}

Status RedisOwnedWindow::ReadStream(const std::string& name, const StreamPosition& position,
                                    OwnerEpoch owner_epoch, const std::function<bool(Page)>& take) {
  const std::string stream = scope_->base() + "l:" + name;
  const std::string row = scope_->base() + "p:" + name;
  const std::string most = std::to_string(kEntriesOfAPage);
  StreamPosition next{position.millis, position.number + 1};
  for (bool more = true; more;) {
    const std::string from = ToString(next);
    const std::array commands{RedisCommand{"XRANGE", stream, from, "+", "COUNT", most},
                              RedisCommand{"HGET", row, "own"}};
    auto replies = scope_->Read(commands);
    if (!replies) {
      return replies.error();
    }
    if (NumberOf(replies->back()) < owner_epoch) {
      return OlderStore();
    }
    Page page;
    for (RedisReply& reply : replies->front().list) {
      auto entry = ReadEntry(reply);
      if (!entry) {
        return NotOurs();
      }
      next = {entry->position.millis, entry->position.number + 1};
      page.push_back(*std::move(entry));
    }
    more = page.size() == kEntriesOfAPage;
    if (!take(std::move(page))) {
      return NotOurs();
    }
  }
  return {};
}

// In order; those of one partition that stand together are one batch, as the runtime's batches are.
template <class Request, class Reply>
Status RedisOwnedWindow::Route(std::span<const Request> requests, std::span<Reply> replies) {
  if (Status fit = CheckBatch(capabilities_, requests, replies.size()); !fit) {
    return fit;
  }
  return SendByPartition(requests, replies,
                         [this](const SourcePartition& where, std::span<const Request> asked,
                                std::span<Reply> answers) -> Status {
                           const PartitionPtr partition = Find(where);
                           if (partition == nullptr) {
                             RefuseUnopened(answers);
                             return {};
                           }
                           if (const auto complete = scope_->SnapshotFor({&where, 1}); !complete) {
                             Error error = complete.error();
                             error.effect = Effect::kNone;  // the memory of this process judges
                             return error;
                           }
                           partition->Apply(asked, answers, Wall());
                           return {};
                         });
}

Status RedisOwnedWindow::Claim(std::span<const ClaimRequest> requests,
                               std::span<ClaimAnswer> answers) {
  return Route(requests, answers);
}

Status RedisOwnedWindow::Complete(std::span<const CompleteRequest> requests,
                                  std::span<MarkerChange> answers) {
  return Route(requests, answers);
}

Status RedisOwnedWindow::Release(std::span<const ReleaseRequest> requests,
                                 std::span<MarkerChange> answers) {
  return Route(requests, answers);
}

Status RedisOwnedWindow::Park(std::span<const ParkRequest> requests,
                              std::span<MarkerChange> answers) {
  return Route(requests, answers);
}

Status RedisOwnedWindow::Renew(std::span<const RenewRequest> requests,
                               std::span<MarkerChange> answers) {
  return Route(requests, answers);
}

Status RedisOwnedWindow::Restore(std::span<const RestoreRequest> requests,
                                 std::span<MarkerChange> answers) {
  return Route(requests, answers);
}

Status RedisOwnedWindow::Announce(std::span<const Announcement> announcements) {
  if (Status fit = CheckAnnouncements(announcements); !fit) {
    return fit;
  }
  for (const Announcement& one : announcements) {
    const PartitionPtr partition = Find({one.source, one.partition});
    if (partition == nullptr) {
      return PartitionNotOpen();
    }
    if (Status made = AnnounceOne(*partition, one); !made) {
      return made;
    }
  }
  return {};
}

// The announcement comes last: it is never there without its ids.
Status RedisOwnedWindow::AnnounceOne(PartitionMemory& partition, const Announcement& announcement) {
  MutexLock control(partition.control());
  const SourcePartition where{partition.source(), partition.partition()};
  const OwnerEpoch owner_epoch =
      announcement.owner_epoch != 0 ? announcement.owner_epoch : partition.owner_epoch();
  PartitionMemory::Changes changes = partition.Take();
  std::span<const OwnedIds::Entry* const> left(changes.entries);
  const uint64_t number = scope_->NextAnnouncement();
  Status made;
  do {
    const auto some = left.first(std::min(left.size(), kEntriesOfAScript));
    left = left.subspan(some.size());
    const bool last = left.empty();
    made = Append(where, owner_epoch, some, last && announcement.commits ? &announcement : nullptr,
                  last ? number : 0, changes);
    if (made && !some.empty()) {
      partition.StoredTo(some.back()->position);
    }
  } while (made && !left.empty());
  if (!made) {
    partition.GiveBack(std::move(changes));
  }
  return made;
}

Status RedisOwnedWindow::Append(const SourcePartition& where, OwnerEpoch owner_epoch,
                                std::span<const OwnedIds::Entry* const> entries,
                                const Announcement* announcement, uint64_t number,
                                const PartitionMemory::Changes& changes) {
  ScriptArguments arguments;
  arguments.Keep(NameOf(where));
  arguments.Number(owner_epoch);
  arguments.Number(entries.size());
  arguments.Keep(announcement == nullptr ? "" : std::to_string(announcement->from));
  arguments.Keep(announcement == nullptr ? "" : std::to_string(announcement->to));
  arguments.Keep(announcement == nullptr ? "" : std::to_string(announcement->offset));
  arguments.Add(announcement == nullptr ? "" : announcement->metadata);
  arguments.Add(announcement != nullptr && announcement->complete ? "1" : "0");
  arguments.Number(changes.parked);
  arguments.Number(number);
  for (const OwnedIds::Entry* entry : entries) {
    arguments.Number(entry->position.millis);
    arguments.Number(entry->position.number);
    arguments.Number(entry->ids());
    arguments.Add(entry->bytes);
  }
  if (number != 0) {
    for (const auto& [digest, marker] : changes.kept) {
      arguments.Add(digest);
      arguments.Add(marker);
    }
  }
  const auto answer =
      scope_->RunFor({&where, 1}, scope_->scripts().append, arguments, options_.replicas);
  if (!answer) {
    return answer.error();
  }
  if (*answer == "F") {
    return NewerOwner();
  }
  PackedReader reader(*answer);
  reader.Bytes(9);
  NoteServerTime(static_cast<int64_t>(reader.Number(8)));
  return {};
}

Status RedisOwnedWindow::Committed(std::span<const Progress> progress,
                                   std::span<MarkerChange> answers) {
  if (Status told = scope_->Committed(progress, answers); !told) {
    return told;
  }
  for (size_t i = 0; i < progress.size(); i++) {
    const PartitionPtr partition = Find({progress[i].source, progress[i].partition});
    if (answers[i] != MarkerChange::kMade || partition == nullptr) {
      continue;
    }
    // Only the space depends on it.
    if (const Status trimmed = Trim(*partition, progress[i]); !trimmed) {
      LogSeldom(LogLevel::kWarn, "window",
                "Redis could not forget old ids; a later commit tries again",
                {{"key", scope_->base()}, {"error", ToString(trimmed.error())}});
    }
  }
  return {};
}

// A stamp of the future must not make everything look old (rule 22).
Status RedisOwnedWindow::Trim(PartitionMemory& partition, const Progress& progress) {
  if (progress.watermark == kNoLogTime) {
    return {};
  }
  MutexLock control(partition.control());
  const SourcePartition where{partition.source(), partition.partition()};
  const LogTime watermark = std::clamp(progress.watermark, LogTime(milliseconds(0)), Wall());
  partition.NoteWatermark(watermark);
  const milliseconds kept = scope_->kept();
  const std::vector<PartitionMemory::Aged> aged =
      partition.FindAged(watermark - kept, progress.frontier, kMostTrimmed);
  if (aged.empty()) {
    return {};
  }
  const uint64_t horizon = aged.back().position.millis + 1;
  ScriptArguments arguments;
  arguments.Keep(NameOf(where));
  arguments.Number(progress.owner_epoch);
  arguments.Number(kept.count());
  arguments.Number(horizon);
  for (const PartitionMemory::Aged& one : aged) {
    arguments.Keep(ToString(one.position));
    arguments.Number(one.ids);
  }
  const auto answer = scope_->RunFor({&where, 1}, scope_->scripts().trim, arguments);
  if (!answer) {
    return answer.error();
  }
  if (*answer != "F") {
    partition.Forget(aged.size(), HorizonOf(horizon));
  }
  return {};
}

Status RedisOwnedWindow::Peek(std::span<const std::string_view> ids, std::span<MarkerView> views) {
  if (Status fit = CheckBatch(capabilities_, ids, views.size()); !fit) {
    return fit;
  }
  std::fill_n(views.begin(), ids.size(), MarkerView{});
  if (options_.existing_only) {
    const Status peeked = ids.empty() ? Status() : PeekAnnounced(ids, views);
    return peeked ? scope_->MarkUncertain(ids, views) : peeked;
  }
  std::vector<MarkerView> seen(ids.size());
  for (const PartitionPtr& partition : AllOpen()) {
    partition->Apply(ids, std::span<MarkerView>(seen), Wall());
    for (size_t i = 0; i < ids.size(); i++) {
      views[i] = seen[i].state != MarkerState::kNone ? seen[i] : views[i];
    }
  }
  return scope_->MarkUncertain(ids, views);
}

// Reads all of it: there is no index but in the memory of the owners.
Status RedisOwnedWindow::PeekAnnounced(std::span<const std::string_view> ids,
                                       std::span<MarkerView> views) {
  const auto snapshot = scope_->SnapshotFor({});
  if (!snapshot) {
    return snapshot.error();
  }
  IdDigester digester(snapshot->scope->secret);
  std::multimap<std::string, size_t, std::less<>> asked;
  for (size_t i = 0; i < ids.size(); i++) {
    asked.emplace(std::string(digester.Of(ids[i]).data(), OwnedIds::kDigestBytes), i);
  }
  const std::string owned = scope_->base() + "w";
  const std::array all{RedisCommand{"ZRANGE", owned, "0", "-1"}};
  const auto partitions = scope_->Read(all);
  if (!partitions) {
    return partitions.error();
  }
  for (const RedisReply& name : partitions->front().list) {
    const size_t colon = name.text.find(':');
    const Coordinates at{
        static_cast<uint32_t>(ParseDecimal(name.text.substr(0, colon)).value_or(0)),
        static_cast<int32_t>(ParseDecimal(name.text.substr(colon + 1)).value_or(0)), -1};
    const auto take = [&](std::string_view digest, const OwnedIds::Id& id) {
      for (auto [it, end] = asked.equal_range(digest); it != end; ++it) {
        views[it->second] = {.state = MarkerState::kDone, .at = at, .fingerprint = id.fingerprint};
        views[it->second].at.offset = id.offset;
      }
    };
    const Status read = ReadStream(name.text, {}, 0, [&](const Page& page) {
      return std::all_of(page.begin(), page.end(), [&](const OwnedIds::Loaded& one) {
        return OwnedIds::ForEach(one.bytes, take);
      });
    });
    if (!read) {
      return read;
    }
    const std::string kept = scope_->base() + "k:" + name.text;
    RedisCommand markers{"HMGET", kept};
    for (const auto& [digest, i] : asked) {
      markers.push_back(digest);
    }
    const auto found = scope_->Read({&markers, 1});
    if (!found) {
      return found.error();
    }
    if (found->front().list.size() != asked.size()) {
      return NotOurs();
    }
    auto one = found->front().list.begin();
    for (auto it = asked.begin(); it != asked.end(); ++it, ++one) {
      if (one->text.size() == kMarkerBytes) {
        PackedReader reader(one->text);
        LogTime filed;
        const Marker marker = ReadMarker(reader, filed);
        views[it->second] = {.state = marker.state,
                             .at = marker.at,
                             .uncertain = marker.uncertain,
                             .fingerprint = marker.fingerprint};
      }
    }
  }
  return {};
}

// Redis, and the partitions that are open here where they are ahead of it.
Result<std::vector<StoreStat>> RedisOwnedWindow::Stat() {
  auto stats = scope_->Stat();
  if (!stats) {
    return stats;
  }
  StoreStat& stat = stats->front();
  for (PartitionStat& one : stat.partitions) {
    one.pins = false;  // each keeps its own
  }
  for (const PartitionPtr& partition : AllOpen()) {
    const PartitionMemory::Numbers numbers = partition->Count();
    stat.recent += numbers.unstored;
    stat.open += numbers.open;
    stat.memory_bytes += numbers.memory_bytes;
  }
  return stats;
}

}  // namespace oncemq
