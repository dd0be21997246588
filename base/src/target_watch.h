// SPDX-License-Identifier: Apache-2.0
// TargetWatch: whether the target of a planned switch takes the calls sent to it, as far as one
// process has seen. A switch to a silent target is called off, so that it costs no hold. Without
// clock or I/O.
//
// W1  A silence begins with the sending of the first call that failed, but not before the answer to
//     the last call that the target took.
// W2  A call of a user that the target takes ends every silence. A question ends a silence of
//     questions only: a target may take the name of the questions and refuse all others.
// W3  One failure is no silence: a reply may have been lost.
//
// Thread safety: none; its owner locks.
#pragma once

#include <algorithm>
#include <optional>

#include "oncemq/base/clock.h"

namespace oncemq {

class TargetWatch {
 public:
  enum class By : unsigned char { kUser, kQuestion };

  // How long a target may be silent, by the shortest lease that is to outlive it. A holder renews
  // after a third of its lease and waits a sixth for the answer, twice, with a twentieth between
  // the two. It knows of the silence after 0.72 of its lease, and believes for 0.9 of it.
  static milliseconds Patience(milliseconds shortest_lease) {
    return std::max(shortest_lease / 4, kShortest);
  }

  void Took(By by, BootTime now);
  // Of a call that was sent at `sent_at` under the record of this epoch. True: the target has been
  // silent for `patience`. That is said once for each silence.
  bool Failed(By by, uint32_t epoch, BootTime sent_at, BootTime now, milliseconds patience);

 private:
  // A network may stumble for as long.
  static constexpr milliseconds kShortest{1'000};

  struct Silence {
    uint32_t epoch;
    BootTime since;
    int failures = 0;
    bool questions_only = true;
  };
  std::optional<Silence> silence_;
  BootTime took_at_ = BootTime::min();
};

}  // namespace oncemq
