// SPDX-License-Identifier: Apache-2.0
#include "id_page.h"

#include <cstring>
#include <optional>

#include "oncemq/base/bytes.h"
#include "oncemq/base/check.h"

namespace oncemq {
namespace {

constexpr uint64_t kHasDigest = 1;
constexpr uint64_t kHasResult = 2;     // its length and bytes follow the id
constexpr uint64_t kHasPartition = 4;  // source and partition follow; else both are 0
constexpr int kFlagBits = 3;

// The bits that choose the page are the upper ones.
char TagOf(uint64_t hash) {
  return static_cast<char>(hash);
}

// Small numbers of either sign in few bytes.
uint64_t ZigZag(int64_t value) {
  return static_cast<uint64_t>(value) << 1 ^ static_cast<uint64_t>(value >> 63);
}
int64_t UnZigZag(uint64_t value) {
  return static_cast<int64_t>(value >> 1 ^ (0 - (value & 1)));
}

void AppendWord(std::string& bytes, uint32_t word) {
  bytes.append(reinterpret_cast<const char*>(&word), sizeof word);
}

// Takes parts off the front, as long as there are bytes.
class Parts {
 public:
  explicit Parts(std::string_view bytes) : bytes_(bytes) {}
  bool Number(uint64_t& number) {
    ByteReader reader(bytes_);
    const auto read = reader.Varint();
    bytes_ = reader.rest();
    number = read.value_or(0);
    return read.has_value();
  }
  bool Word(uint32_t& word) {
    std::string_view view;
    if (!View(sizeof word, view)) {
      return false;
    }
    std::memcpy(&word, view.data(), sizeof word);
    return true;
  }
  bool View(uint64_t size, std::string_view& view) {
    if (size > bytes_.size()) {
      return false;
    }
    view = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return true;
  }
  std::string_view rest() const { return bytes_; }

 private:
  std::string_view bytes_;
};

std::optional<IdRecord> Read(Parts& parts, int64_t base) {
  IdRecord record;
  uint64_t head = 0;
  uint64_t offset = 0;
  if (!parts.Number(head) || !parts.Word(record.fingerprint) || !parts.Word(record.completer) ||
      !parts.Number(offset)) {
    return std::nullopt;
  }
  uint64_t source = 0;
  uint64_t partition = 0;
  if ((head & kHasPartition) != 0 && (!parts.Number(source) || !parts.Number(partition))) {
    return std::nullopt;
  }
  if (head >> kFlagBits == 0 || !parts.View(head >> kFlagBits, record.id)) {
    return std::nullopt;
  }
  uint64_t result = 0;
  if ((head & kHasResult) != 0 && (!parts.Number(result) || !parts.View(result, record.result))) {
    return std::nullopt;
  }
  record.digest = (head & kHasDigest) != 0;
  record.at = {
      static_cast<uint32_t>(source), static_cast<int32_t>(static_cast<uint32_t>(partition)),
      static_cast<int64_t>(static_cast<uint64_t>(base) + static_cast<uint64_t>(UnZigZag(offset)))};
  return record;
}

}  // namespace

void IdPageBuilder::Add(uint64_t hash, const IdRecord& record) {
  const bool has_partition = record.at.source != 0 || record.at.partition != 0;
  tags_.push_back(TagOf(hash));
  AppendVarint(records_, static_cast<uint64_t>(record.id.size()) << kFlagBits |
                             (record.digest ? kHasDigest : 0) |
                             (record.result.empty() ? 0 : kHasResult) |
                             (has_partition ? kHasPartition : 0));
  AppendWord(records_, record.fingerprint);
  AppendWord(records_, record.completer);
  AppendVarint(records_, ZigZag(static_cast<int64_t>(static_cast<uint64_t>(record.at.offset) -
                                                     static_cast<uint64_t>(base_))));
  if (has_partition) {
    AppendVarint(records_, record.at.source);
    AppendVarint(records_, static_cast<uint32_t>(record.at.partition));
  }
  records_ += record.id;
  if (!record.result.empty()) {
    AppendVarint(records_, record.result.size());
    records_ += record.result;
  }
}

std::string IdPageBuilder::Finish() {
  std::string page;
  AppendVarint(page, tags_.size());
  page += tags_;
  page += records_;
  tags_.clear();
  records_.clear();
  return page;
}

PageResult FindInPage(std::string_view page, int64_t base, uint64_t hash, std::string_view id,
                      bool digest, IdRecord* found) {
  Parts parts(page);
  uint64_t count = 0;
  std::string_view tags;
  if (!parts.Number(count) || !parts.View(count, tags)) {
    return PageResult::kDamaged;
  }
  size_t last = tags.rfind(TagOf(hash));
  for (size_t i = 0; last != std::string_view::npos && i <= last; i++) {
    const auto record = Read(parts, base);
    if (!record) {
      return PageResult::kDamaged;
    }
    const bool same = record->id == id;
    if (tags[i] == TagOf(hash) && same && record->digest == digest) {
      *found = *record;
      return PageResult::kFound;
    }
  }
  return PageResult::kMissing;
}

IdPageReader::IdPageReader(std::string_view page, int64_t base) : base_(base) {
  Parts parts(page);
  uint64_t count = 0;
  damaged_ = !parts.Number(count) || !parts.View(count, tags_);
  rest_ = parts.rest();
}

bool IdPageReader::Next(IdRecord* record) {
  if (damaged_ || read_ == tags_.size()) {
    damaged_ = damaged_ || !rest_.empty();
    return false;
  }
  Parts parts(rest_);
  const auto one = Read(parts, base_);
  damaged_ = !one;
  if (!one) {
    return false;
  }
  *record = *one;
  rest_ = parts.rest();
  read_++;
  return true;
}

bool IdPageReader::MayHaveHash(uint64_t hash) const {
  return read_ > 0 && tags_[read_ - 1] == TagOf(hash);
}

}  // namespace oncemq
