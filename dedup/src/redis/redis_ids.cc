// SPDX-License-Identifier: Apache-2.0
#include "redis_ids.h"

#include <algorithm>

#include "oncemq/base/bytes.h"
#include "packed.h"

namespace oncemq {
namespace {

constexpr size_t kTimesAt = 30;  // granted and ends, which a script fills in
constexpr size_t kTimesBytes = 16;
constexpr uint64_t kHeldFlag = 1;
constexpr uint64_t kUncertainFlag = 2;
constexpr uint64_t kCutFlag = 4;
constexpr char kHasResult = 1;
constexpr char kHasToken = 2;

uint64_t StateNumber(MarkerState state) {
  return state == MarkerState::kParked ? 3 : state == MarkerState::kHanded ? 4 : 1;
}

Token ReadToken(PackedReader& reader) {
  Token token;
  token.process = reader.Number(8);
  token.attempt = reader.Number(8);
  return token;
}

uint64_t Unsigned(int64_t value) {
  return static_cast<uint64_t>(value);
}

uint64_t ZigZag(int64_t value) {
  return Unsigned(value) << 1 ^ (value < 0 ? ~uint64_t{0} : 0);
}

int64_t UnZigZag(uint64_t value) {
  return static_cast<int64_t>(value >> 1 ^ ((value & 1) != 0 ? ~uint64_t{0} : 0));
}

std::optional<DoneId> ReadRecord(std::string_view record) {
  PackedReader reader(record);
  DoneId done;
  const auto flags = static_cast<char>(reader.Number(1));
  done.fingerprint = static_cast<uint32_t>(reader.Number(4));
  if ((flags & kHasToken) != 0) {
    done.completer = ReadToken(reader);
  }
  ByteReader varints(reader.rest());
  const auto source = varints.Varint();
  const auto partition = varints.Varint();
  const auto offset = varints.Varint();
  if (!reader.good() || !offset) {
    return std::nullopt;
  }
  done.at = {static_cast<uint32_t>(*source), static_cast<int32_t>(UnZigZag(*partition)),
             UnZigZag(*offset)};
  return done;
}

// A finished id without a partition.
std::optional<DoneId> ReadKept(std::string_view kept) {
  PackedReader reader(kept);
  reader.Bytes(1);
  const uint64_t ends = reader.Number(8);
  std::optional<DoneId> done = ReadRecord(reader.Bytes(reader.Number(2)));
  if (!reader.good() || !done) {
    return std::nullopt;
  }
  done->ends = ends == 0 ? BootTime::max() : BootTime(microseconds(static_cast<int64_t>(ends)));
  done->result = std::string(reader.rest());
  return done;
}

Marker ClaimedMarker(const ClaimRequest& request) {
  Marker m;
  m.token = request.token;
  m.owner_epoch = request.owner_epoch;
  m.at = request.at;
  m.attempt = 1;
  m.fingerprint = request.fingerprint;
  return m;
}

}  // namespace

Error NotOurs() {
  return {Code::kCorrupt, Effect::kNone,
          "what lies in Redis under the keys of this window is not ours"};
}

std::string MarkerBytes(const Marker& m, LogTime filed) {
  std::string out;
  out.reserve(kMarkerBytes);
  AppendPacked(out, StateNumber(m.state), 1);
  AppendPacked(
      out, (m.held ? kHeldFlag : 0) | (m.uncertain ? kUncertainFlag : 0) | (m.cut ? kCutFlag : 0),
      1);
  out += RedisIds::TokenBytes(m.token);
  AppendPacked(out, m.fingerprint, 4);
  AppendPacked(out, m.owner_epoch, 8);
  AppendPacked(out, Unsigned(m.granted_at.time_since_epoch().count()), 8);
  AppendPacked(out, Unsigned(m.lease_end.time_since_epoch().count()), 8);
  AppendPacked(out, m.attempt, 4);
  AppendPacked(out, m.entry, 8);
  AppendPacked(out, m.at.source, 4);
  AppendPacked(out, static_cast<uint32_t>(m.at.partition), 4);
  AppendPacked(out, Unsigned(m.at.offset), 8);
  AppendPacked(out, Unsigned(filed.time_since_epoch().count()), 8);
  return out;
}

Marker ReadMarker(PackedReader& reader, LogTime& filed) {
  Marker m;
  const uint64_t state = reader.Number(1);
  m.state = state == 3   ? MarkerState::kParked
            : state == 4 ? MarkerState::kHanded
                         : MarkerState::kOpen;
  const uint64_t flags = reader.Number(1);
  m.held = (flags & kHeldFlag) != 0;
  m.uncertain = (flags & kUncertainFlag) != 0;
  m.cut = (flags & kCutFlag) != 0;
  m.token = ReadToken(reader);
  m.fingerprint = static_cast<uint32_t>(reader.Number(4));
  m.owner_epoch = reader.Number(8);
  m.granted_at = BootTime(microseconds(static_cast<int64_t>(reader.Number(8))));
  m.lease_end = BootTime(microseconds(static_cast<int64_t>(reader.Number(8))));
  m.attempt = static_cast<uint32_t>(reader.Number(4));
  m.entry = reader.Number(8);
  m.at.source = static_cast<uint32_t>(reader.Number(4));
  m.at.partition = static_cast<int32_t>(reader.Number(4));
  m.at.offset = static_cast<int64_t>(reader.Number(8));
  filed = LogTime(milliseconds(static_cast<int64_t>(reader.Number(8))));
  return m;
}

std::string PartitionName(uint32_t source, int32_t partition) {
  return std::to_string(source) + ":" + std::to_string(partition);
}

int64_t LuaOffset(int64_t offset) {
  return std::min<int64_t>(offset, (int64_t{1} << 53) - 1);
}

LogTime HorizonOf(uint64_t millis) {
  return millis == 0 ? LogTime::min() : LogTime(milliseconds(static_cast<int64_t>(millis)));
}

Status RedisIds::Load(std::string_view answer, std::span<const OwnedPartition> owned) {
  PackedReader reader(answer);
  if (reader.Bytes(1) != "S") {
    return NotOurs();
  }
  now_ = BootTime(microseconds(static_cast<int64_t>(reader.Number(8))));
  horizon_millis_ = reader.Number(8);
  count_ = reader.Number(8);
  SetTime(now_, HorizonOf(horizon_millis_));
  kept_.resize(digests().size());
  for (OwnedPartition one : owned) {
    one.owner_epoch = reader.Number(8);
    const BootTime raised(microseconds(static_cast<int64_t>(reader.Number(8))));
    engine().owners().Restore(one.source, one.partition, one.owner_epoch, raised);
    read_.push_back(one);
  }
  for (size_t row = 0; row < digests().size(); row++) {
    if (Status loaded = LoadRow(row, reader); !loaded) {
      return loaded;
    }
  }
  return reader.good() && reader.rest().empty() ? Status() : NotOurs();
}

Status RedisIds::LoadRow(size_t row, PackedReader& reader) {
  Kept& kept = kept_[row];
  switch (reader.good() ? reader.Number(1) : 9) {
    case 0:
      return {};
    case 1: {
      kept.marker = std::string(reader.Bytes(kMarkerBytes));
      PackedReader bytes(kept.marker);
      LogTime filed;
      const Marker marker = ReadMarker(bytes, filed);
      rows()[row].filed = Filed(filed);
      LoadMarker(row, marker);
      const OwnerEpoch owner_epoch = reader.Number(8);
      const BootTime raised(microseconds(static_cast<int64_t>(reader.Number(8))));
      if (owner_epoch != 0) {
        engine().owners().Restore(marker.at.source, marker.at.partition, owner_epoch, raised);
      }
      read_.push_back({marker.at.source, marker.at.partition, owner_epoch});
      return {};
    }
    case 2: {
      kept.slice = std::to_string(reader.Number(8));
      const auto ends = static_cast<int64_t>(reader.Number(8));  // its generation
      kept.record = std::string(reader.Bytes(reader.Number(2)));
      std::optional<DoneId> done = ReadRecord(kept.record);
      if (!done) {
        return NotOurs();
      }
      done->result = std::string(reader.Bytes(reader.Number(4)));
      // A copy moves it only to a later generation.
      done->filed = LogTime(milliseconds(ends));
      rows()[row].done = std::move(done);
      return {};
    }
    case 3:
      kept.made = true;
      return {};
    case 4: {
      kept.marker = std::string(reader.Bytes(reader.Number(4)));
      std::optional<DoneId> done = ReadKept(kept.marker);
      if (!done) {
        return NotOurs();
      }
      rows()[row].done = std::move(done);
      return {};
    }
    case 5:
      kept.left_out = true;
      return {};
    default:
      return NotOurs();
  }
}

bool RedisIds::AnyMade() const {
  return std::any_of(kept_.begin(), kept_.end(), [](const Kept& kept) { return kept.made; });
}

void RedisIds::BecomesOpen(size_t row, const ClaimRequest& request, const WindowTimes& times) {
  Marker marker = ClaimedMarker(request);
  marker.granted_at = now_;
  const milliseconds lease = std::min(times.lease, times.max_lease);
  marker.lease_end = now_ + (request.lease > milliseconds(0) ? request.lease : lease);
  const LogTime filed = std::max(request.time, request.copies_until);
  kept_[row].marker = MarkerBytes(marker, filed);
  rows()[row].filed = Filed(filed);
  LoadMarker(row, marker);
}

void RedisIds::BecomesDone(size_t row, const CompleteRequest& request) {
  rows()[row].done = DoneId{request.at,
                            request.token,
                            0,
                            std::string(request.result),
                            Filed(request.time),
                            EndOf(request.at, request.keep)};
}

std::string RedisIds::FastPathArguments(const ClaimRequest& request) {
  std::string bytes =
      MarkerBytes(ClaimedMarker(request), std::max(request.time, request.copies_until))
          .erase(kTimesAt, kTimesBytes);
  if (request.lease > milliseconds(0)) {
    AppendPacked(bytes, Unsigned(microseconds(request.lease).count()), 8);
  }
  return bytes;
}

std::string RedisIds::TokenBytes(const Token& token) {
  std::string bytes;
  AppendPacked(bytes, token.process, 8);
  AppendPacked(bytes, token.attempt, 8);
  return bytes;
}

std::string RedisIds::RecordFlags(const Token& token, bool result) {
  return {static_cast<char>((result ? kHasResult : 0) | (token.empty() ? 0 : kHasToken))};
}

std::string RedisIds::RecordTail(const Token& token, const Coordinates& at) {
  std::string out;
  if (!token.empty()) {
    out += TokenBytes(token);
  }
  AppendVarint(out, at.source);
  AppendVarint(out, ZigZag(at.partition));
  AppendVarint(out, ZigZag(at.offset));
  return out;
}

bool RedisIds::Changed(size_t row, const Marker* marker) {
  const Row& one = rows()[row];
  if (marker != nullptr) {
    return !one.was || !Same(*one.was, *marker);
  }
  return one.done_changed || one.was.has_value();
}

void RedisIds::AddChange(size_t row, const Marker* marker, ScriptArguments& arguments) {
  const Row& one = rows()[row];
  const Kept& kept = kept_[row];
  arguments.Add(digests()[row]);
  arguments.Add(kept.marker);
  arguments.Add(kept.slice);
  arguments.Add(kept.record);
  arguments.Keep(marker != nullptr ? MarkerBytes(*marker, one.filed) : "");
  if (marker != nullptr || !one.done) {
    for (int i = 0; i < 5; i++) {
      arguments.Add("");
    }
    return;
  }
  const DoneId& done = *one.done;
  std::string record = RecordFlags(done.completer, !done.result.empty());
  AppendPacked(record, done.fingerprint, 4);
  arguments.Keep(record + RecordTail(done.completer, done.at));
  arguments.Number(done.filed.time_since_epoch().count());
  arguments.Add(done.result);
  if (done.at.partition < 0) {
    arguments.Add("");
    arguments.Number(done.ends == BootTime::max() ? 0 : done.ends.time_since_epoch().count());
    return;
  }
  arguments.Keep(PartitionName(done.at.source, done.at.partition));
  arguments.Number(LuaOffset(done.at.offset));
}

std::vector<size_t> RedisIds::AddChanges(ScriptArguments& arguments) {
  std::vector<size_t> changed;
  for (size_t row = 0; row < digests().size(); row++) {
    if (Changed(row, MarkerOf(row))) {
      changed.push_back(row);
    }
  }
  std::sort(read_.begin(), read_.end());
  read_.erase(std::unique(read_.begin(), read_.end()), read_.end());
  arguments.Number(horizon_millis_);
  arguments.Number(read_.size());
  for (const OwnedPartition& one : read_) {
    arguments.Keep(PartitionName(one.source, one.partition));
    arguments.Number(one.owner_epoch);
  }
  for (const size_t row : changed) {
    AddChange(row, MarkerOf(row), arguments);
  }
  return changed;
}

bool RedisIds::AnyWithoutPartition(std::span<const size_t> some) {
  return std::any_of(some.begin(), some.end(), [this](size_t row) {
    const Row& one = rows()[row];
    const Marker* marker = MarkerOf(row);
    const Coordinates at = marker != nullptr ? marker->at
                           : one.done        ? one.done->at
                           : one.was         ? one.was->at
                                             : Coordinates{};
    return at.partition < 0;
  });
}

}  // namespace oncemq
