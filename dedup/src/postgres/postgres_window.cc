// SPDX-License-Identifier: Apache-2.0
// The window in PostgreSQL: the calls about ids.
#include <algorithm>
#include <array>
#include <iterator>
#include <set>
#include <type_traits>

#include "../window_check.h"
#include "oncemq/base/log.h"
#include "postgres_window_engine.h"

namespace oncemq {
namespace {

constexpr int kTries = 10;  // of a batch that others were in the way of

// The partitions that requests own, each once and in order.
struct OwnedPartitions {
  std::vector<int64_t> sources;
  std::vector<int64_t> partitions;
};

// Nothing is parked while a new owner raises, so each one of a parking call counts.
template <class Request>
OwnedPartitions OwnedBy(std::span<const Request> requests) {
  std::set<std::pair<int64_t, int64_t>> all;
  if constexpr (std::is_same_v<Request, ParkRequest>) {
    for (const ParkRequest& request : requests) {
      if (request.at.partition != kNoPartition) {
        all.emplace(request.at.source, request.at.partition);
      }
    }
  } else if constexpr (requires(Request request) { request.owner_epoch; }) {
    for (const Request& request : requests) {
      if (request.owner_epoch != 0) {
        all.emplace(request.at.source, request.at.partition);
      }
    }
  }
  OwnedPartitions owned;
  for (const auto& [source, partition] : all) {
    owned.sources.push_back(source);
    owned.partitions.push_back(partition);
  }
  return owned;
}

// The parts of the answer of `look`: the time and the owner, then an id, if any was found.
struct ReadParts {
  SqlAnswer time;
  SqlAnswer owners;
  SqlAnswer ids;
};

ReadParts PartsOf(SqlAnswer look) {
  constexpr size_t kTime = 5;
  constexpr size_t kOwner = 4;
  ReadParts parts;
  for (SqlRow& row : look.rows) {
    if (row.size() <= kTime + kOwner) {
      return {};
    }
    const auto owner = row.begin() + kTime;
    const auto id = owner + kOwner;
    if (parts.time.rows.empty()) {
      parts.time.rows.emplace_back(row.begin(), owner);
    }
    if (*owner && parts.owners.rows.empty()) {
      parts.owners.rows.emplace_back(owner, id);
    }
    if (*id) {
      parts.ids.rows.emplace_back(std::make_move_iterator(id), std::make_move_iterator(row.end()));
    }
  }
  return parts;
}

// Whether the row of its id alone decides: no owner, no horizon, no other request.
template <class Request>
bool FitsFastPath(std::span<const Request> requests) {
  if (requests.size() != 1) {
    return false;
  }
  const Request& only = requests.front();
  if constexpr (std::is_same_v<Request, ClaimRequest>) {
    if (only.owner_epoch != 0 || only.copies_until != kNoLogTime) {
      return false;
    }
  }
  return only.at.partition == kNoPartition && only.time == kNoLogTime;
}

template <class Request>
OwnerEpoch OwnerOf(const Request& request) {
  if constexpr (requires { request.owner_epoch; }) {
    return request.owner_epoch;
  }
  return 0;
}

template <class Request>
void AddAll(std::span<const Request> requests, IdRows& rows) {
  for (const Request& request : requests) {
    rows.Add(request.id, request.at);
  }
  rows.Seal();
}

// `known`: the answer of `known_uncertain` for these ids.
void MarkUncertain(const SqlAnswer& known, std::span<const std::string_view> ids,
                   std::span<MarkerView> views) {
  for (size_t i = 0; i < ids.size(); i++) {
    views[i].uncertain |= views[i].state != MarkerState::kNone &&
                          std::any_of(known.rows.begin(), known.rows.end(), [&](const SqlRow& row) {
                            return row[0] == std::string(ids[i]);
                          });
  }
}

}  // namespace

Result<std::vector<SqlAnswer>> PostgresWindow::All(std::span<const SqlStatement> statements) {
  auto outcome = guarded_([&] { return client_->Try(statements); });
  if (!outcome) {
    return outcome.error();
  }
  if (outcome->refusal) {
    return SqlError(*outcome->refusal);
  }
  if (outcome->answers.size() != statements.size()) {
    return TooFewAnswers();
  }
  return std::move(outcome->answers);
}

int64_t PostgresWindow::LockOf(uint32_t source, int32_t partition) const {
  return static_cast<int64_t>(StableHash("oncemq window " + options_.schema + "/" +
                                         std::to_string(scope_.number) + "/" +
                                         std::to_string(source) + "/" + std::to_string(partition)));
}

PostgresWindow::LogPosition PostgresWindow::LogPositionNow() {
  MutexLock lock(mutex_);
  return log_position_;
}

// Another timeline is another history: a standby was promoted, or a backup restored. A lower
// position on the same one is a backup, too. A server that has started again may be one as well,
// and nothing tells: so it counts as a loss, which costs each partition a new assignment. Calls
// overlap, so each compares with the position that was known at its beginning. One of them counts
// the loss.
void PostgresWindow::NoteLogPosition(const LogPosition& log_position, const LogPosition& before) {
  MutexLock lock(mutex_);
  const bool same =
      log_position.timeline == before.timeline && log_position.started == before.started;
  const bool lost = before.started != 0 && (!same || log_position.position < before.position);
  const bool first =
      log_position_.timeline == before.timeline && log_position_.started == before.started;
  if (lost && first) {
    losses_++;
    Log(LogLevel::kWarn, "window",
        "PostgreSQL was started again, or another server answers: commits may be lost",
        {{"scope", options_.scope}});
  }
  const bool older = same && !lost && log_position.position < log_position_.position;
  if (first && !older) {
    log_position_ = log_position;
  }
}

Status PostgresWindow::TakeTime(const SqlAnswer& answer, const LogPosition& before, IdRows* rows) {
  if (answer.rows.size() != 1 || answer.rows[0].size() != 5) {
    return Error{Code::kCorrupt, Effect::kNone,
                 "the scope of the window is gone from the database: its tables were emptied or "
                 "made anew; start all members again, and copies of earlier ids run again"};
  }
  const int64_t horizon = NumberOf(answer, 0, 0);
  if (rows != nullptr) {
    rows->SetTime(BootTime(microseconds(NumberOf(answer, 0, 1))),
                  horizon == 0 ? LogTime::min() : LogTime(milliseconds(horizon)));
  }
  NoteLogPosition({NumberOf(answer, 0, 2), NumberOf(answer, 0, 3), NumberOf(answer, 0, 4)}, before);
  return {};
}

Status PostgresWindow::UsableAt(uint32_t source, int32_t partition) {
  MutexLock lock(mutex_);
  const auto found = opened_.find({source, partition});
  if (found == opened_.end() || found->second == losses_) {
    return {};
  }
  return Error{Code::kLostWrites, Effect::kNone,
               "PostgreSQL has started again, or another server answers; this cannot be told from "
               "a restored backup, so commits may be lost"};
}

template <class Request>
Status PostgresWindow::Usable(std::span<const Request> requests) {
  Status usable;
  const Coordinates* last = nullptr;
  for (size_t i = 0; usable && i < requests.size(); i++) {
    const Coordinates& at = requests[i].at;
    if (last == nullptr || last->source != at.source || last->partition != at.partition) {
      usable = UsableAt(at.source, at.partition);
    }
    last = &at;
  }
  return usable;
}

Result<bool> PostgresWindow::LockRows(SqlTransaction& transaction, std::span<const int64_t> sources,
                                      std::span<const int64_t> partitions, IdRows& rows,
                                      SqlRefusal& refusal) {
  std::vector<int64_t> keys;
  for (size_t i = 0; i < sources.size(); i++) {
    keys.push_back(LockOf(static_cast<uint32_t>(sources[i]), static_cast<int32_t>(partitions[i])));
  }
  std::sort(keys.begin(), keys.end());
  const std::array look{Text("share", {SqlNumbers(keys)}),
                        Text("owners", {scope_.number, sources, partitions}),
                        Text("lock_ids", {scope_.number, SqlTexts(rows.digests())}),
                        Text("scope_now", {scope_.number})};
  const auto all = std::span<const SqlStatement>(look);
  const size_t unowned = keys.empty() ? 2 : 0;  // nothing to share
  const LogPosition before = LogPositionNow();
  const auto looked = transaction.Try(all.subspan(unowned));
  if (!looked) {
    return looked.error();
  }
  if (looked->refusal) {
    refusal = *looked->refusal;
    return false;
  }
  const std::vector<SqlAnswer>& answers = looked->answers;
  if (answers.size() != all.size() - unowned) {
    return TooFewAnswers();
  }
  Status taken = TakeTime(answers.back(), before, &rows);
  taken = taken ? rows.Load(answers[answers.size() - 2]) : taken;
  taken = taken && unowned == 0 ? rows.LoadOwners(answers[1]) : taken;
  return taken ? Result<bool>(true) : taken.error();
}

// With the COMMIT.
Result<bool> PostgresWindow::WriteRows(SqlTransaction& transaction, IdRows& rows,
                                       SqlRefusal& refusal) {
  const IdRows::Changes changes = rows.Collect(/*open=*/!atomic());
  std::vector<SqlStatement> writes;
  if (!changes.inserts.empty()) {
    writes.push_back(Text("insert_ids", changes.inserts.Values(scope_.number)));
  }
  if (!changes.updates.empty()) {
    writes.push_back(Text("update_ids", changes.updates.Values(scope_.number)));
  }
  if (!changes.deletes.empty()) {
    writes.push_back(Text("delete_ids", {scope_.number, SqlTexts(changes.deletes)}));
  }
  if (writes.empty()) {
    transaction.Rollback();
    return true;
  }
  const auto written = transaction.CommitAfter(writes);
  if (!written) {
    return written.error();
  }
  if (written->refusal) {
    refusal = *written->refusal;
    return false;
  }
  return true;
}

template <class Request, class Reply>
Result<bool> PostgresWindow::ApplyOnce(std::span<const Request> requests, std::span<Reply> replies,
                                       milliseconds answer, SqlRefusal& refusal) {
  IdRows rows = NewRows();
  AddAll(requests, rows);
  auto begun = client_->BeginLater(answer);
  if (!begun) {
    return begun.error();
  }
  const OwnedPartitions owned = OwnedBy(requests);
  const auto locked = LockRows(**begun, owned.sources, owned.partitions, rows, refusal);
  if (!locked || !*locked) {
    return locked;
  }
  if (const Status usable = Usable(requests); !usable) {
    return usable.error();
  }
  for (size_t i = 0; i < requests.size(); i++) {
    if constexpr (std::is_same_v<Request, ClaimRequest>) {
      rows.File(i, std::max(requests[i].time, requests[i].copies_until));
    } else if constexpr (requires { requests[i].token; }) {
      if (atomic()) {
        rows.Hold(i, requests[i].token, requests[i].at, OwnerOf(requests[i]));
      }
    }
    rows.engine().One(requests[i], rows.At(i), replies[i]);
  }
  return WriteRows(**begun, rows, refusal);
}

template <class Request, class Reply>
Status PostgresWindow::Apply(std::span<const Request> requests, std::span<Reply> replies,
                             milliseconds answer) {
  if (Status fit = CheckBatch(capabilities_, requests, replies.size()); !fit) {
    return fit;
  }
  if (requests.empty()) {
    return {};
  }
  for (int tries = 0; tries < kTries; tries++) {
    SqlRefusal refusal;
    const auto applied = guarded_([&] { return ApplyOnce(requests, replies, answer, refusal); });
    if (!applied) {
      return applied.error();
    }
    if (*applied) {
      return {};
    }
    if (!IsCollision(refusal)) {
      return SqlError(refusal);
    }
  }
  return ChangedEachTime(Effect::kNone);
}

template <class Request, class Reply>
Status PostgresWindow::TryFastOrApply(std::span<const Request> requests, std::span<Reply> replies) {
  if (Status fit = CheckBatch(capabilities_, requests, replies.size()); !fit) {
    return fit;
  }
  if (atomic() || !FitsFastPath(requests)) {
    return Apply(requests, replies);
  }
  const BootTime begun = BootNow();
  const auto made = TryFastPath(requests.front(), replies.front());
  if (!made || *made) {
    return made ? Status() : made.error();
  }
  // All three answers together take two calls at most (WindowCapabilities::longest_call).
  const auto spent = std::chrono::ceil<milliseconds>(BootNow() - begun);
  return Apply(requests, replies, std::max(options_.call - spent / 2, milliseconds(1)));
}

Result<OwnerEpoch> PostgresWindow::RaiseOwnerEpoch(uint32_t source, int32_t partition,
                                                   OwnerEpoch floor) {
  if (partition < 0) {
    return InvalidRequest("only a partition is owned, not number " + std::to_string(partition));
  }
  if (floor > static_cast<OwnerEpoch>(INT64_MAX)) {
    return InvalidRequest("an ownership is below 2^63");
  }
  const std::array statements{
      Text("raise_own", {scope_.number, int64_t{source}, int64_t{partition},
                         static_cast<int64_t>(floor), LockOf(source, partition)}),
      Text("scope_now", {scope_.number})};
  const LogPosition before = LogPositionNow();
  const auto answers = All(statements);
  if (!answers) {
    return answers.error();
  }
  Status usable = TakeTime(answers->back(), before, nullptr);
  usable = usable ? UsableAt(source, partition) : usable;
  if (usable && answers->front().rows.empty()) {
    return Error{Code::kUnavailable, Effect::kNone,
                 "another owner of the partition is writing; it is asked again"};
  }
  if (!usable) {
    return usable.error();
  }
  const SqlAnswer& raised = answers->front();
  if (raised.rows.size() != 1 || raised.rows[0].size() != 1) {
    return TooFewAnswers();
  }
  return static_cast<OwnerEpoch>(NumberOf(raised, 0, 0));
}

Status PostgresWindow::Claim(std::span<const ClaimRequest> requests,
                             std::span<ClaimAnswer> answers) {
  return atomic() ? ReadMarkers(requests, answers) : TryFastOrApply(requests, answers);
}

// Level atomic: one round trip, and no write. As a rule the ids are of one partition.
Status PostgresWindow::ReadMarkers(std::span<const ClaimRequest> requests,
                                   std::span<ClaimAnswer> answers) {
  if (Status fit = CheckBatch(capabilities_, requests, answers.size()); !fit || requests.empty()) {
    return fit;
  }
  IdRows rows = NewRows();
  AddAll(requests, rows);
  const OwnedPartitions owned = OwnedBy(requests);
  const bool any = !owned.sources.empty();
  std::vector<SqlStatement> looks{
      Text("look", {scope_.number, SqlTexts(rows.digests()), any ? owned.sources[0] : 0,
                    any ? owned.partitions[0] : int64_t{kNoPartition}})};
  if (owned.sources.size() > 1) {
    looks.push_back(
        Text("owners", {scope_.number, SqlNumbers(owned.sources), SqlNumbers(owned.partitions)}));
  }
  const LogPosition before = LogPositionNow();
  auto looked = All(looks);
  if (!looked) {
    return Error{looked.error().code, Effect::kNone, looked.error().message};
  }
  const ReadParts parts = PartsOf(std::move(looked->front()));
  Status taken = TakeTime(parts.time, before, &rows);
  taken = taken ? rows.Load(parts.ids) : taken;
  taken = taken ? rows.LoadOwners(looks.size() > 1 ? looked->back() : parts.owners) : taken;
  taken = taken ? Usable(requests) : taken;
  if (!taken) {
    return taken;
  }
  for (size_t i = 0; i < requests.size(); i++) {
    rows.engine().One(requests[i], rows.At(i), answers[i]);
  }
  // A copy keeps its id from ageing.
  return rows.Collect(/*open=*/false).empty() ? Status() : Apply(requests, answers);
}

// The rows change in memory alone.
Status PostgresWindow::Judge(std::span<const ClaimRequest> requests,
                             std::span<ClaimAnswer> answers) {
  if (Status fit = CheckBatch(capabilities_, requests, answers.size()); !fit || requests.empty()) {
    return fit;
  }
  IdRows rows = NewRows();
  AddAll(requests, rows);
  const OwnedPartitions owned = OwnedBy(requests);
  const auto owners = ReadRows(rows, Text("owners", {scope_.number, SqlNumbers(owned.sources),
                                                     SqlNumbers(owned.partitions)}));
  Status read = owners ? rows.LoadOwners(*owners) : owners.error();
  read = read ? Usable(requests) : read;
  for (size_t i = 0; read && i < requests.size(); i++) {
    rows.engine().One(requests[i], rows.At(i), answers[i]);
  }
  return read;
}

Result<SqlAnswer> PostgresWindow::ReadRows(IdRows& rows, SqlStatement besides) {
  const std::array look{Text("look_at_ids", {scope_.number, SqlTexts(rows.digests())}),
                        std::move(besides), Text("scope_now", {scope_.number})};
  const LogPosition before = LogPositionNow();
  auto answers = All(look);
  if (!answers) {
    return Error{answers.error().code, Effect::kNone, answers.error().message};
  }
  Status read = TakeTime(answers->back(), before, &rows);
  read = read ? rows.Load(answers->front()) : read;
  return read ? Result<SqlAnswer>(std::move((*answers)[1])) : read.error();
}

Status PostgresWindow::Complete(std::span<const CompleteRequest> requests,
                                std::span<MarkerChange> answers) {
  const Status done = TryFastOrApply(requests, answers);
  if (done) {
    SweepIdsWithoutPartition(requests);
  }
  return done;
}

// Ids without a partition come without commits, so their completions pay for the sweep.
void PostgresWindow::SweepIdsWithoutPartition(std::span<const CompleteRequest> requests) {
  constexpr uint64_t kEach = 256;  // ids for a step, which passes more rows than that
  const auto without_partition = static_cast<uint64_t>(std::count_if(
      requests.begin(), requests.end(),
      [](const CompleteRequest& request) { return request.at.partition == kNoPartition; }));
  const uint64_t before = without_partition_.fetch_add(without_partition);
  if ((before + without_partition) / kEach != before / kEach) {
    const BootTime now = BootNow();
    const bool due = now >= without_partition_at_.load();
    if (due) {
      without_partition_at_ = now + SweepEvery();
    }
    // Only the space depends on it.
    static_cast<void>(Sweep(1, now + options_.call, due));
  }
}

Status PostgresWindow::Release(std::span<const ReleaseRequest> requests,
                               std::span<MarkerChange> answers) {
  return Apply(requests, answers);
}

Status PostgresWindow::Park(std::span<const ParkRequest> requests,
                            std::span<MarkerChange> answers) {
  return Apply(requests, answers);
}

// At the level atomic there is nothing to renew: the session decides how long a handler may run.
Status PostgresWindow::Renew(std::span<const RenewRequest> requests,
                             std::span<MarkerChange> answers) {
  if (!atomic()) {
    return Apply(requests, answers);
  }
  const Status fit = CheckBatch(capabilities_, requests, answers.size());
  std::fill_n(answers.begin(), fit ? requests.size() : 0, MarkerChange::kMade);
  return fit;
}

Status PostgresWindow::Restore(std::span<const RestoreRequest> requests,
                               std::span<MarkerChange> answers) {
  return Apply(requests, answers);
}

Status PostgresWindow::Peek(std::span<const std::string_view> ids, std::span<MarkerView> views) {
  if (Status fit = CheckBatch(capabilities_, ids, views.size()); !fit) {
    return fit;
  }
  if (ids.empty()) {
    return {};
  }
  const auto coordinates = PossibleCoordinates();
  if (!coordinates) {
    return coordinates.error();
  }
  IdRows rows = NewRows();
  for (const std::string_view id : ids) {
    for (const Coordinates& at : *coordinates) {
      rows.Add(id, at);
    }
  }
  rows.Seal();
  const auto known = ReadRows(rows, Text("known_uncertain", {scope_.number, SqlTexts(ids)}));
  if (!known) {
    return known.error();
  }
  std::fill_n(views.begin(), ids.size(), MarkerView{});
  for (size_t i = 0; i < ids.size() * coordinates->size(); i++) {
    MarkerView view;
    rows.engine().One(std::string_view(), rows.At(i), view);
    MarkerView& told = views[i / coordinates->size()];
    told = view.state != MarkerState::kNone ? view : told;
  }
  MarkUncertain(*known, ids, views);
  return {};
}

}  // namespace oncemq
