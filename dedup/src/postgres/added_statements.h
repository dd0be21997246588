// SPDX-License-Identifier: Apache-2.0
// AddedStatements: copies of statements that wait for the end of a batch. Of equal texts in a row
// there is one copy.
//
// Thread safety: none; belongs to its batch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "oncemq/clients/sql_session.h"

namespace oncemq {

class AddedStatements {
 public:
  // False, and nothing is added: it has an array.
  bool Add(const SqlStatement& statement);
  // Whether the last one has this text.
  bool LastHas(std::string_view text) const;
  size_t size() const { return statements_.size(); }
  // Keeps the first ones.
  void Cut(size_t size);
  // Those of [from, to), after others. Valid until this changes.
  void AppendTo(std::vector<SqlStatement>& others, size_t from, size_t to) const;

 private:
  // Begins in `values_` and in `bytes_`; the next one begins where it ends.
  struct One {
    std::string_view text;
    size_t values;
    size_t bytes;
  };
  struct Bytes {
    size_t begin;
    size_t size;
  };
  struct Text : Bytes {};
  struct Shown;
  std::vector<One> statements_;
  std::deque<std::string> texts_;
  std::vector<std::variant<int64_t, bool, std::nullptr_t, Bytes, Text>> values_;
  std::string bytes_;
};

}  // namespace oncemq
