// SPDX-License-Identifier: Apache-2.0
#include "done_markers.h"

#include <algorithm>
#include <cstring>

namespace oncemq {
namespace {

// An array is filled up with NULL, so a column of nothing but NULL needs no values.
template <class Value>
void ClearIfAll(std::vector<Value>& values, const Value& null) {
  if (std::all_of(values.begin(), values.end(), [&](const Value& one) { return one == null; })) {
    values.clear();
  }
}

}  // namespace

void DoneMarkers::Add(std::string_view digest, const Coordinates& at, const Token& token,
                      uint32_t fingerprint, LogTime time, std::string_view result) {
  Row& row = rows_.emplace_back(
      Row{digest, {}, result, at.offset, fingerprint, time.time_since_epoch().count()});
  std::memcpy(row.token.data(), &token.process, 8);
  std::memcpy(row.token.data() + 8, &token.attempt, 8);
  at_ = at;
}

void DoneMarkers::Unpark(std::string_view digest, uint64_t entry) {
  parked_.emplace_back(digest, static_cast<int64_t>(entry));
}

void DoneMarkers::Sort() {
  std::sort(parked_.begin(), parked_.end());
  for (const auto& [digest, entry] : parked_) {
    parked_digests_.push_back(digest);
    entries_.push_back(entry);
  }
  std::vector<const Row*> sorted;
  sorted.reserve(rows_.size());
  for (const Row& row : rows_) {
    sorted.push_back(&row);
  }
  std::sort(sorted.begin(), sorted.end(),
            [](const Row* a, const Row* b) { return a->digest < b->digest; });
  for (const Row* row : sorted) {
    digests_.push_back(row->digest);
    tokens_.emplace_back(row->token.data(), row->token.size());
    results_.push_back(row->result);
    offsets_.push_back(row->offset);
    times_.push_back(row->time);
    fingerprints_.push_back(row->fingerprint);
  }
  ClearIfAll(results_, std::string_view());
  ClearIfAll(fingerprints_, int64_t{0});
}

std::vector<SqlValue> DoneMarkers::Unparks(int64_t scope) const {
  return {scope, SqlTexts(parked_digests_), SqlNumbers(entries_)};
}

std::vector<SqlValue> DoneMarkers::Inserts(int64_t scope) const {
  return {scope,
          SqlTexts(digests_),
          int64_t{at_.source},
          int64_t{at_.partition},
          SqlNumbers(offsets_),
          SqlNumbers(times_),
          SqlNumbers(fingerprints_),
          SqlTexts(tokens_),
          SqlTexts(results_)};
}

std::vector<SqlValue> DoneMarkers::Finishes(int64_t scope) const {
  return {scope, SqlTexts(digests_), SqlNumbers(times_), SqlTexts(results_)};
}

}  // namespace oncemq
