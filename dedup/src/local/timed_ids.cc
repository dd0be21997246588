// SPDX-License-Identifier: Apache-2.0
#include "timed_ids.h"

#include <utility>

#include "families.h"
#include "oncemq/base/bytes.h"
#include "sealed_row.h"

namespace oncemq {
namespace {

constexpr uint64_t kTimedVersion = 1;
constexpr int kAppendsForAStep = 64;
constexpr int kRowsOfAStep = 256;

std::string TimedKey(std::string_view id, bool digest) {
  std::string key(kTimedPrefix);
  key.push_back(digest ? 'd' : 'i');
  key += id;
  return key;
}

struct TimedRow {
  LogTime until;
  IdRecord record;
};

std::string EncodeTimed(const IdRecord& record, LogTime until) {
  std::string row;
  for (const uint64_t number :
       {kTimedVersion, static_cast<uint64_t>(until.time_since_epoch().count()),
        uint64_t{record.fingerprint}, uint64_t{record.completer}, uint64_t{record.at.source},
        static_cast<uint64_t>(record.at.offset)}) {
    AppendVarint(row, number);
  }
  row += record.result;
  return Seal(std::move(row));
}

std::optional<TimedRow> DecodeTimed(std::string_view row) {
  const auto content = Unseal(row);
  if (!content) {
    return std::nullopt;
  }
  ByteReader reader(*content);
  const auto version = reader.Varint();
  const auto until = reader.Varint();
  const auto fingerprint = reader.Varint();
  const auto completer = reader.Varint();
  const auto source = reader.Varint();
  const auto offset = reader.Varint();
  if (!offset || *version != kTimedVersion || *until > INT64_MAX || *fingerprint > UINT32_MAX ||
      *completer > UINT32_MAX || *source > UINT32_MAX) {
    return std::nullopt;
  }
  TimedRow read{.until = LogTime(milliseconds(static_cast<int64_t>(*until)))};
  read.record.fingerprint = static_cast<uint32_t>(*fingerprint);
  read.record.completer = static_cast<uint32_t>(*completer);
  read.record.at = {static_cast<uint32_t>(*source), kNoPartition, static_cast<int64_t>(*offset)};
  read.record.result = reader.rest();
  return read;
}

Error DamagedTimed() {
  return {Code::kCorrupt, Effect::kNone, "a finished id without a partition cannot be read"};
}

}  // namespace

Status TimedIds::Open() {
  return store_->Scan(kFacts, kTimedPrefix, kTimedEnd, [this](std::string_view, std::string_view) {
    any_ = true;
    return false;
  });
}

Status TimedIds::Load(std::string_view id, bool digest) {
  if (!any_) {
    return {};
  }
  std::string key = TimedKey(id, digest);
  auto row = store_->Get(kFacts, key);
  if (!row) {
    return row.error();
  }
  if (*row && !DecodeTimed(**row)) {
    return DamagedTimed();
  }
  if (*row) {
    rows_[std::move(key)] = **std::move(row);
  }
  return {};
}

std::optional<IdRecord> TimedIds::Find(std::string_view id, bool digest, LogTime now) const {
  const auto found = rows_.empty() ? rows_.end() : rows_.find(TimedKey(id, digest));
  const auto row = found == rows_.end() ? std::nullopt : DecodeTimed(found->second);
  const bool known = row && row->until > now;
  return known ? std::optional(row->record) : std::nullopt;
}

void TimedIds::Append(const IdRecord& record, LogTime until, RocksBatch& batch) {
  std::string key = TimedKey(record.id, record.digest);
  std::string row = EncodeTimed(record, until);
  batch.Put(kFacts, key, row);
  rows_[std::move(key)] = std::move(row);
  any_ = true;
  appended_++;
}

Status TimedIds::Sweep(LogTime now, RocksBatch& batch) {
  if (appended_ < kAppendsForAStep) {
    return {};
  }
  appended_ = 0;
  int seen = 0;
  const std::string from = next_.empty() ? std::string(kTimedPrefix) : std::exchange(next_, {});
  const Status scanned =
      store_->Scan(kFacts, from, kTimedEnd, [&](std::string_view key, std::string_view value) {
        if (seen++ == kRowsOfAStep) {
          next_ = key;
          return false;
        }
        const auto row = DecodeTimed(value);
        const bool ended = row && row->until <= now;
        if (ended) {
          batch.Delete(kFacts, key);
        }
        return true;
      });
  return scanned;
}

}  // namespace oncemq
