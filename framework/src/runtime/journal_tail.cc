// SPDX-License-Identifier: Apache-2.0
#include "journal_tail.h"

#include <algorithm>

#include "oncemq/base/bytes.h"

namespace oncemq {
namespace {

std::optional<uint64_t> EntryNumber(std::string_view line) {
  if (!line.starts_with(kJournalLineBegin) || !line.ends_with('}')) {
    return std::nullopt;
  }
  line.remove_prefix(kJournalLineBegin.size());
  const auto number = ParseDecimal(line.substr(0, line.find(',')));
  const uint64_t entry = number && *number > 0 ? static_cast<uint64_t>(*number) : 0;
  return entry > 0 && entry <= kLastJournalEntry ? std::optional(entry) : std::nullopt;
}

}  // namespace

std::optional<JournalTail> FindJournalTail(std::string_view bytes, bool complete) {
  const size_t last = bytes.rfind('\n');
  if (last == std::string_view::npos) {
    // A first line that was torn. In a longer file a line feed had to be here.
    const size_t compared = std::min(bytes.size(), kJournalLineBegin.size());
    const bool ours = bytes.substr(0, compared) == kJournalLineBegin.substr(0, compared);
    return complete && ours ? std::optional(JournalTail{}) : std::nullopt;
  }
  const size_t before = last == 0 ? std::string_view::npos : bytes.rfind('\n', last - 1);
  if (before == std::string_view::npos && !complete) {
    return std::nullopt;  // no line of ours is that long
  }
  const size_t begin = before == std::string_view::npos ? 0 : before + 1;
  const auto number = EntryNumber(bytes.substr(begin, last - begin));
  return number ? std::optional(JournalTail{last + 1, *number}) : std::nullopt;
}

}  // namespace oncemq
