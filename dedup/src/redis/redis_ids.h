// SPDX-License-Identifier: Apache-2.0
// RedisIds: the ids of one batch as the scripts tell and take them (preamble.lua has the layout).
//
//   ids.Load(answer, owned);                  // of look.lua or settle.lua
//   ids.engine().One(request, ids.At(i), answer);
//   const auto rows = ids.AddChanges(arguments);  // of write.lua
//
// Thread safety: none; belongs to one call.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "../loaded_ids.h"
#include "oncemq/base/result.h"
#include "window_scripts.h"

namespace oncemq {

// A partition that requests own, as one of them says.
struct OwnedPartition {
  uint32_t source = 0;
  int32_t partition = 0;
  OwnerEpoch owner_epoch = 0;
  friend auto operator<=>(const OwnedPartition&, const OwnedPartition&) = default;
};

// Keys of the window have bytes that it did not write.
Error NotOurs();

// As part of a key, and as a field.
std::string PartitionName(uint32_t source, int32_t partition);
// Lua's numbers are exact below 2^53. No log is longer.
int64_t LuaOffset(int64_t offset);
// Microseconds and milliseconds of scripts.
LogTime HorizonOf(uint64_t millis);

// The 82 bytes of a marker (preamble.lua).
std::string MarkerBytes(const Marker& marker, LogTime filed);
// Precondition: so many bytes.
Marker ReadMarker(class PackedReader& reader, LogTime& filed);
inline constexpr size_t kMarkerBytes = 82;

class RedisIds : public LoadedIds {
 public:
  using LoadedIds::LoadedIds;

  // The answer of look.lua or settle.lua to a call that named these partitions. kCorrupt: it is not
  // ours.
  Status Load(std::string_view answer, std::span<const OwnedPartition> owned);
  uint64_t count() const { return count_; }
  uint64_t horizon_millis() const { return horizon_millis_; }
  BootTime server_time() const { return now_; }

  // Whether the script itself has changed the row, as its first request offered: one of the two
  // calls below then applies that offer.
  bool Made(size_t row) const { return kept_[row].made; }
  bool AnyMade() const;
  // Whether the answer had no room for the row: it is judged in another try.
  bool LeftOut(size_t row) const { return kept_[row].left_out; }
  void BecomesOpen(size_t row, const ClaimRequest& request, const WindowTimes& times);
  void BecomesDone(size_t row, const CompleteRequest& request);

  // The marker of a new claim without its times, and after it the lease if it has its own. The
  // caller keeps it.
  static std::string FastPathArguments(const ClaimRequest& request);
  static std::string TokenBytes(const Token& token);
  // Flags of a record, and its bytes after the fingerprint.
  static std::string RecordFlags(const Token& token, bool result);
  static std::string RecordTail(const Token& token, const Coordinates& at);

  // For write.lua: horizon, partitions and ids. The rows that change, in the order of the
  // arguments.
  std::vector<size_t> AddChanges(ScriptArguments& arguments);
  // Whether one of these has no partition: no commit follows that waits for replicas.
  bool AnyWithoutPartition(std::span<const size_t> rows);

 private:
  struct Kept {
    std::string marker;  // as it was read below i:
    std::string slice;
    std::string record;
    bool made = false;
    bool left_out = false;
  };
  Status LoadRow(size_t row, class PackedReader& reader);
  void AddChange(size_t row, const Marker* marker, ScriptArguments& arguments);
  bool Changed(size_t row, const Marker* marker);

  std::vector<Kept> kept_;            // as digests()
  std::vector<OwnedPartition> read_;  // ownerships that the judge has seen
  BootTime now_;
  uint64_t count_ = 0;
  uint64_t horizon_millis_ = 0;
};

}  // namespace oncemq
