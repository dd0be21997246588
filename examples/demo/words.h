// SPDX-License-Identifier: Apache-2.0
// Numbers and sums as people read them.
//
// Thread safety: pure functions, and a class for one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace oncemq::demo {

std::string Grouped(int64_t number);  // 22000 -> "22,000"
std::string MoneyOf(int64_t cents);   // 123456 -> "1,234.56 EUR"

// Breaks a text at its spaces into lines of at most `columns` characters. A longer word is a line
// of its own.
std::vector<std::string> Wrapped(std::string_view text, size_t columns);

// "20 = 15 applied + 5 suppressed"; a term that is zero is left out, unless it always belongs
// there.
class Sum {
 public:
  explicit Sum(std::string head) : text_(std::move(head)) {}
  Sum& Add(int64_t number, std::string_view what, bool always = false);
  const std::string& text() const { return text_; }

 private:
  std::string text_;
  std::string_view separator_ = " = ";
};

}  // namespace oncemq::demo
