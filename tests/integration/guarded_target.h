// SPDX-License-Identifier: Apache-2.0
// What handlers in processes that get killed write to: the target of a guarded effect, and beside
// it a blind record of every call.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "oncemq/base/mutex.h"
#include "record_file.h"

namespace oncemq::testing {

struct StoredEffect {
  uint32_t id = 0;
  uint32_t member = 0;  // who stored it
};

// Stores an id with its effect in one write, and knows it again, whoever asks: level guarded.
//
// Thread safety: any thread of any process.
class GuardedTarget {
 public:
  explicit GuardedTarget(const std::filesystem::path& file) : file_(file) {}

  // False: already done, nothing is stored.
  bool Store(uint32_t id, uint32_t member);
  // As a target would that knows nothing again: at the level opaque.
  void Append(uint32_t id, uint32_t member) { file_.Append({id, member}); }
  // In the order in which they were stored.
  std::vector<StoredEffect> All();

 private:
  RecordFile<StoredEffect> file_;
  Mutex mutex_;
  std::vector<StoredEffect> effects_ GUARDED_BY(mutex_);
  std::vector<bool> known_ GUARDED_BY(mutex_);
  size_t read_to_ GUARDED_BY(mutex_) = 0;
};

struct CallRecord {
  enum Kind : uint32_t {
    kCalled = 1,  // the handler was called
    kHangs,       // it will not return: its process is to be killed now
    kKnown,       // the target answered "already done"
    kEnded,       // the member left in order; `offset` is how many ids the log had told it, and
                  // `uncertain` the count of its report
  };
  Kind kind = kCalled;
  uint32_t member = 0;
  uint32_t id = 0;
  int32_t partition = 0;
  int64_t offset = 0;
  int32_t uncertain = 0;  // 1: the handler was told that an earlier call may have had its effect
  uint32_t attempt = 0;   // as the handler was told
};
using CallLog = RecordFile<CallRecord>;

}  // namespace oncemq::testing
