// SPDX-License-Identifier: Apache-2.0
// The syncs of this program. It looks at what others have left, and nobody takes the power from it:
// they need not wait for the disk, and a hundred times more losses can be looked at. A test may
// have them wait, or fail.
//
// Thread safety: any thread; one object at a time.
#pragma once

#include <climits>

namespace oncemq::testing {

// While it lives, whoever syncs waits for its end.
class HeldSyncs {
 public:
  HeldSyncs();
  ~HeldSyncs();
  HeldSyncs(const HeldSyncs&) = delete;
  HeldSyncs& operator=(const HeldSyncs&) = delete;

  int waiting() const;   // at the time
  void LetOthersPass();  // those that come from now on; who waits, waits
};

// While it lives, syncs fail: `after` so many more, and `most` at most.
class FailingSyncs {
 public:
  explicit FailingSyncs(int after = 0, int most = INT_MAX);
  ~FailingSyncs();
  FailingSyncs(const FailingSyncs&) = delete;
  FailingSyncs& operator=(const FailingSyncs&) = delete;

  int failed() const;  // so far
};

}  // namespace oncemq::testing
