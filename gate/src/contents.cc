// SPDX-License-Identifier: Apache-2.0
#include "oncemq/gate/contents.h"

#include <charconv>
#include <cmath>
#include <string>

#include "parts.h"
#include "sha256.h"

namespace oncemq {
namespace {

// The same text for equal numbers: whole ones without a point, others in the shortest form that
// reads back to the same bits.
std::string NumberText(double number) {
  constexpr double kWhole = 9223372036854775808.0;  // 2^63
  std::array<char, 32> text{};
  const bool whole = number >= -kWhole && number < kWhole && number == std::floor(number);
  const auto end = whole ? std::to_chars(text.begin(), text.end(), static_cast<int64_t>(number))
                         : std::to_chars(text.begin(), text.end(), number);
  return std::isnan(number) ? "nan" : std::string(text.data(), end.ptr);
}

struct AddValue {
  std::string& out;
  void operator()(const std::string& text) const { Add('s', text); }
  void operator()(int64_t number) const { Add('n', std::to_string(number)); }
  void operator()(double number) const { Add('n', NumberText(number)); }
  void operator()(bool yes) const { Add('b', yes ? "1" : "0"); }
  void Add(char kind, std::string_view text) const {
    out.push_back(kind);
    AppendPart(out, text);
  }
};

}  // namespace

Contents Contents::OfBytes(std::string_view bytes) {
  Contents made;
  made.canonical_ = "B";
  made.canonical_ += bytes;
  return made;
}

Contents Contents::OfFields(const Fields& fields) {
  Contents made;
  made.canonical_ = "F";
  for (const auto& [name, value] : fields) {
    AppendPart(made.canonical_, name);
    std::visit(AddValue{made.canonical_}, value);
  }
  return made;
}

ContentsDigest DigestOf(const Contents& contents) {
  return Sha256(contents.canonical());
}

}  // namespace oncemq
