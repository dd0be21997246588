// SPDX-License-Identifier: Apache-2.0
#include "words.h"

#include <algorithm>

namespace oncemq::demo {

std::string Grouped(int64_t number) {
  std::string digits = std::to_string(number);
  const size_t first = number < 0 ? 1 : 0;
  for (size_t at = digits.size(); at > first + 3;) {
    at -= 3;
    digits.insert(at, ",");
  }
  return digits;
}

std::string MoneyOf(int64_t cents) {
  const int64_t whole = cents / 100;
  const int64_t rest = cents % 100;
  const std::string part = std::to_string(rest < 0 ? -rest : rest);
  return (cents < 0 && whole == 0 ? "-" : "") + Grouped(whole) + (part.size() < 2 ? ".0" : ".") +
         part + " EUR";
}

std::vector<std::string> Wrapped(std::string_view text, size_t columns) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    if (lines.empty() || lines.back().size() + 1 + word.size() > columns) {
      lines.emplace_back(word);
    } else {
      lines.back().append(" ").append(word);
    }
  }
  return lines;
}

Sum& Sum::Add(int64_t number, std::string_view what, bool always) {
  if (number != 0 || always) {
    text_.append(separator_).append(Grouped(number)).append(" ").append(what);
    separator_ = " + ";
  }
  return *this;
}

}  // namespace oncemq::demo
