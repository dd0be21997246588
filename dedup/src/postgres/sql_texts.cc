// SPDX-License-Identifier: Apache-2.0
#include "sql_texts.h"

#include "oncemq/base/check.h"

namespace oncemq {

std::string FillIn(std::string_view text,
                   const std::map<std::string, std::string, std::less<>>& words) {
  std::string filled;
  while (!text.empty()) {
    const size_t begin = text.find('@');
    const size_t end = begin == text.npos ? text.npos : text.find('@', begin + 1);
    const auto word =
        end == text.npos ? words.end() : words.find(text.substr(begin + 1, end - begin - 1));
    filled += text.substr(0, begin);
    if (word != words.end()) {
      filled += word->second;
      text.remove_prefix(end + 1);
    } else {
      filled += begin == text.npos ? "" : "@";
      text.remove_prefix(begin == text.npos ? text.size() : begin + 1);
    }
  }
  return filled;
}

SqlTextsByName::SqlTextsByName(std::string_view file,
                               const std::map<std::string, std::string, std::less<>>& words) {
  constexpr std::string_view kName = "-- name: ";
  for (size_t at = file.find(kName); at != file.npos;) {
    const size_t line_end = file.find('\n', at);
    const size_t next = file.find(kName, line_end);
    const std::string_view name = file.substr(at + kName.size(), line_end - at - kName.size());
    // Comments are for readers of the file.
    std::string_view lines = file.substr(line_end + 1, next - line_end - 1);
    std::string text;
    while (!lines.empty()) {
      const size_t end = lines.find('\n');
      const std::string_view line = lines.substr(0, end);
      if (!line.starts_with("--") && !line.empty()) {
        text.append(text.empty() ? "" : "\n").append(line);
      }
      lines.remove_prefix(end == lines.npos ? lines.size() : end + 1);
    }
    texts_[std::string(name)] = FillIn(text, words);
    at = next;
  }
}

std::string_view SqlTextsByName::operator[](std::string_view name) const {
  const auto found = texts_.find(name);
  ONCEMQ_CHECK(found != texts_.end(), "a statement that is not in the file");
  return found->second;
}

}  // namespace oncemq
