// SPDX-License-Identifier: Apache-2.0
#include "layout.h"

#include <algorithm>
#include <utility>

namespace oncemq {
namespace {

YAML::Mark MarkAt(int line, size_t column) {
  YAML::Mark mark;
  mark.line = line;
  mark.column = static_cast<int>(column);
  return mark;
}

bool IsWordCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.' || c == '-';
}

// "  group: x", and "  group:" too.
bool LooksLikeAKey(std::string_view line) {
  const auto* begin = std::find_if(line.begin(), line.end(), [](char c) { return c != ' '; });
  const auto* end = std::find_if_not(begin, line.end(), IsWordCharacter);
  return begin != end && end != line.end() && *end == ':' &&
         (end + 1 == line.end() || end[1] == ' ');
}

// Reads line by line, and knows of YAML only where a quote may begin.
class LayoutScan {
 public:
  explicit LayoutScan(Findings& findings) : findings_(findings) {}

  // False: what follows is inside an open quote.
  bool Line(std::string_view line) {
    number_++;
    if (quote_ != 0) {
      if (LooksLikeAKey(line)) {
        return false;
      }
      Walk(line, 0);
      return true;
    }
    const size_t indent = std::min(line.find_first_not_of(" \t"), line.size());
    const bool empty = indent == line.size();
    if (empty ? block_above_ >= 0 : InBlock(line, indent)) {
      return true;
    }
    if (const size_t tab = line.substr(0, indent).find('\t'); tab != std::string_view::npos) {
      findings_.Add(MarkAt(number_, tab), "a tab stands here; lines are indented with spaces");
    }
    if (empty || line[indent] == '#') {
      return true;
    }
    fresh_ = true;
    Walk(line, indent);
    if (quote_ == 0 && depth_ == 0 && OpensBlock(line)) {
      block_above_ = static_cast<int>(indent);
    }
    return true;
  }

  void End() {
    if (quote_ != 0) {
      findings_.Add(opened_, "the quote that opens here is not closed on its line");
    }
  }

 private:
  // Of lines that are indented deeper than the key of their block.
  bool InBlock(std::string_view line, size_t indent) {
    if (block_above_ >= 0 && static_cast<int>(indent) > block_above_ && line[indent - 1] == ' ') {
      return true;
    }
    block_above_ = -1;
    return false;
  }

  bool OpensBlock(std::string_view line) const {
    const size_t last = line.find_last_not_of("+-0123456789 ");
    return last != std::string_view::npos && last > 0 && (line[last] == '|' || line[last] == '>') &&
           line[last - 1] == ' ';
  }

  void Walk(std::string_view line, size_t at) {
    for (; at < line.size(); at++) {
      const char c = line[at];
      const char next = at + 1 < line.size() ? line[at + 1] : ' ';
      if (quote_ != 0) {
        at += InQuote(c, next);
      } else if (c == '#' && (at == 0 || line[at - 1] == ' ')) {
        return;
      } else if (fresh_ && (c == '"' || c == '\'')) {
        quote_ = c;
        opened_ = MarkAt(number_, at);
      } else if (c != ' ') {
        fresh_ = Opens(c, next);
      }
    }
  }

  // How many characters to skip.
  size_t InQuote(char c, char next) {
    const bool escape = quote_ == '"' ? c == '\\' : c == '\'' && next == '\'';
    if (!escape && c == quote_) {
      quote_ = 0;
      fresh_ = false;
      closed_ = true;
    }
    return escape ? 1 : 0;
  }

  // Whether a value may begin behind it.
  bool Opens(char c, char next) {
    const bool after_closed = std::exchange(closed_, false);
    if (fresh_ && (c == '[' || c == '{')) {
      depth_++;
      return true;
    }
    if (depth_ > 0 && (c == ']' || c == '}')) {
      depth_--;
      closed_ = true;
      return false;
    }
    if (depth_ > 0 && (c == ',' || (c == ':' && after_closed))) {
      return true;
    }
    return (c == ':' && next == ' ') || (c == '-' && fresh_ && next == ' ');
  }

  Findings& findings_;
  int number_ = -1;
  int depth_ = 0;         // of [ and {
  int block_above_ = -1;  // indentation of the key whose block we are in
  bool fresh_ = true;     // a value may begin here
  bool closed_ = false;   // a quote or bracket has just ended: in [ and {, its ':' needs no space
  char quote_ = 0;        // that is open
  YAML::Mark opened_;     // where it was
};

}  // namespace

void FindLayoutFaults(std::string_view yaml, Findings& findings) {
  LayoutScan scan(findings);
  while (!yaml.empty()) {
    const size_t end = std::min(yaml.find('\n'), yaml.size());
    std::string_view line = yaml.substr(0, end);
    if (line.ends_with('\r')) {
      line.remove_suffix(1);
    }
    if (!scan.Line(line)) {
      break;
    }
    yaml.remove_prefix(std::min(end + 1, yaml.size()));
  }
  scan.End();
}

std::string PlainWords(std::string_view parser_says) {
  constexpr std::pair<std::string_view, std::string_view> kMeanings[] = {
      {"illegal map value",
       "a value cannot hold a `key: value`; look at the indentation, and for a colon without a "
       "space behind it, here and in the line above"},
      {"end of map not found", "this line is not indented as a key above it"},
      {"end of sequence not found", "this line is not indented as the items above it"},
      {"end of map flow not found", "a `{` above is not closed"},
      {"end of sequence flow not found", "a `[` above is not closed"},
      {"unknown token", "a value that begins like this needs quotes"},
  };
  for (const auto& [words, meaning] : kMeanings) {
    if (parser_says == words) {
      return " (" + std::string(meaning) + ")";
    }
  }
  return {};
}

}  // namespace oncemq
