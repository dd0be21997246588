// SPDX-License-Identifier: Apache-2.0
#include "oncemq/framework/commit_metadata.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include "oncemq/base/bytes.h"
#include "oncemq/base/check.h"
#include "oncemq/framework/retry_policy.h"

namespace oncemq {
namespace {

constexpr std::string_view kFirstVersion = "oncemq/1 ";
constexpr std::string_view kVersion = "oncemq/2 ";
constexpr std::string_view kAnyVersion = "oncemq/";
constexpr size_t kChecksum = sizeof(" x=00000000") - 1;
// No clock and no count of ours comes near them, so nothing that is computed from them overflows.
constexpr uint64_t kMaxOwnerEpoch = uint64_t{1} << 62;
constexpr int64_t kMaxCount = int64_t{1} << 58;
constexpr size_t kMaxListed = 1024;  // more than fit
constexpr size_t kMaxCarried = 512;  // bytes
// Bytes for a later commit's words about deaths. These are an end, its bound in `b`, a lonely
// message and one killer.
constexpr size_t kNotesRoom = 128;

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

bool HasNotes(const DeathNotes& notes) {
  return notes.unclean_ends > 0 || !notes.killers.empty() || notes.alone;
}

std::string Notes(const CommitMetadata& m) {
  std::string out;
  if (m.unclean_ends > 0) {
    Field(out, 'd', Join(std::array{int64_t{m.unclean_ends}, m.cautious_to}));
  }
  std::vector<int64_t> killers;
  for (const DeathNotes::Killer& killer : m.killers) {
    killers.insert(killers.end(), {killer.offset, int64_t{killer.deaths}});
  }
  if (!killers.empty()) {
    Field(out, 'y', Join(killers));
  }
  if (m.alone) {
    Field(out, 'z', Join(std::array{*m.alone, static_cast<int64_t>(m.owner_epoch)}));
  }
  return out;
}

std::string Header(const CommitMetadata& m) {
  std::vector<int64_t> skipped;
  for (const OffsetMap::Range& range : m.skipped.ranges()) {
    skipped.insert(skipped.end(), {range.from, range.to});
  }
  const Totals& t = m.totals;
  const std::array<int64_t, 5> totals{t.applied, t.suppressed, t.parked, t.rejected, t.skipped};
  const OptionalFields& optional = m.optional;
  const bool first =
      m.uncertain == 0 && !HasNotes(m) && !optional.on_record && optional.carried.empty();
  std::string out(first ? kFirstVersion : kVersion);
  Field(out, 's', Hex(m.scope));
  Field(out, 'r', std::to_string(m.recipe));
  Field(out, 'i', Hex(m.source_identity));
  Field(out, 'o', Hex(m.owner_epoch));
  Field(out, 'a', std::to_string(m.since));
  Field(out, 't', std::to_string(m.top));
  Field(out, 'c', m.clean ? "1" : "0");
  Field(out, 'b', Join(Begun(m)));
  Field(out, 'k', Join(skipped));
  Field(out, 'n', Join(totals));
  if (m.uncertain != 0) {
    Field(out, 'u', std::to_string(m.uncertain));
  }
  if (optional.on_record) {
    Field(out, 'j', Join(std::array{optional.on_record->from, optional.on_record->refused}));
  }
  return out + Notes(m) + optional.carried;
}

// The fields by their names. Names of several letters are for versions to come.
class Fields {
 public:
  // False: no list of fields, or one field twice.
  bool Read(std::string_view text) {
    for (size_t end = 0; !text.empty(); text.remove_prefix(end)) {
      end = std::min(text.find(' '), text.size() - 1) + 1;
      const std::string_view field = text.substr(0, end);
      const size_t equals = field.find('=');
      if (equals == 0 || equals == field.npos ||
          !fields_.emplace(field.substr(0, equals), field).second) {
        return false;
      }
    }
    return true;
  }
  std::optional<std::string_view> Take(char name) {
    const auto found = fields_.find({&name, 1});
    if (found == fields_.end()) {
      return std::nullopt;
    }
    std::string_view value = found->second.substr(2);
    value.remove_suffix(value.ends_with(' ') ? 1 : 0);
    fields_.erase(found);
    return value;
  }
  // Those that were not taken, each with its space.
  const std::map<std::string_view, std::string_view>& rest() const { return fields_; }

 private:
  std::map<std::string_view, std::string_view> fields_;
};

bool ReadNumbers(Fields& fields, CommitMetadata& m) {
  const auto read = [&](char name, auto parse) {
    const auto text = fields.Take(name);
    return text ? parse(*text) : std::nullopt;
  };
  const auto scope = read('s', ParseHex);
  const auto recipe = read('r', ParseDecimal);
  const auto identity = read('i', ParseHex);
  const auto owner_epoch = read('o', ParseHex);
  const auto since = read('a', ParseDecimal);
  const auto top = read('t', ParseDecimal);
  const auto clean = read('c', ParseDecimal);
  if (!scope || !recipe || !identity || !owner_epoch || !since || !top || !clean || *recipe < 0 ||
      *recipe > INT32_MAX || *since < 0 || *top < 0 || *clean < 0 || *clean > 1 ||
      *owner_epoch > kMaxOwnerEpoch) {
    return false;
  }
  m.scope = *scope;
  m.recipe = static_cast<uint32_t>(*recipe);
  m.source_identity = *identity;
  m.owner_epoch = *owner_epoch;
  m.since = *since;
  m.top = *top;
  m.clean = *clean == 1;
  return true;
}

bool ReadLists(Fields& fields, CommitMetadata& m) {
  constexpr size_t kTotals = 5;
  const auto read = [&](char name, size_t most) {
    const auto text = fields.Take(name);
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

// A note may be out of date, repeated by an earlier version. So the count holds until the frontier
// has passed its bound, and the lonely message only for the owner in its note.
bool ReadNotes(Fields& fields, int64_t frontier, CommitMetadata& m) {
  const auto read = [&](char name, size_t most) {
    return Split(fields.Take(name).value_or(""), most);
  };
  const auto ends = read('d', 2);
  const auto killers = read('y', 2 * kMaxKillers);
  const auto alone = read('z', 2);
  if (!ends || ends->size() % 2 != 0 || !killers || killers->size() % 2 != 0 || !alone ||
      alone->size() % 2 != 0) {
    return false;
  }
  const auto counts = [](int64_t deaths) { return deaths > 0 && deaths <= kMostDeaths; };
  if (!ends->empty()) {
    if (!counts((*ends)[0])) {
      return false;
    }
    const bool holds = frontier < (*ends)[1];
    m.unclean_ends = holds ? static_cast<uint32_t>((*ends)[0]) : 0;
    m.cautious_to = holds ? (*ends)[1] : 0;
  }
  for (size_t i = 0; i < killers->size(); i += 2) {
    if (!counts((*killers)[i + 1])) {
      return false;
    }
    m.killers.push_back({(*killers)[i], static_cast<uint32_t>((*killers)[i + 1])});
  }
  if (!alone->empty() && static_cast<uint64_t>((*alone)[1]) == m.owner_epoch) {
    m.alone = (*alone)[0];
  }
  return true;
}

// Missing before there were park topics.
bool ReadOnRecord(Fields& fields, CommitMetadata& m) {
  const auto text = fields.Take('j');
  if (!text) {
    return true;
  }
  const auto numbers = Split(*text, 2);
  if (!numbers || numbers->size() != 2) {
    return false;
  }
  m.optional.on_record = {.from = (*numbers)[0], .refused = (*numbers)[1]};
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

// Of an unknown field: no version without it may go on from the commit.
bool IsRequired(std::string_view name) {
  return name[0] >= 'A' && name[0] <= 'Z';
}

std::string Checksum(std::string_view body) {
  return Hex(Crc32c(body)).substr(8);
}

size_t RoomAfter(size_t header) {
  constexpr size_t kFixed = sizeof("w=0123456789abcdef p= m=") + kChecksum +
                            72;  // totals and frontier may grow by a few digits
  header += kFixed;
  return header >= kMaxCommitMetadata ? 0 : (kMaxCommitMetadata - header) / 4 * 3;
}

}  // namespace

size_t MapBudget(const CommitMetadata& metadata) {
  const size_t notes = Notes(metadata).size();
  return RoomAfter(Header(metadata).size() - notes + std::max(notes, kNotesRoom));
}

bool MapFits(const FrontierSnapshot& snapshot, const CommitMetadata& metadata) {
  const size_t room = RoomAfter(Header(metadata).size());
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
  const auto refused = [](std::string why) {
    return Error{Code::kInvalid, Effect::kNone, std::move(why)};
  };
  if (!text.starts_with(kAnyVersion)) {
    return Error{Code::kNotFound, Effect::kNone, "the commit was not made by oncemq"};
  }
  if (!text.starts_with(kFirstVersion) && !text.starts_with(kVersion)) {
    return refused("the commit was written by a newer version of oncemq (" +
                   std::string(text.substr(0, std::min(text.find(' '), kVersion.size() + 8))) +
                   "); run that version, since this one would lose what it says");
  }
  if (text.size() > kMaxCommitMetadata || text.size() < kVersion.size() + kChecksum ||
      !text.ends_with(" x=" + Checksum(text.substr(0, text.size() - kChecksum)))) {
    return Error{Code::kCorrupt, Effect::kNone, "the commit metadata is damaged"};
  }
  const std::string_view body = text.substr(0, text.size() - kChecksum);
  const Error strange = refused("the commit metadata has values that this version cannot read");
  CommitMetadata metadata;
  Fields fields;
  if (!fields.Read(body.substr(kVersion.size())) || !ReadNumbers(fields, metadata) ||
      !ReadLists(fields, metadata) || !ReadNotes(fields, offset, metadata) ||
      !ReadOnRecord(fields, metadata)) {
    return strange;
  }
  const auto uncertain = ParseDecimal(fields.Take('u').value_or("0"));
  const auto incarnation = ParseHex(fields.Take('w').value_or("0"));
  auto not_done = ReadMap(fields.Take('p').value_or(""), offset);
  auto map = ReadMap(fields.Take('m'), offset);
  if (!uncertain || *uncertain < 0 || *uncertain > kMaxCount || !incarnation || !not_done || !map ||
      !Within(*not_done, *map)) {
    return strange;
  }
  metadata.uncertain = *uncertain;
  metadata.incarnation = *incarnation;
  metadata.not_done = std::move(*not_done);
  metadata.map = std::move(*map);
  for (const auto& [name, field] : fields.rest()) {
    if (IsRequired(name) || metadata.optional.carried.size() + field.size() > kMaxCarried) {
      return refused(
          "the commit was written by a newer version of oncemq: this one does not know "
          "its field " +
          std::string(name.substr(0, 32)) + "; run that version");
    }
    metadata.optional.carried += field;
    if (!field.ends_with(' ')) {  // it stood last
      metadata.optional.carried += ' ';
    }
  }
  return metadata;
}

}  // namespace oncemq
