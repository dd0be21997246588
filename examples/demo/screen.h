// SPDX-License-Identifier: Apache-2.0
// Where the demo talks. On a terminal a live line is redrawn in place; elsewhere the same words
// come as lines, at most one a second. NO_COLOR is respected.
//
// Thread safety: one thread.
#pragma once

#include <string>
#include <string_view>

#include "oncemq/base/clock.h"

namespace oncemq::demo {

class Screen {
 public:
  Screen();

  // A line that stays. Replaces the live line.
  void Line(std::string_view text);
  // The state of now; redrawn by the next call.
  void Live(std::string_view text);
  // Leaves the live line standing as it is.
  void Settle();

  // "OK" or "FAILED", in green or red where that is wanted.
  std::string Mark(bool ok) const;

 private:
  void Draw(std::string_view text);

  const bool terminal_;
  const bool color_;
  std::string live_;   // the latest text
  std::string drawn_;  // what of it has reached the screen
  BootTime drawn_at_{};
};

// A bar of 20 places: "########------------".
std::string Bar(double share);

}  // namespace oncemq::demo
