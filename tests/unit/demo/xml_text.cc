// SPDX-License-Identifier: Apache-2.0
#include "xml_text.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <vector>

namespace oncemq::demo {
namespace {

// No markup begins in it, and its entities are those that every reader of XML knows.
bool IsPlain(std::string_view text) {
  static const std::set<std::string_view> kKnown = {"amp", "lt", "gt", "quot", "apos", "#39"};
  for (size_t at = text.find_first_of("<&"); at != std::string_view::npos;
       at = text.find_first_of("<&", at + 1)) {
    const size_t end = text.find(';', at);
    if (text[at] == '<' || end == std::string_view::npos ||
        !kKnown.contains(text.substr(at + 1, end - at - 1))) {
      return false;
    }
  }
  return true;
}

size_t NameLength(std::string_view text) {
  const auto* const end = std::find_if_not(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '-' || c == ':';
  });
  return static_cast<size_t>(end - text.begin());
}

// The inside of a tag behind its name: attributes, each once.
bool AreAttributes(std::string_view text) {
  std::set<std::string_view> names;
  while (true) {
    const size_t begin = text.find_first_not_of(" \n");
    if (begin == std::string_view::npos) {
      return true;
    }
    text.remove_prefix(begin);
    const size_t length = NameLength(text);
    if (begin == 0 || length == 0 || text.substr(length, 2) != "=\"" ||
        !names.insert(text.substr(0, length)).second) {
      return false;
    }
    text.remove_prefix(length + 2);
    const size_t end = text.find('"');
    if (end == std::string_view::npos || !IsPlain(text.substr(0, end))) {
      return false;
    }
    text.remove_prefix(end + 1);
  }
}

// The end of a tag: the first '>' that stands in no attribute.
size_t TagEnd(std::string_view text, size_t at) {
  bool quoted = false;
  for (; at < text.size(); ++at) {
    quoted ^= text[at] == '"';
    if (text[at] == '>' && !quoted) {
      return at;
    }
  }
  return std::string_view::npos;
}

class Document {
 public:
  std::string Read(std::string_view text) {
    if (text.starts_with("<!DOCTYPE html>\n")) {
      text.remove_prefix(text.find('\n') + 1);
    }
    while (!text.empty()) {
      const size_t tag = std::min(text.find('<'), text.size());
      if (!Text(text.substr(0, tag))) {
        return "text: " + std::string(text.substr(0, 80));
      }
      text.remove_prefix(tag);
      const size_t end = TagEnd(text, 0);
      if (!text.empty() && (end == std::string_view::npos || !Tag(text.substr(1, end - 1)))) {
        return "tag: " + std::string(text.substr(0, 80));
      }
      text.remove_prefix(text.empty() ? 0 : end + 1);
    }
    return open_.empty() && seen_root_ ? "" : "an element is open, or there is none";
  }

 private:
  bool Text(std::string_view text) const {
    const bool blank = text.find_first_not_of(" \n") == std::string_view::npos;
    return blank || (!open_.empty() && IsPlain(text));
  }
  bool Tag(std::string_view tag) {
    if (tag.starts_with('/')) {
      const bool closes = !open_.empty() && open_.back() == tag.substr(1);
      if (closes) {
        open_.pop_back();
      }
      return closes;
    }
    const bool closed = tag.ends_with('/');
    const size_t length = NameLength(tag);
    if (length == 0 || (open_.empty() && seen_root_)) {
      return false;
    }
    seen_root_ = true;
    if (!closed) {
      open_.push_back(tag.substr(0, length));
    }
    tag.remove_suffix(closed ? 1 : 0);
    return AreAttributes(tag.substr(length));
  }

  std::vector<std::string_view> open_;
  bool seen_root_ = false;
};

}  // namespace

std::string WhyNotXml(std::string_view text) {
  return Document().Read(text);
}

}  // namespace oncemq::demo
