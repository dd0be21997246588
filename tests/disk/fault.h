// SPDX-License-Identifier: Apache-2.0
// Calls of one kind that a test may have fail: the place in front of the C library's function asks
// the Fault, a Failing object of the test sets it.
//
// Thread safety: any thread; one Failing object of each kind at a time.
#pragma once

#include <climits>
#include <mutex>

namespace oncemq::testing {

class Fault {
 public:
  void Set(int after, int most) {
    const std::lock_guard lock(mutex_);
    passes_ = after;
    failing_ = most;
    failed_ = 0;
  }
  void Clear() {
    const std::lock_guard lock(mutex_);
    failing_ = 0;
  }
  int failed() {
    const std::lock_guard lock(mutex_);
    return failed_;
  }
  // A call comes. True: it fails, with errno.
  bool Meets(int error);

 private:
  std::mutex mutex_;
  int passes_ = 0;   // so many, then
  int failing_ = 0;  // so many fail
  int failed_ = 0;
};

// While it lives, calls fail: `after` so many more, and `most` at most. `kFault` gives their Fault.
template <Fault& (*kFault)()>
class Failing {
 public:
  explicit Failing(int after = 0, int most = INT_MAX) { kFault().Set(after, most); }
  ~Failing() { kFault().Clear(); }
  Failing(const Failing&) = delete;
  Failing& operator=(const Failing&) = delete;

  int failed() const { return kFault().failed(); }  // so far
};

Fault& OfSyncs();
Fault& OfReads();
Fault& OfStats();  // at what files there are, and how long they are
Fault& OfWrites();
Fault& OfMarks();  // what is written in its place, as only SYNCED is
Fault& OfNames();  // another one for a file, or a second one

using FailingSyncs = Failing<OfSyncs>;
using FailingReads = Failing<OfReads>;
using FailingStats = Failing<OfStats>;
using FailingWrites = Failing<OfWrites>;
using FailingMarks = Failing<OfMarks>;
using FailingNames = Failing<OfNames>;

}  // namespace oncemq::testing
