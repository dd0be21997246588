// SPDX-License-Identifier: Apache-2.0
// The record of what a process did to the files under one directory, as the layer in its process
// writes it and PowerLoss reads it: entries, each a head, one or two texts, in the order in which
// the changes were made. Only the last entry may be cut short, by the kill.
//
// Thread safety: none needed, values.
#pragma once

#include <cstdint>

namespace oncemq::testing {

inline constexpr char kPowerRoot[] = "ONCEMQ_POWER_ROOT";      // the directory that is watched
inline constexpr char kPowerRecord[] = "ONCEMQ_POWER_RECORD";  // where the record is appended
inline constexpr char kPowerLast[] = "ONCEMQ_POWER_LAST";      // entries after which it is killed

enum class PowerOp : uint32_t {
  kOpen,       // fd, a: flags, path
  kClose,      // fd
  kWrite,      // fd, a: offset, bytes
  kTruncate,   // fd, a: size
  kExtend,     // fd, a: size that it has at least
  kZero,       // fd, a: offset, b: length; never beyond the end
  kRename,     // path, path
  kLink,       // path, path
  kUnlink,     // path
  kMkdir,      // path
  kRmdir,      // path
  kSyncBegin,  // fd, a: number of the sync
  kSyncEnd,    // a: number of the sync
  kNote,       // what it said on its standard output
};

struct PowerHead {
  static constexpr uint32_t kMagic = 0x50577231;
  uint32_t magic = kMagic;
  PowerOp op = PowerOp::kNote;
  int32_t fd = -1;
  uint32_t first = 0;   // length of the first text
  uint64_t second = 0;  // length of the second one
  int64_t a = 0;
  int64_t b = 0;
};

}  // namespace oncemq::testing
