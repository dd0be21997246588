// SPDX-License-Identifier: Apache-2.0
// What handlers write to that take a name: the target of a guarded effect that checks fences too,
// with every call and what was answered.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "oncemq/base/mutex.h"
#include "oncemq/locks/lease.h"
#include "record_file.h"

namespace oncemq::testing {

struct FencedCall {
  enum Kind : uint32_t {
    kRaised = 1,  // the fence was installed, before anything is read
    kStored,      // the effect is there now
    kKnown,       // it was there already
    kOvertaken,   // a greater fence was there: nothing was changed
    kEnded,       // the member left; `applied` is what it counted
  };
  Kind kind = kRaised;
  uint32_t member = 0;
  uint32_t id = 0;
  uint32_t still_mine = 0;  // 1: what the lease said right before the call
  uint64_t fence = 0;       // within one epoch
  int64_t applied = 0;
};

// Of one name. It takes nothing under a fence that is lower than one it has seen, and stores an id
// with its effect in one write. Nothing that is written is ever taken back, so who passed a fence
// is seen afterwards.
//
// Thread safety: any thread of any process.
class FencedTarget {
 public:
  explicit FencedTarget(const std::filesystem::path& file) : file_(file) {}

  FencedCall::Kind Raise(uint32_t member, uint32_t id, const Lease& lease);
  FencedCall::Kind Store(uint32_t member, uint32_t id, const Lease& lease);
  void End(uint32_t member, int64_t applied);

  // In the order in which they came.
  std::vector<FencedCall> All();
  std::vector<FencedCall> All(FencedCall::Kind kind);
  // What is wrong with it, one line each; empty: the effects of ids `first` to `end - 1` once
  // each, and none behind one of a greater fence.
  std::vector<std::string> Judge(uint32_t first, uint32_t end);

 private:
  FencedCall::Kind Answer(FencedCall call, const Lease& lease);

  RecordFile<FencedCall> file_;
  Mutex mutex_;
  std::vector<FencedCall> calls_ GUARDED_BY(mutex_);
};

}  // namespace oncemq::testing
