// SPDX-License-Identifier: Apache-2.0
// IdRows: the rows of one batch of ids, read and locked, judged by MarkerEngine, and written back
// where they changed. The same rules judge in memory, on disk and here; only the storage differs.
//
//   IdRows rows(level, times, secret);
//   rows.Add(ids);                    // digests
//   rows.Load(answer, now, horizon);  // of `lock_ids`
//   rows.engine().One(request, rows.At(i), answer);
//   rows.Changes(...)                 // arrays for the statements
//
// Thread safety: none; belongs to one call.
#pragma once

#include <array>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "../marker_engine.h"
#include "oncemq/base/hash.h"
#include "oncemq/clients/sql_session.h"

namespace oncemq {

// A finished id in the table.
struct DoneId {
  Coordinates at;
  Token completer;
  uint32_t fingerprint = 0;
  std::string result;
  LogTime filed;
};

// Columns of rows to write, in the order of the statements.
class IdColumns {
 public:
  static constexpr size_t kNumbers = 12;

  void Add(std::string_view id, const Marker& marker, LogTime filed);
  void Add(std::string_view id, const DoneId& done);
  bool empty() const { return ids_.empty(); }
  size_t size() const { return ids_.size(); }
  // Scope first, then the columns. Valid as long as this and the added values.
  std::vector<SqlValue> Values(int64_t scope) const;

 private:
  std::string_view TokenBytes(const Token& token);
  void AddNumbers(const std::array<int64_t, kNumbers>& numbers);

  std::vector<std::string_view> ids_;
  std::array<std::vector<int64_t>, kNumbers> numbers_;
  std::vector<std::string_view> tokens_;
  std::vector<std::string_view> results_;
  std::deque<std::array<char, 16>> bytes_;
};

class IdRows {
 public:
  IdRows(Level level, const WindowTimes& times, const KeyedHash::Secret& secret);

  static std::string DigestOf(std::string_view id, const KeyedHash::Secret& secret);

  // Before Load(). Ids that are equal share a row.
  void Add(std::string_view id);
  void Seal();
  // In ascending order.
  const std::vector<std::string_view>& digests() const { return digests_; }
  Found At(size_t index) const;

  // kCorrupt: a row that is not ours.
  Status Load(const SqlAnswer& ids);
  Status LoadOwners(const SqlAnswer& owners);
  void SetTime(BootTime now, LogTime horizon);

  MarkerEngine<IdRows>& engine() { return engine_; }

  struct Changes {
    IdColumns inserts;
    IdColumns updates;
    std::vector<std::string_view> deletes;
    bool empty() const { return inserts.empty() && updates.empty() && deletes.empty(); }
  };
  // Valid as long as this. `open`: markers of claims are written, too.
  Changes Collect(bool open);

  // For MarkerEngine.
  std::optional<DoneId> Find(const Found& at) const { return RowOf(at).done; }
  bool CompletedBy(const DoneId& done, const Token& token) const { return done.completer == token; }
  void Append(const Found& at, const Finishing& finishing);
  void Seen(const Found& at, const DoneId& done, LogTime time);
  LogTime horizon() const { return horizon_; }
  void Keep(const Found&, const Marker&) {}
  void Forget(const Found&, const Marker&) {}
  // Where claims are not stored: an id without a row is the request's.
  void Hold(size_t index, const Token& token, const Coordinates& at);
  // Under which time an id is filed whose record has this one.
  void File(size_t index, LogTime time);

 private:
  struct Row {
    bool there = false;
    std::optional<Marker> was;
    std::optional<DoneId> done;
    bool done_changed = false;
    LogTime filed = kNoLogTime;
  };
  Row& RowOf(const Found& at) { return rows_[row_of_[at.index]]; }
  const Row& RowOf(const Found& at) const { return rows_[row_of_[at.index]]; }
  LogTime Filed(LogTime time) const;

  const KeyedHash::Secret& secret_;
  std::vector<std::string> added_;  // digests, in the order of the batch
  std::vector<std::string_view> digests_;
  std::vector<size_t> row_of_;
  std::vector<Row> rows_;  // as digests_
  LogTime wall_;
  LogTime horizon_ = LogTime::min();
  MarkerEngine<IdRows> engine_;
};

}  // namespace oncemq
