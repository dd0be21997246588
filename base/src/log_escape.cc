// SPDX-License-Identifier: Apache-2.0
#include "log_escape.h"

#include <algorithm>
#include <cstdint>

#include "oncemq/base/utf8.h"

namespace oncemq {
namespace {

enum class Style { kText, kQuotedText, kJson };

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
constexpr char kDigits[] = "0123456789abcdef";

struct Character {
  uint32_t code = 0;
  size_t length = 1;
  bool valid = false;
};

bool IsTail(char c) {
  return (static_cast<unsigned char>(c) & 0xC0) == 0x80;
}

// Reads one character as RFC 3629 allows it: no overlong form, no surrogate, nothing above
// U+10FFFF.
Character Decode(std::string_view bytes) {
  const auto first = static_cast<unsigned char>(bytes[0]);
  if (first < 0x80) {
    return {first, 1, true};
  }
  const size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || bytes.size() < length) {
    return {};
  }
  uint32_t code = first & (0xFFu >> (length + 1));
  for (size_t i = 1; i < length; i++) {
    if (!IsTail(bytes[i])) {
      return {};
    }
    code = (code << 6) | (static_cast<unsigned char>(bytes[i]) & 0x3Fu);
  }
  const bool overlong = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
  const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  if (overlong || surrogate || code > 0x10FFFF) {
    return {};
  }
  return {code, length, true};
}

// Controls, and characters that a reader cannot see but that move or hide what he sees.
bool MustEscape(uint32_t code) {
  return code < 0x20 || (code >= 0x7F && code <= 0x9F) || code == 0x61C || code == 0xFEFF ||
         (code >= 0x200B && code <= 0x200F) || (code >= 0x2028 && code <= 0x202E) ||
         (code >= 0x2060 && code <= 0x2069);
}

void AppendHex(std::string& out, uint32_t value, int digits) {
  for (int shift = (digits - 1) * 4; shift >= 0; shift -= 4) {
    out.push_back(kDigits[(value >> shift) & 15]);
  }
}

void AppendEscape(std::string& out, uint32_t code, Style style) {
  out.push_back('\\');
  if (code == '\n') {
    out.push_back('n');
  } else if (code == '\r') {
    out.push_back('r');
  } else if (code == '\t') {
    out.push_back('t');
  } else if (code < 0x100 && style != Style::kJson) {
    out.push_back('x');
    AppendHex(out, code, 2);
  } else {
    out.push_back('u');
    AppendHex(out, code, 4);
  }
}

bool NeedsBackslash(uint32_t code, Style style) {
  // Free text keeps its quotes, but doubles the backslash, or an escape could be forged.
  return code == '\\' || (code == '"' && style != Style::kText);
}

void AppendCharacters(std::string& out, std::string_view bytes, Style style) {
  size_t cut = bytes.size();
  if (bytes.size() > kLogStringLimit) {
    cut = kLogStringLimit;
    for (size_t back = 0; back < 3 && cut > 0 && IsTail(bytes[cut]); back++) {
      cut--;
    }
  }
  for (size_t at = 0; at < cut;) {
    const Character c = Decode(bytes.substr(at, cut - at));
    if (!c.valid) {
      out += kReplacement;
    } else if (MustEscape(c.code)) {
      AppendEscape(out, c.code, style);
    } else {
      if (NeedsBackslash(c.code, style)) {
        out.push_back('\\');
      }
      out += bytes.substr(at, c.length);
    }
    at += c.length;
  }
  if (cut < bytes.size()) {
    out += "...(+" + std::to_string(bytes.size() - cut) + " bytes)";
  }
}

}  // namespace

std::string ValidUtf8(std::string_view bytes) {
  std::string out;
  while (!bytes.empty()) {
    const Character character = Decode(bytes);
    out += character.valid ? bytes.substr(0, character.length) : kReplacement;
    bytes.remove_prefix(character.length);
  }
  return out;
}

void AppendLogText(std::string& out, std::string_view bytes) {
  AppendCharacters(out, bytes, Style::kText);
}

void AppendLogValue(std::string& out, std::string_view bytes) {
  const bool plain = !bytes.empty() && std::none_of(bytes.begin(), bytes.end(), [](char c) {
    return c == ' ' || c == '"' || c == '=' || c == '\\';
  });
  if (plain) {
    AppendCharacters(out, bytes, Style::kText);
    return;
  }
  out.push_back('"');
  AppendCharacters(out, bytes, Style::kQuotedText);
  out.push_back('"');
}

void AppendLogJson(std::string& out, std::string_view bytes) {
  out.push_back('"');
  AppendCharacters(out, bytes, Style::kJson);
  out.push_back('"');
}

}  // namespace oncemq
