// SPDX-License-Identifier: Apache-2.0
// The field value of Idempotency-Key: a string of RFC 8941, or the same without its quotes.
#include "oncemq/gate/http_gate.h"

namespace oncemq {
namespace {

constexpr size_t kMaxKeyChars = 255;
constexpr size_t kMaxFieldBytes = 300;

Error NoKey(std::string why) {
  return {Code::kInvalid, Effect::kNone, std::move(why)};
}

std::string_view Trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t";
  const size_t begin = text.find_first_not_of(kBlank);
  return begin == text.npos ? std::string_view()
                            : text.substr(begin, text.find_last_not_of(kBlank) - begin + 1);
}

// Between the quotes; nothing: it is no such string.
Result<std::string> Unquoted(std::string_view text) {
  std::string key;
  for (size_t i = 0; i < text.size(); i++) {
    if (text[i] == '"') {
      return NoKey("an Idempotency-Key ends with its quote: it has no parameters");
    }
    if (text[i] == '\\' && (++i == text.size() || (text[i] != '"' && text[i] != '\\'))) {
      return NoKey("in an Idempotency-Key a backslash stands before a quote or a backslash only");
    }
    if (text[i] < ' ' || text[i] > '~') {
      return NoKey("an Idempotency-Key has printable ASCII characters only");
    }
    key.push_back(text[i]);
  }
  return key;
}

Result<std::string> Bare(std::string_view text) {
  for (const char one : text) {
    if (one <= ' ' || one > '~' || one == '"' || one == '\\' || one == ',' || one == ';') {
      return NoKey(
          "an Idempotency-Key without quotes has visible ASCII characters but for \" \\ , ;");
    }
  }
  return std::string(text);
}

}  // namespace

Result<std::string> IdempotencyKeyOf(const std::vector<std::string>& values) {
  if (values.empty()) {
    return NoKey("this request needs a header Idempotency-Key");
  }
  if (values.size() > 1) {
    return NoKey("a request has one Idempotency-Key, not " + std::to_string(values.size()));
  }
  const std::string_view field = Trimmed(values.front());
  if (field.size() > kMaxFieldBytes) {
    return NoKey("an Idempotency-Key has at most 300 bytes");
  }
  const bool quoted = field.starts_with('"');
  if (quoted && (field.size() < 2 || !field.ends_with('"'))) {
    return NoKey("an Idempotency-Key that begins with a quote ends with one");
  }
  auto key = quoted ? Unquoted(field.substr(1, field.size() - 2)) : Bare(field);
  if (key && (key->empty() || key->size() > kMaxKeyChars)) {
    return NoKey("an Idempotency-Key has 1 to 255 characters");
  }
  return key;
}

}  // namespace oncemq
