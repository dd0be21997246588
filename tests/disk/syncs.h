// SPDX-License-Identifier: Apache-2.0
// The syncs of this program. It looks at what others have left, and nobody takes the power from it:
// they need not wait for the disk, and a hundred times more losses can be looked at. A test may
// have them wait; or fail: see fault.h.
//
// Thread safety: any thread; one object at a time.
#pragma once

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

}  // namespace oncemq::testing
