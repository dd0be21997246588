// SPDX-License-Identifier: Apache-2.0
#include "oncemq/framework/commit_metadata.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <utility>

#include "oncemq/base/bytes.h"
#include "oncemq/base/check.h"

namespace oncemq {
namespace {

constexpr std::string_view kPrefix = "oncemq/1 ";
constexpr std::string_view kAnyVersion = "oncemq/";
constexpr size_t kChecksum = sizeof(" x=00000000") - 1;
// No clock and no count of ours comes near them, so nothing that is computed from them overflows.
constexpr uint64_t kMaxOwn = uint64_t{1} << 62;
constexpr int64_t kMaxCount = int64_t{1} << 58;
constexpr size_t kMaxListed = 1024;  // more than fit

void Field(std::string& out, char name, std::string_view value) {
  out += name;
  out += '=';
  out += value;
  out += ' ';
}

std::string Join(std::span<const int64_t> numbers) {
  std::string out;
  for (const int64_t number : numbers) {
    out += out.empty() ? "" : ",";
    out += std::to_string(number);
  }
  return out;
}

std::optional<std::vector<int64_t>> Split(std::string_view text, size_t most) {
  std::vector<int64_t> numbers;
  while (!text.empty()) {
    const size_t comma = text.find(',');
    const auto number = ParseDecimal(text.substr(0, comma));
    if (!number || *number < 0 || numbers.size() == most) {
      return std::nullopt;
    }
    numbers.push_back(*number);
    text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
    if (comma != std::string_view::npos && text.empty()) {
      return std::nullopt;
    }
  }
  return numbers;
}

// The offsets that may have been begun: a list of a clean end, else at most two bounds.
std::vector<int64_t> Begun(const CommitMetadata& m) {
  if (m.clean) {
    return m.abandoned;
  }
  std::vector<int64_t> bounds;
  if (m.reserved) {
    bounds.push_back(*m.reserved);
    if (m.inherited > 0) {
      bounds.push_back(m.inherited);
    }
  }
  return bounds;
}

bool ReadBegun(std::vector<int64_t> numbers, CommitMetadata& m) {
  constexpr size_t kBounds = 2;
  if (m.clean) {
    m.abandoned = std::move(numbers);
    return true;
  }
  if (numbers.size() > kBounds) {
    return false;
  }
  if (numbers.size() == kBounds) {
    m.inherited = numbers[1];
    if (m.inherited == 0 || m.inherited > numbers[0]) {
      return false;
    }
  }
  if (!numbers.empty()) {
    m.reserved = numbers[0];
  }
  return true;
}

std::string Header(const CommitMetadata& m) {
  std::vector<int64_t> skipped;
  for (const OffsetMap::Range& range : m.skipped.ranges()) {
    skipped.insert(skipped.end(), {range.from, range.to});
  }
  const Totals& t = m.totals;
  const std::array<int64_t, 5> totals{t.applied, t.suppressed, t.parked, t.rejected, t.skipped};
  std::string out(kPrefix);
  Field(out, 's', Hex(m.scope));
  Field(out, 'r', std::to_string(m.recipe));
  Field(out, 'i', Hex(m.source_identity));
  Field(out, 'o', Hex(m.own));
  Field(out, 'a', std::to_string(m.since));
  Field(out, 't', std::to_string(m.top));
  Field(out, 'c', m.clean ? "1" : "0");
  Field(out, 'b', Join(Begun(m)));
  Field(out, 'k', Join(skipped));
  Field(out, 'n', Join(totals));
  return out;
}

// Hands out the fields in their fixed order.
class Fields {
 public:
  explicit Fields(std::string_view text) : text_(text) {}
  std::optional<std::string_view> Next(char name) {
    if (text_.size() < 2 || text_[0] != name || text_[1] != '=') {
      return std::nullopt;
    }
    const size_t end = text_.find(' ');
    const std::string_view value = text_.substr(2, end == std::string_view::npos ? end : end - 2);
    text_.remove_prefix(end == std::string_view::npos ? text_.size() : end + 1);
    return value;
  }
  bool empty() const { return text_.empty(); }

 private:
  std::string_view text_;
};

bool ReadNumbers(Fields& fields, CommitMetadata& m) {
  const auto read = [&](char name, auto parse) {
    const auto text = fields.Next(name);
    return text ? parse(*text) : std::nullopt;
  };
  const auto scope = read('s', ParseHex);
  const auto recipe = read('r', ParseDecimal);
  const auto identity = read('i', ParseHex);
  const auto own = read('o', ParseHex);
  const auto since = read('a', ParseDecimal);
  const auto top = read('t', ParseDecimal);
  const auto clean = read('c', ParseDecimal);
  if (!scope || !recipe || !identity || !own || !since || !top || !clean || *recipe < 0 ||
      *recipe > INT32_MAX || *since < 0 || *top < 0 || *clean < 0 || *clean > 1 || *own > kMaxOwn) {
    return false;
  }
  m.scope = *scope;
  m.recipe = static_cast<uint32_t>(*recipe);
  m.source_identity = *identity;
  m.own = *own;
  m.since = *since;
  m.top = *top;
  m.clean = *clean == 1;
  return true;
}

bool ReadLists(Fields& fields, CommitMetadata& m) {
  constexpr size_t kTotals = 5;
  const auto read = [&](char name, size_t most) {
    const auto text = fields.Next(name);
    return text ? Split(*text, most) : std::nullopt;
  };
  auto begun = read('b', kMaxAbandoned);
  const auto skipped = read('k', kMaxListed);
  const auto totals = read('n', kTotals);
  if (!begun || !skipped || skipped->size() % 2 != 0 || !totals || totals->size() != kTotals ||
      std::any_of(totals->begin(), totals->end(),
                  [](int64_t count) { return count > kMaxCount; })) {
    return false;
  }
  if (!ReadBegun(std::move(*begun), m)) {
    return false;
  }
  int64_t at = -1;
  for (size_t i = 0; i < skipped->size(); i += 2) {
    if ((*skipped)[i] <= at || (*skipped)[i + 1] <= (*skipped)[i]) {
      return false;
    }
    m.skipped.Append((*skipped)[i], (*skipped)[i + 1]);
    at = (*skipped)[i + 1];
  }
  m.totals = {(*totals)[0], (*totals)[1], (*totals)[2], (*totals)[3], (*totals)[4]};
  return true;
}

std::optional<OffsetMap> ReadMap(std::optional<std::string_view> text, int64_t offset) {
  const auto bytes = text ? Base64Decode(*text) : std::nullopt;
  return bytes ? OffsetMap::Decode(*bytes, offset) : std::nullopt;
}

bool Within(const OffsetMap& part, const OffsetMap& whole) {
  return std::all_of(part.ranges().begin(), part.ranges().end(),
                     [&](const OffsetMap::Range& range) { return whole.Contains(range); });
}

std::string Checksum(std::string_view body) {
  return Hex(Crc32c(body)).substr(8);
}

}  // namespace

size_t MapBudget(const CommitMetadata& metadata) {
  constexpr size_t kFixed = sizeof("w=0123456789abcdef p= m=") + kChecksum +
                            72;  // totals and frontier may grow by a few digits
  const size_t header = Header(metadata).size() + kFixed;
  return header >= kMaxCommitMetadata ? 0 : (kMaxCommitMetadata - header) / 4 * 3;
}

bool MapFits(const FrontierSnapshot& snapshot, const CommitMetadata& metadata) {
  const size_t room = MapBudget(metadata);
  return room > 0 && snapshot.map.Encode(snapshot.offset).size() +
                             snapshot.not_done.Encode(snapshot.offset).size() <=
                         room;
}

void CloseUpSkipped(CommitMetadata& metadata) {
  const OffsetMap old = std::exchange(metadata.skipped, {});
  if (!old.empty()) {
    metadata.skipped.Append(old.ranges().front().from, old.ranges().back().to);
  }
}

std::string EncodeCommit(const CommitMetadata& metadata, int64_t offset) {
  std::string out = Header(metadata);
  if (metadata.incarnation != 0) {
    Field(out, 'w', Hex(metadata.incarnation));
  }
  if (!metadata.not_done.empty()) {
    Field(out, 'p', Base64Encode(metadata.not_done.Encode(offset)));
  }
  out += "m=";
  out += Base64Encode(metadata.map.Encode(offset));
  out += " x=" + Checksum(out);
  ONCEMQ_CHECK(out.size() <= kMaxCommitMetadata, "the map was cut to its budget");
  return out;
}

Result<CommitMetadata> DecodeCommit(std::string_view text, int64_t offset) {
  if (!text.starts_with(kAnyVersion)) {
    return Error{Code::kNotFound, Effect::kNone, "the commit was not made by oncemq"};
  }
  if (!text.starts_with(kPrefix)) {
    return Error{Code::kInvalid, Effect::kNone, "the commit was made by an unknown version"};
  }
  const Error damaged{Code::kCorrupt, Effect::kNone, "the commit metadata is damaged"};
  if (text.size() > kMaxCommitMetadata || text.size() < kPrefix.size() + kChecksum) {
    return damaged;
  }
  const std::string_view body = text.substr(0, text.size() - kChecksum);
  if (text.substr(body.size()) != " x=" + Checksum(body)) {
    return damaged;
  }
  CommitMetadata metadata;
  Fields fields(body.substr(kPrefix.size()));
  if (!ReadNumbers(fields, metadata) || !ReadLists(fields, metadata)) {
    return damaged;
  }
  const auto incarnation_text = fields.Next('w');  // only where there is any, likewise the next
  const auto incarnation = ParseHex(incarnation_text.value_or("0"));
  const auto not_done_text = fields.Next('p');
  auto not_done = ReadMap(not_done_text.value_or(""), offset);
  auto map = ReadMap(fields.Next('m'), offset);
  if (!incarnation || !not_done || !map || !fields.empty() || !Within(*not_done, *map)) {
    return damaged;
  }
  metadata.incarnation = *incarnation;
  metadata.not_done = std::move(*not_done);
  metadata.map = std::move(*map);
  return metadata;
}

}  // namespace oncemq
