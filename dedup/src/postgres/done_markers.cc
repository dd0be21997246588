// SPDX-License-Identifier: Apache-2.0
#include "done_markers.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace oncemq {

void DoneMarkers::Add(std::string digest, const Coordinates& at, const Token& token,
                      uint32_t fingerprint, LogTime time, std::string_view result) {
  Row& row = rows_.emplace_back(Row{std::move(digest), at, {}, fingerprint, 0, result});
  std::memcpy(row.token.data(), &token.process, 8);
  std::memcpy(row.token.data() + 8, &token.attempt, 8);
  row.time = time.time_since_epoch().count();
}

void DoneMarkers::Sort() {
  std::sort(rows_.begin(), rows_.end(),
            [](const Row& a, const Row& b) { return a.digest < b.digest; });
  for (const Row& row : rows_) {
    digests_.push_back(row.digest);
    tokens_.emplace_back(row.token.data(), row.token.size());
    results_.push_back(row.result);
    offsets_.push_back(row.at.offset);
    times_.push_back(row.time);
    fingerprints_.push_back(row.fingerprint);
  }
}

std::vector<SqlValue> DoneMarkers::Inserts(int64_t scope) const {
  const Coordinates at = rows_.empty() ? Coordinates() : rows_.front().at;
  return {scope,
          SqlTexts(digests_),
          int64_t{at.source},
          int64_t{at.partition},
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
