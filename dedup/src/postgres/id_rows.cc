// SPDX-License-Identifier: Apache-2.0
#include "id_rows.h"

#include <algorithm>
#include <cstring>

#include "oncemq/base/bytes.h"
#include "oncemq/base/check.h"

namespace oncemq {
namespace {

constexpr int64_t kOpenRow = 1;
constexpr int64_t kDoneRow = 2;
constexpr int64_t kParkedRow = 3;
constexpr int64_t kHandedRow = 4;
constexpr int64_t kHeld = 1;
constexpr int64_t kUncertain = 2;
constexpr int64_t kCut = 4;
enum Column : size_t {
  kId,
  kState,
  kSource,
  kPart,
  kOffset,
  kFiledAt,
  kPrint,
  kToken,
  kOwnerEpoch,
  kAttempt,
  kFlags,
  kGranted,
  kEnds,
  kEntry,
  kResult,
  kHolderOwnerEpoch,
  kHolderRaised,
  kColumns
};

Error NotOurs() {
  return {Code::kCorrupt, Effect::kNone, "the table of ids has a row that is not ours"};
}

// NULL is 0.
int64_t Number(const SqlRow& row, size_t column) {
  return row[column] ? ParseDecimal(*row[column]).value_or(0) : 0;
}

// Of a row that is not done.
MarkerState StateOf(int64_t number) {
  return number == kParkedRow   ? MarkerState::kParked
         : number == kHandedRow ? MarkerState::kHanded
                                : MarkerState::kOpen;
}

int64_t NumberOf(MarkerState state) {
  return state == MarkerState::kParked   ? kParkedRow
         : state == MarkerState::kHanded ? kHandedRow
                                         : kOpenRow;
}

Token TokenOf(const SqlCell& cell) {
  Token token;
  if (cell && cell->size() == 16) {
    std::memcpy(&token.process, cell->data(), 8);
    std::memcpy(&token.attempt, cell->data() + 8, 8);
  }
  return token;
}

int64_t Millis(LogTime time) {
  return time.time_since_epoch().count();
}

}  // namespace

std::string_view IdColumns::TokenBytes(const Token& token) {
  if (token.empty()) {
    return {};
  }
  std::array<char, 16>& bytes = bytes_.emplace_back();
  std::memcpy(bytes.data(), &token.process, 8);
  std::memcpy(bytes.data() + 8, &token.attempt, 8);
  return {bytes.data(), bytes.size()};
}

void IdColumns::AddNumbers(const std::array<int64_t, kNumbers>& numbers) {
  for (size_t i = 0; i < kNumbers; i++) {
    numbers_[i].push_back(numbers[i]);
  }
}

void IdColumns::Add(std::string_view id, const Marker& m, LogTime filed) {
  ids_.push_back(id);
  tokens_.push_back(TokenBytes(m.token));
  results_.emplace_back();
  AddNumbers({NumberOf(m.state), m.at.source, m.at.partition, m.at.offset, Millis(filed),
              m.fingerprint, static_cast<int64_t>(m.owner_epoch), m.attempt,
              (m.held ? kHeld : 0) | (m.uncertain ? kUncertain : 0) | (m.cut ? kCut : 0),
              m.granted_at.time_since_epoch().count(), m.lease_end.time_since_epoch().count(),
              static_cast<int64_t>(m.entry)});
}

void IdColumns::Add(std::string_view id, const DoneId& done) {
  ids_.push_back(id);
  tokens_.push_back(TokenBytes(done.completer));
  results_.push_back(done.result);
  const bool ends = done.at.partition == kNoPartition;
  AddNumbers({kDoneRow, done.at.source, done.at.partition, done.at.offset, Millis(done.filed),
              done.fingerprint, 0, 0, 0, 0, ends ? done.ends.time_since_epoch().count() : 0, 0});
}

// id, state, source, part, off, filed, print, token, own, attempt, flags, granted, ends, entry,
// result.
std::vector<SqlValue> IdColumns::Values(int64_t scope) const {
  std::vector<SqlValue> values{scope, SqlTexts(ids_)};
  for (size_t i = 0; i < kNumbers; i++) {
    if (i == kBeforeToken) {
      values.emplace_back(SqlTexts(tokens_));
    }
    values.emplace_back(SqlNumbers(numbers_[i]));
  }
  values.emplace_back(SqlTexts(results_));
  return values;
}

std::vector<SqlValue> IdColumns::Only(int64_t scope) const {
  ONCEMQ_CHECK(size() == 1, "one row has one value for each column");
  std::vector<SqlValue> values{scope, ids_[0]};
  for (size_t i = 0; i < kNumbers; i++) {
    if (i == kBeforeToken) {
      values.emplace_back(tokens_[0]);
    }
    values.emplace_back(numbers_[i][0]);
  }
  values.emplace_back(results_[0]);
  return values;
}

Status IdRows::Load(const SqlAnswer& ids) {
  for (const SqlRow& cells : ids.rows) {
    const bool complete = cells.size() == kColumns;
    const int64_t state = complete ? Number(cells, kState) : 0;
    const std::string digest = complete ? cells[kId].value_or("") : "";
    const auto found = std::lower_bound(digests().begin(), digests().end(), digest);
    if (state < kOpenRow || state > kHandedRow || found == digests().end() || *found != digest) {
      return NotOurs();
    }
    const auto index = static_cast<size_t>(found - digests().begin());
    Row& row = rows()[index];
    row.there = true;
    row.filed = LogTime(milliseconds(Number(cells, kFiledAt)));
    const Coordinates at{static_cast<uint32_t>(Number(cells, kSource)),
                         static_cast<int32_t>(Number(cells, kPart)), Number(cells, kOffset)};
    const BootTime ends(microseconds(Number(cells, kEnds)));
    const bool without_partition = state == kDoneRow && at.partition == kNoPartition;
    const bool ended = without_partition && cells[kEnds] && ends <= now();
    if (ended) {
      continue;
    }
    if (state == kDoneRow) {
      row.done = DoneId{at,
                        TokenOf(cells[kToken]),
                        static_cast<uint32_t>(Number(cells, kPrint)),
                        cells[kResult].value_or(""),
                        row.filed,
                        cells[kEnds] ? ends : BootTime::max()};
      continue;
    }
    Marker marker;
    marker.token = TokenOf(cells[kToken]);
    marker.owner_epoch = static_cast<OwnerEpoch>(Number(cells, kOwnerEpoch));
    marker.lease_end = ends;
    marker.granted_at = BootTime(microseconds(Number(cells, kGranted)));
    marker.entry = static_cast<uint64_t>(Number(cells, kEntry));
    marker.at = at;
    marker.attempt = static_cast<uint32_t>(Number(cells, kAttempt));
    marker.fingerprint = static_cast<uint32_t>(Number(cells, kPrint));
    marker.state = StateOf(state);
    marker.held = (Number(cells, kFlags) & kHeld) != 0;
    marker.uncertain = (Number(cells, kFlags) & kUncertain) != 0;
    marker.cut = (Number(cells, kFlags) & kCut) != 0;
    LoadMarker(index, marker);
    if (cells[kHolderOwnerEpoch]) {
      engine().owners().Restore(at.source, at.partition,
                                static_cast<OwnerEpoch>(Number(cells, kHolderOwnerEpoch)),
                                BootTime(microseconds(Number(cells, kHolderRaised))));
    }
  }
  return {};
}

Status IdRows::LoadOwners(const SqlAnswer& owners) {
  for (const SqlRow& cells : owners.rows) {
    if (cells.size() != 4) {
      return NotOurs();
    }
    engine().owners().Restore(
        static_cast<uint32_t>(Number(cells, 0)), static_cast<int32_t>(Number(cells, 1)),
        static_cast<OwnerEpoch>(Number(cells, 2)), BootTime(microseconds(Number(cells, 3))));
  }
  return {};
}

IdRows::Changes IdRows::Collect(bool open) {
  Changes changes;
  for (size_t i = 0; i < rows().size(); i++) {
    const Row& row = rows()[i];
    const Marker* marker = MarkerOf(i);
    IdColumns& columns = row.there ? changes.updates : changes.inserts;
    if (marker != nullptr) {
      const bool claimed = marker->state == MarkerState::kOpen;
      const bool reopened = claimed && row.was && row.was->state == MarkerState::kParked;
      const bool kept = open || !claimed || (row.there && !reopened);
      if (kept && (!row.was || !Same(*row.was, *marker))) {
        columns.Add(digests()[i], *marker, row.filed);
      }
    } else if (row.done) {
      if (row.done_changed) {
        columns.Add(digests()[i], *row.done);
      }
    } else if (row.there) {
      changes.deletes.push_back(digests()[i]);
    }
  }
  return changes;
}

}  // namespace oncemq
