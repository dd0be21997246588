// SPDX-License-Identifier: Apache-2.0
// IdRows: the rows of one batch of ids, read and locked, judged, and written back where they
// changed (loaded_ids.h).
//
//   rows.SetTime(now, horizon);
//   rows.Load(answer);                // of `lock_ids`
//   rows.engine().One(request, rows.At(i), answer);
//   rows.Collect(...)                 // arrays for the statements
//
// Thread safety: none; belongs to one call.
#pragma once

#include <array>
#include <deque>
#include <string_view>
#include <vector>

#include "../loaded_ids.h"
#include "oncemq/clients/sql_session.h"

namespace oncemq {

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
  // Likewise of the only row: values instead of arrays. Precondition: size() is 1.
  std::vector<SqlValue> Only(int64_t scope) const;

 private:
  static constexpr size_t kBeforeToken = 6;  // numbers

  std::string_view TokenBytes(const Token& token);
  void AddNumbers(const std::array<int64_t, kNumbers>& numbers);

  std::vector<std::string_view> ids_;
  std::array<std::vector<int64_t>, kNumbers> numbers_;
  std::vector<std::string_view> tokens_;
  std::vector<std::string_view> results_;
  std::deque<std::array<char, 16>> bytes_;
};

class IdRows : public LoadedIds {
 public:
  using LoadedIds::LoadedIds;

  // After SetTime(): an id that is kept no longer counts as unknown. kCorrupt: a row that is not
  // ours.
  Status Load(const SqlAnswer& ids);
  Status LoadOwners(const SqlAnswer& owners);

  struct Changes {
    IdColumns inserts;
    IdColumns updates;
    std::vector<std::string_view> deletes;
    bool empty() const { return inserts.empty() && updates.empty() && deletes.empty(); }
  };
  // Valid as long as this. `open`: markers of claims are written, too.
  Changes Collect(bool open);
};

}  // namespace oncemq
