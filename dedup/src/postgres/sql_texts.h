// SPDX-License-Identifier: Apache-2.0
// SqlTexts: statements by their names, out of a file that has each after a line `-- name: x`.
//
// Thread safety: immutable after construction.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace oncemq {

// In `text`, each @key@ of `words` is replaced.
std::string FillIn(std::string_view text,
                   const std::map<std::string, std::string, std::less<>>& words);

class SqlTextsByName {
 public:
  SqlTextsByName(std::string_view file,
                 const std::map<std::string, std::string, std::less<>>& words);
  // Aborts for a name that the file does not have.
  std::string_view operator[](std::string_view name) const;

 private:
  std::map<std::string, std::string, std::less<>> texts_;
};

}  // namespace oncemq
