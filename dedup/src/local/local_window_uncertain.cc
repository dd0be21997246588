// SPDX-License-Identifier: Apache-2.0
// The record of uncertain calls of a window on disk. A row: version, attempt, first and last call,
// in milliseconds since 1970.
#include <algorithm>

#include "families.h"
#include "local_window_engine.h"
#include "sealed_row.h"

namespace oncemq {
namespace {

constexpr uint64_t kUncertainVersion = 1;
constexpr size_t kCoordinateBytes = 16;

// Begins the keys of one id.
std::string IdKey(std::string_view id) {
  std::string key(kUncertainPrefix);
  AppendKey(key, id.size(), 2);
  return key += id;
}

std::string UncertainKey(const UncertainCall& call) {
  std::string key = IdKey(call.id);
  AppendKey(key, call.at.source, 4);
  AppendKey(key, static_cast<uint32_t>(call.at.partition), 4);
  AppendKey(key, static_cast<uint64_t>(call.at.offset), 8);
  return key;
}

std::optional<UncertainRecord> ReadUncertain(std::string_view key, std::string_view row) {
  const auto numbers = UnsealNumbers<4>(row);
  const size_t head = kUncertainPrefix.size() + 2;
  const auto bytes = ReadKey(key, kUncertainPrefix.size(), 2);
  if (!numbers || (*numbers)[0] != kUncertainVersion || !bytes ||
      key.size() != head + *bytes + kCoordinateBytes) {
    return std::nullopt;
  }
  const size_t at = head + *bytes;
  return UncertainRecord{
      .id = std::string(key.substr(head, *bytes)),
      .at = {static_cast<uint32_t>(*ReadKey(key, at, 4)),
             static_cast<int32_t>(static_cast<uint32_t>(*ReadKey(key, at + 4, 4))),
             static_cast<int64_t>(*ReadKey(key, at + 8, 8))},
      .attempt = static_cast<uint32_t>((*numbers)[1]),
      .first = {static_cast<int64_t>((*numbers)[2]) * 1'000},
      .last = {static_cast<int64_t>((*numbers)[3]) * 1'000}};
}

}  // namespace

Result<std::vector<UncertainRecord>> LocalWindow::ReadUncertain(std::string_view from,
                                                                std::string_view to) {
  std::vector<UncertainRecord> records;
  bool ours = true;
  const Status scanned =
      store_->Scan(kFacts, from, to, [&](std::string_view key, std::string_view row) {
        auto record = oncemq::ReadUncertain(key, row);
        ours = record.has_value();
        if (ours) {
          records.push_back(*std::move(record));
        }
        return ours;
      });
  if (!scanned) {
    return scanned.error();
  }
  if (!ours) {
    return InStore(options_.directory,
                   {Code::kCorrupt, Effect::kNone, "an uncertain call on record cannot be read"});
  }
  return records;
}

Status LocalWindow::RecordUncertain(std::span<const UncertainCall> calls) {
  if (calls.empty()) {
    return {};
  }
  MutexLock lock(mutex_);
  if (Status usable = Usable(); !usable) {
    return usable;
  }
  const int64_t now = WallLogTime().time_since_epoch().count();
  if (!uncertain_swept_) {
    const auto records = ReadUncertain(kUncertainPrefix, kUncertainEnd);
    if (!records) {
      return records.error();
    }
    const int64_t kept = std::max(kUncertainKept, options_.remember).count();
    for (const UncertainRecord& record : *records) {
      if (record.last.micros / 1'000 < now - kept) {
        batch_.Delete(kFacts, UncertainKey({record.id, record.at}));
      }
    }
    uncertain_swept_ = true;
  }
  for (const UncertainCall& call : calls) {
    const std::string key = UncertainKey(call);
    const auto row = store_->Get(kFacts, key);
    if (!row) {
      batch_.Clear();
      return row.error();
    }
    const auto known = *row ? oncemq::ReadUncertain(key, **row) : std::nullopt;
    const int64_t first = known ? known->first.micros / 1'000 : now;
    const uint32_t attempt = std::max(call.attempt, known ? known->attempt : 0);
    batch_.Put(kFacts, key,
               SealNumbers({kUncertainVersion, attempt, static_cast<uint64_t>(first),
                            static_cast<uint64_t>(now)}));
  }
  return WriteNow(/*sync=*/options_.sync == SyncWhen::kEachBatch);
}

Status LocalWindow::MarkUncertain(std::span<const std::string_view> ids,
                                  std::span<MarkerView> views) {
  for (size_t i = 0; i < ids.size(); i++) {
    if (views[i].state == MarkerState::kNone) {
      continue;
    }
    const std::string from = IdKey(ids[i]);
    const auto records = ReadUncertain(from, from + std::string(kCoordinateBytes + 1, '\xff'));
    if (!records) {
      return records.error();
    }
    views[i].uncertain |=
        std::any_of(records->begin(), records->end(),
                    [&](const UncertainRecord& record) { return record.id == ids[i]; });
  }
  return {};
}

}  // namespace oncemq
