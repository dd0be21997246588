// SPDX-License-Identifier: Apache-2.0
// SwitchCopy: what one process may believe of the record of a switchboard. Without clock or I/O.
#pragma once

#include <optional>

#include "oncemq/base/clock.h"
#include "oncemq/base/switch_record.h"

namespace oncemq {

class SwitchCopy {
 public:
  enum class Seen : unsigned char {
    kSame,
    kOvertaken,  // the question was sent before a later record was known: it says nothing new
    kNews,       // it is another record than before
    kWentBack,   // of an earlier epoch than one that was seen: who answers so has lost something.
                 // Nothing was changed
  };
  // A question that was sent at `requested_at` was answered at `now`.
  Seen Saw(const SwitchRecord& record, BootTime requested_at, BootTime now);

  // S1.
  bool good(BootTime now) const { return now < good_until_; }
  BootTime good_until() const { return good_until_; }
  // The last one that was seen; of epoch 0 as long as none was.
  const SwitchRecord& record() const { return record_; }
  // Since when this process knows it.
  BootTime seen_at() const { return seen_at_; }
  // S4: from when on this process may end the switch. None: there is none.
  std::optional<BootTime> may_end_at() const;

 private:
  SwitchRecord record_;
  BootTime good_until_ = BootTime::min();
  BootTime seen_at_ = BootTime::min();
};

}  // namespace oncemq
