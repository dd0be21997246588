// SPDX-License-Identifier: Apache-2.0
// The window in Redis: the calls about ids.
#include <algorithm>
#include <numeric>
#include <type_traits>

#include "../window_check.h"
#include "redis_window_engine.h"

namespace oncemq {
namespace {

constexpr int kTries = 10;              // of a batch that others were in the way of
constexpr size_t kMostIds = 500;        // of a script: others wait for it
constexpr size_t kMostBytes = 1 << 20;  // of results

// A claim in Judge(). It offers nothing and writes nothing.
struct JudgeRequest : ClaimRequest {
  size_t index = 0;  // of its answer
};

template <class Request>
constexpr bool kOnlyReads =
    std::is_same_v<Request, JudgeRequest> || std::is_same_v<Request, std::string_view>;

template <class Request>
std::vector<std::pair<uint32_t, int32_t>> PartitionsOf(std::span<const Request> requests) {
  std::vector<std::pair<uint32_t, int32_t>> all;
  if constexpr (requires(Request request) { request.at; }) {
    for (const Request& request : requests) {
      const std::pair<uint32_t, int32_t> one{request.at.source, request.at.partition};
      if (all.empty() || all.back() != one) {
        all.push_back(one);
      }
    }
  }
  return all;
}

template <class Request>
std::vector<OwnedPartition> OwnedOf(std::span<const Request> requests,
                                    const std::vector<size_t>& asked) {
  std::vector<OwnedPartition> all;
  if constexpr (requires(Request request) { request.owner_epoch; }) {
    for (const size_t i : asked) {
      const Request& request = requests[i];
      if (request.owner_epoch != 0) {
        all.push_back({request.at.source, request.at.partition, request.owner_epoch});
      }
    }
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
  }
  return all;
}

// Whether an id without a partition is finished: no commit follows that waits for replicas.
template <class Request>
bool AnyKept(std::span<const Request> requests, const std::vector<size_t>& asked) {
  if constexpr (std::is_same_v<Request, CompleteRequest>) {
    return std::any_of(asked.begin(), asked.end(),
                       [&](size_t i) { return requests[i].at.partition < 0; });
  }
  return false;
}

// How many of the requests one script takes.
template <class Request>
size_t ChunkOf(std::span<const Request> requests) {
  size_t count = std::min(requests.size(), kMostIds);
  if constexpr (requires(Request request) { request.result; }) {
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++) {
      bytes += requests[i].result.size();
      if (bytes > kMostBytes) {
        return std::max<size_t>(i, 1);
      }
    }
  } else if constexpr (std::is_same_v<Request, JudgeRequest>) {
    // A later script would not know the grant of an earlier copy.
    while (count < requests.size() && requests[count].id == requests[count - 1].id) {
      count++;
    }
  }
  return count;
}

// Of a request that the first script has fulfilled.
void FulfilledBy(const ClaimRequest&, ClaimAnswer& answer) {
  answer = ClaimAnswer{};
  answer.answer = ClaimVerdict::kGranted;
  answer.attempt = 1;
}
template <class Request>
void FulfilledBy(const Request&, MarkerChange& answer) {
  answer = MarkerChange::kMade;
}
template <class Request>
void FulfilledBy(const Request&, MarkerView&) {}

template <class Request>
constexpr bool kSettles =
    std::is_same_v<Request, CompleteRequest> || std::is_same_v<Request, ReleaseRequest>;

}  // namespace

// The arguments of look.lua and settle.lua for an id, after its digest.
template <class Request>
void RedisWindow::FastPathArguments(const Request& request, const ServerSnapshot& snapshot,
                                    ScriptArguments& arguments) const {
  if constexpr (std::is_same_v<Request, ClaimRequest>) {
    const bool old = request.time != kNoLogTime && request.time < HorizonOf(snapshot.horizon);
    arguments.Keep(!old || request.first ? RedisIds::FastPathArguments(request) : "");
  } else if constexpr (std::is_same_v<Request, CompleteRequest>) {
    arguments.Keep(RedisIds::TokenBytes(request.token));
    arguments.Keep(RedisIds::RecordFlags(request.token, !request.result.empty()));
    arguments.Keep(RedisIds::RecordTail(request.token, request.at));
    arguments.Add(request.result);
    const bool timed = request.time != kNoLogTime;
    arguments.Keep(timed ? std::to_string(request.time.time_since_epoch().count()) : "");
    if (request.at.partition < 0) {
      const milliseconds keep = request.keep == milliseconds(0) ? options_.remember : request.keep;
      arguments.Add("");
      arguments.Number(keep == kForEver ? 0 : microseconds(keep).count());
    } else {
      arguments.Keep(PartitionName(request.at.source, request.at.partition));
      arguments.Number(LuaOffset(request.at.offset));
    }
  } else if constexpr (std::is_same_v<Request, ReleaseRequest>) {
    const bool kept = request.uncertain || request.failed || request.parked_entry != 0;
    arguments.Keep(kept ? "" : RedisIds::TokenBytes(request.token));
    for (int i = 0; i < 6; i++) {
      arguments.Add("");
    }
  } else {
    arguments.Add("");
  }
}

template <class Request>
Result<bool> RedisWindow::ReadIds(std::span<const Request> requests, const Left& asked,
                                  const ServerSnapshot& snapshot, RedisIds& ids) {
  std::vector<size_t> first(ids.digests().size(), asked.size());  // of each row
  for (size_t k = asked.size(); k > 0; k--) {
    first[ids.RowOf(k - 1)] = k - 1;
  }
  const std::vector<OwnedPartition> owned = OwnedOf(requests, asked);
  ScriptArguments arguments;
  if constexpr (kSettles<Request>) {
    arguments.Add(bucket_ids_);
  } else {
    arguments.Number(snapshot.horizon);
    arguments.Number(
        microseconds(std::min(options_.times.lease, options_.times.max_lease)).count());
    arguments.Number(owned.size());
    for (const OwnedPartition& one : owned) {
      arguments.Keep(PartitionName(one.source, one.partition));
      arguments.Number(one.owner_epoch);
    }
  }
  for (size_t row = 0; row < first.size(); row++) {
    arguments.Add(ids.digests()[row]);
    FastPathArguments(requests[asked[first[row]]], snapshot, arguments);
  }
  const int replicas = AnyKept(requests, asked) ? options_.replicas : 0;
  const BootTime began = BootNow();
  const auto answer =
      TryRun(kSettles<Request> ? scripts_.settle : scripts_.look, snapshot, arguments, replicas);
  if (!answer) {
    Error error = answer.error();
    const bool only_reads = !kSettles<Request> && !std::is_same_v<Request, ClaimRequest>;
    error.effect = only_reads ? Effect::kNone : error.effect;
    return error;
  }
  if (!*answer) {
    return false;
  }
  if (Status loaded = ids.Load(**answer, kSettles<Request> ? std::vector<OwnedPartition>() : owned);
      !loaded) {
    return loaded.error();
  }
  NoteCount(snapshot, ids.count(), ids.AnyMade(), ids.horizon_millis());
  reports_.NoteClock(ids.server_time().time_since_epoch().count(), began);
  return true;
}

Result<std::vector<size_t>> RedisWindow::Write(const ServerSnapshot& snapshot, RedisIds& ids,
                                               bool& wrote) {
  ScriptArguments arguments;
  arguments.Add(bucket_ids_);
  std::vector<size_t> rows = ids.AddChanges(arguments);
  if (rows.empty()) {
    return rows;
  }
  const int replicas = ids.AnyWithoutPartition(rows) ? options_.replicas : 0;
  const auto answer = TryRun(scripts_.write, snapshot, arguments, replicas);
  if (!answer) {
    return answer.error();
  }
  if (!*answer || **answer == "A") {
    return rows;
  }
  const auto written = TakeWritten(snapshot, **answer);
  if (!written || written->size() != rows.size()) {
    return written ? RedisStrange() : written.error();
  }
  std::vector<size_t> left;
  for (size_t i = 0; i < rows.size(); i++) {
    wrote = wrote || (*written)[i] == '1';
    if ((*written)[i] != '1') {
      left.push_back(rows[i]);
    }
  }
  return left;
}

template <class Request, class Reply>
Result<RedisWindow::Left> RedisWindow::ApplyOnce(std::span<const Request> requests,
                                                 const Left& asked, std::span<Reply> replies,
                                                 bool& wrote) {
  const auto snapshot = SnapshotFor(PartitionsOf(requests));
  if (!snapshot) {
    return snapshot.error();
  }
  RedisIds ids(*options_.level, options_.times, snapshot->scope->secret, options_.remember);
  for (const size_t i : asked) {
    ids.Add(IdOf(requests[i]));
  }
  ids.Seal();
  const auto read = ReadIds(requests, asked, *snapshot, ids);
  if (!read || !*read) {
    return read ? Result<Left>(asked) : read.error();
  }
  wrote = wrote || ids.AnyMade();
  std::vector<bool> fulfilled(ids.digests().size(), false);
  for (size_t k = 0; k < asked.size(); k++) {
    const Request& request = requests[asked[k]];
    const size_t row = ids.RowOf(k);
    if (ids.LeftOut(row)) {
      continue;
    }
    if (ids.Made(row) && !fulfilled[row]) {
      fulfilled[row] = true;
      FulfilledBy(request, replies[asked[k]]);
      if constexpr (std::is_same_v<Request, ClaimRequest>) {
        ids.BecomesOpen(row, request, options_.times);
      } else if constexpr (std::is_same_v<Request, CompleteRequest>) {
        ids.BecomesDone(row, request);
      }
      continue;
    }
    if constexpr (std::is_same_v<Request, ClaimRequest>) {
      ids.File(k, std::max(request.time, request.copies_until));
    }
    ids.engine().One(request, ids.At(k), replies[asked[k]]);
  }
  const auto rows = kOnlyReads<Request> ? Result<std::vector<size_t>>(std::vector<size_t>())
                                        : Write(*snapshot, ids, wrote);
  if (!rows) {
    return rows.error();
  }
  // The answers may show a loss, of these scripts or of others at the same time.
  if (const auto still = SnapshotFor(PartitionsOf(requests)); !still) {
    return still.error();
  }
  Left left;
  for (size_t k = 0; k < asked.size(); k++) {
    const size_t row = ids.RowOf(k);
    if (ids.LeftOut(row) || std::find(rows->begin(), rows->end(), row) != rows->end()) {
      left.push_back(asked[k]);
    }
  }
  return left;
}

// An error says kUnknown as soon as a part of the batch may be there.
template <class Request, class Reply>
Status RedisWindow::ApplyChunk(std::span<const Request> requests, std::span<Reply> replies) {
  Left left(requests.size());
  std::iota(left.begin(), left.end(), size_t{0});
  bool wrote = false;
  const BootTime begun = BootNow();
  for (int tries = 0; tries < kTries && !left.empty(); tries++) {
    auto next = ApplyOnce(requests, left, replies, wrote);
    if (!next) {
      Error error = next.error();
      error.effect = wrote ? Effect::kUnknown : error.effect;
      return error;
    }
    const bool stands_still = next->size() == left.size();
    left = *std::move(next);
    if (stands_still && BootNow() >= begun + options_.connect) {
      break;  // a try takes up to two calls (WindowCapabilities::longest_call)
    }
  }
  return left.empty() ? Status() : ChangedEachTime(wrote ? Effect::kUnknown : Effect::kNone);
}

template <class Request, class Reply>
Status RedisWindow::Apply(std::span<const Request> requests, std::span<Reply> replies) {
  if (Status fit = CheckBatch(capabilities_, requests, replies.size()); !fit) {
    return fit;
  }
  for (size_t done = 0; done < requests.size();) {
    const auto rest = requests.subspan(done);
    const size_t count = ChunkOf(rest);
    if (Status status = ApplyChunk(rest.first(count), replies.subspan(done, count)); !status) {
      status.error().effect = done > 0 ? Effect::kUnknown : status.error().effect;
      return status;
    }
    done += count;
  }
  return {};
}

Status RedisWindow::Claim(std::span<const ClaimRequest> requests, std::span<ClaimAnswer> answers) {
  return Apply(requests, answers);
}

Status RedisWindow::Judge(std::span<const ClaimRequest> requests, std::span<ClaimAnswer> answers) {
  if (Status fit = CheckBatch(capabilities_, requests, answers.size()); !fit) {
    return fit;
  }
  std::vector<JudgeRequest> by_id;
  by_id.reserve(requests.size());
  for (size_t i = 0; i < requests.size(); i++) {
    by_id.push_back({requests[i], i});
  }
  std::stable_sort(by_id.begin(), by_id.end(),
                   [](const JudgeRequest& a, const JudgeRequest& b) { return a.id < b.id; });
  std::vector<ClaimAnswer> judged(by_id.size());
  const Status read = Apply(std::span<const JudgeRequest>(by_id), std::span<ClaimAnswer>(judged));
  if (!read) {
    return Error{read.error().code, Effect::kNone, read.error().message};
  }
  for (size_t i = 0; i < by_id.size(); i++) {
    answers[by_id[i].index] = std::move(judged[i]);
  }
  return {};
}

Status RedisWindow::Complete(std::span<const CompleteRequest> requests,
                             std::span<MarkerChange> answers) {
  return Apply(requests, answers);
}

Status RedisWindow::Release(std::span<const ReleaseRequest> requests,
                            std::span<MarkerChange> answers) {
  return Apply(requests, answers);
}

Status RedisWindow::Park(std::span<const ParkRequest> requests, std::span<MarkerChange> answers) {
  return Apply(requests, answers);
}

Status RedisWindow::Renew(std::span<const RenewRequest> requests, std::span<MarkerChange> answers) {
  return Apply(requests, answers);
}

Status RedisWindow::Restore(std::span<const RestoreRequest> requests,
                            std::span<MarkerChange> answers) {
  return Apply(requests, answers);
}

Status RedisWindow::Peek(std::span<const std::string_view> ids, std::span<MarkerView> views) {
  const Status read = Apply(ids, views);
  return read ? MarkUncertain(ids, views) : read;
}

Status RedisWindow::ForgetByHand(std::span<const std::string_view> ids,
                                 std::span<MarkerChange> answers) {
  if (Status fit = CheckBatch(capabilities_, ids, answers.size()); !fit) {
    return fit;
  }
  size_t done = 0;
  for (int tries = 0; done < ids.size(); tries++) {
    if (tries == kTries + static_cast<int>(ids.size() / kMostIds)) {
      return Error{Code::kUnavailable, done > 0 ? Effect::kUnknown : Effect::kNone,
                   "Redis loses its data again and again"};
    }
    const auto snapshot = SnapshotFor({});
    if (!snapshot) {
      return snapshot.error();
    }
    const size_t count = std::min(ids.size() - done, kMostIds);
    ScriptArguments arguments;
    arguments.Add(bucket_ids_);
    IdDigester digester(snapshot->scope->secret);
    for (size_t i = 0; i < count; i++) {
      arguments.Keep(RedisIds::DigestOf(ids[done + i], digester));
    }
    const auto answer = TryRun(scripts_.forget, *snapshot, arguments);
    if (!answer) {
      return answer.error();
    }
    if (!*answer) {
      continue;
    }
    const auto gone = TakeWritten(*snapshot, **answer);
    if (!gone || gone->size() != count) {
      return gone ? RedisStrange() : gone.error();
    }
    for (size_t i = 0; i < count; i++) {
      answers[done + i] = (*gone)[i] == '1' ? MarkerChange::kMade : MarkerChange::kFenced;
    }
    done += count;
  }
  return {};
}

}  // namespace oncemq
