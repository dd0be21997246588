// SPDX-License-Identifier: Apache-2.0
#include "id_record.h"

#include <array>
#include <bit>
#include <cstring>

#include "oncemq/base/hash.h"

namespace oncemq {
namespace {

constexpr uint8_t kDigest = 1;
constexpr uint8_t kResult = 2;     // its length and bytes follow the id
constexpr uint8_t kPartition = 4;  // source and partition follow the head; else both are 0
constexpr uint8_t kKnownFlags = kDigest | kResult | kPartition;

// In the byte order of the platforms that are supported (little-endian), as docs/formats.md says.
struct Head {
  uint16_t id_bytes;
  uint8_t flags;
  uint8_t zero;
  uint32_t fingerprint;
  uint32_t completer;
  std::array<uint32_t, 2> offset;
};
static_assert(sizeof(Head) == 20);
using ResultBytes = uint32_t;
struct SourcePartition {
  uint32_t source;
  int32_t partition;
};

size_t Padded(size_t bytes) {
  return (bytes + kRecordUnit - 1) / kRecordUnit * kRecordUnit;
}

size_t Content(bool where, size_t id, size_t result) {
  return sizeof(Head) + (where ? sizeof(SourcePartition) : 0) + id +
         (result == 0 ? 0 : sizeof(ResultBytes) + result);
}

bool HasPartition(const IdRecord& record) {
  return record.at.source != 0 || record.at.partition != 0;
}

// Takes values off the front, as long as there are bytes.
class Cursor {
 public:
  explicit Cursor(std::string_view bytes) : bytes_(bytes) {}
  template <class T>
  bool Take(T& value) {
    if (bytes_.size() < sizeof value) {
      return false;
    }
    std::memcpy(&value, bytes_.data(), sizeof value);
    bytes_.remove_prefix(sizeof value);
    return true;
  }
  bool Take(std::string_view& view, size_t size) {
    if (bytes_.size() < size) {
      return false;
    }
    view = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return true;
  }

 private:
  std::string_view bytes_;
};

}  // namespace

uint32_t CompleterOf(const Token& token) {
  const auto mixed = static_cast<uint32_t>(MixBits(MixBits(token.process) ^ token.attempt));
  return mixed != 0 ? mixed : 1;
}

size_t RecordBytes(const IdRecord& record) {
  return Padded(Content(HasPartition(record), record.id.size(), record.result.size()));
}

void WriteRecord(const IdRecord& record, char* out) {
  const int flags = (record.digest ? kDigest : 0) | (record.result.empty() ? 0 : kResult) |
                    (HasPartition(record) ? kPartition : 0);
  const Head head{.id_bytes = static_cast<uint16_t>(record.id.size()),
                  .flags = static_cast<uint8_t>(flags),
                  .zero = 0,
                  .fingerprint = record.fingerprint,
                  .completer = record.completer,
                  .offset = std::bit_cast<std::array<uint32_t, 2>>(record.at.offset)};
  char* at = out;
  const auto put = [&at](const void* bytes, size_t size) {
    std::memcpy(at, bytes, size);
    at += size;
  };
  put(&head, sizeof head);
  if (HasPartition(record)) {
    const SourcePartition where{record.at.source, record.at.partition};
    put(&where, sizeof where);
  }
  put(record.id.data(), record.id.size());
  if (!record.result.empty()) {
    const auto size = static_cast<ResultBytes>(record.result.size());
    put(&size, sizeof size);
    put(record.result.data(), size);
  }
  std::memset(at, 0, static_cast<size_t>(out + RecordBytes(record) - at));
}

std::optional<IdRecord> ReadRecord(std::string_view bytes, size_t* taken) {
  Cursor cursor(bytes);
  Head head;
  if (!cursor.Take(head) || head.id_bytes == 0 || (head.flags & ~kKnownFlags) != 0) {
    return std::nullopt;
  }
  SourcePartition where{0, 0};
  IdRecord record;
  ResultBytes result = 0;
  const bool has_partition = (head.flags & kPartition) != 0;
  const bool has_result = (head.flags & kResult) != 0;
  if ((has_partition && !cursor.Take(where)) || !cursor.Take(record.id, head.id_bytes) ||
      (has_result && (!cursor.Take(result) || !cursor.Take(record.result, result)))) {
    return std::nullopt;
  }
  *taken = Padded(Content(has_partition, head.id_bytes, result));
  constexpr size_t kLongestId = 64;
  constexpr ResultBytes kLongestResult = 65'536;
  if (*taken > bytes.size() || has_result != (result > 0) || head.id_bytes > kLongestId ||
      result > kLongestResult) {
    return std::nullopt;
  }
  record.digest = (head.flags & kDigest) != 0;
  record.fingerprint = head.fingerprint;
  record.at = {where.source, where.partition, std::bit_cast<int64_t>(head.offset)};
  record.completer = head.completer;
  return record;
}

}  // namespace oncemq
