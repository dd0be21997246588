// SPDX-License-Identifier: Apache-2.0
// Effects and their markers in one transaction of PostgreSQL (level atomic).
#include <algorithm>
#include <deque>

#include "../window_check.h"
#include "postgres_window_engine.h"

namespace oncemq {
namespace {

// Markers of a live batch without an effect. They go, and parked ids are parked again.
struct Undone {
  std::vector<std::string_view> ids;
  IdColumns parked;
};

Undone UndoneOf(const SqlBatch& batch, const std::vector<bool>& finished) {
  Undone undone;
  for (size_t i = 0; i < finished.size(); i++) {
    if (finished[i]) {
      continue;
    }
    undone.ids.push_back(batch.digest(i));
    const ClaimRequest& claim = batch.granted()[i];
    if (claim.parked_entry != 0) {
      Marker parked;
      parked.state = MarkerState::kParked;
      parked.held = false;
      parked.token = claim.token;
      parked.owner_epoch = claim.owner_epoch;
      parked.entry = claim.parked_entry;
      parked.at = claim.at;
      parked.fingerprint = claim.fingerprint;
      undone.parked.Add(batch.digest(i), parked, SqlBatch::FiledAt(claim));
    }
  }
  return undone;
}

}  // namespace

Result<std::unique_ptr<EffectBatch>> PostgresWindow::NewEffects(
    uint32_t source, int32_t partition, std::span<const ClaimRequest> granted) {
  if (!atomic()) {
    return InvalidRequest("the window was opened at another level than atomic");
  }
  IdDigester digester(scope_.secret);
  std::vector<std::string> digests;
  for (const ClaimRequest& claim : granted) {
    digests.push_back(capabilities_.partition_owned ? IdRows::DigestOf(claim.id, claim.at, digester)
                                                    : IdRows::DigestOf(claim.id, digester));
  }
  // All of one partition. The claim of an older owner is fenced with the others.
  OwnerEpoch owner_epoch = 0;
  for (const ClaimRequest& claim : granted) {
    owner_epoch = std::max(owner_epoch, claim.owner_epoch);
  }
  const LogPosition log_position = LogPositionNow();
  if (const Status usable = UsableAt(source, partition); !usable) {
    return usable.error();  // the server has lost the ground of the claims
  }
  SqlBatch::Opening opening{{},
                            texts_["unpark"],
                            texts_["insert_done"],
                            scope_.number,
                            {static_cast<int64_t>(owner_epoch), log_position.started,
                             log_position.timeline, log_position.position}};
  if (owner_epoch != 0) {
    opening.before.push_back(Text("share_one", {LockOf(source, partition)}));
  }
  return std::unique_ptr<EffectBatch>(std::make_unique<SqlBatch>(
      this, client_, std::vector<ClaimRequest>(granted.begin(), granted.end()), std::move(digests),
      std::move(opening)));
}

std::string PostgresWindow::DigestOf(std::string_view id, const Coordinates& at) const {
  IdDigester digester(scope_.secret);
  return capabilities_.partition_owned ? IdRows::DigestOf(id, at, digester)
                                       : IdRows::DigestOf(id, digester);
}

Status PostgresWindow::CompleteWith(EffectBatch& effects, std::span<const CompleteRequest> requests,
                                    std::span<MarkerChange> answers) {
  if (Status fit = CheckBatch(capabilities_, requests, answers.size()); !fit) {
    return fit;
  }
  if (effects.window() != this) {
    return InvalidRequest("the effects belong to another window");
  }
  if (requests.empty()) {
    return NoMarkerForEffects();
  }
  const Status written = WriteBatch(static_cast<SqlBatch&>(effects), requests);
  const bool fenced = !written && written.error().code == Code::kFenced;
  std::fill_n(answers.begin(), requests.size(),
              fenced ? MarkerChange::kFenced : MarkerChange::kMade);
  return fenced ? Status() : written;
}

// One round trip. kFenced says: another transaction has finished a copy of an id. A live batch has
// its markers, and only the news of its handlers are written.
Status PostgresWindow::WriteBatch(SqlBatch& batch, std::span<const CompleteRequest> requests) {
  const bool live = batch.live();
  std::vector<bool> finished(batch.granted().size());
  std::deque<std::string> other;  // digests of ids without a grant
  DoneMarkers done(requests.size());
  size_t next = 0;
  for (const CompleteRequest& request : requests) {
    const auto grant = batch.GrantOf(request.id, request.token, next);
    if (!grant) {
      done.Add(other.emplace_back(DigestOf(request.id, request.at)), request.at, request.token, 0,
               request.time, request.result);
      continue;
    }
    finished[*grant] = true;
    next = *grant + 1;
    const ClaimRequest& claim = batch.granted()[*grant];
    if (!live || !request.result.empty() || request.time > SqlBatch::FiledAt(claim)) {
      done.Add(batch.digest(*grant), request.at, request.token, claim.fingerprint, request.time,
               request.result);
    }
    if (!live && claim.parked_entry != 0) {
      done.Unpark(batch.digest(*grant), claim.parked_entry);
    }
  }
  done.Sort();
  Undone undone;
  std::vector<SqlStatement> first;
  if (!live) {
    first = batch.Opens(done);
  } else {
    undone = UndoneOf(batch, finished);
  }
  if (live && !done.empty()) {
    first.push_back(Text("finish_done", done.Finishes(scope_.number)));
  }
  if (!undone.ids.empty()) {
    first.push_back(Text("delete_ids", {scope_.number, SqlTexts(undone.ids)}));
  }
  if (!undone.parked.empty()) {
    first.push_back(Text("insert_ids", undone.parked.Values(scope_.number)));
  }
  // A live batch has its connection. It need not ask whether the server answers.
  const size_t ours = first.size();
  const auto written = live ? batch.Commit(first) : guarded_([&] { return batch.Commit(first); });
  if (!written) {
    return written.error();
  }
  return written->refusal ? Status(ErrorOfBatch(*written->refusal, ours)) : Status();
}

}  // namespace oncemq
