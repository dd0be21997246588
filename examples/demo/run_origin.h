// SPDX-License-Identifier: Apache-2.0
// Where the figures of a report come from: program, time and kind of machine. A report is made to
// be passed on, so the name of the host is not in it.
//
// Thread safety: values and functions for any thread.
#pragma once

#include <string>
#include <string_view>

#include "oncemq/base/clock.h"

namespace oncemq::demo {

struct RunOrigin {
  std::string version;  // of oncemq
  std::string date;
  unsigned cores = 0;
  std::string system;
};

// Of this machine.
RunOrigin OriginOf(std::string_view version, WallTime now);

// "oncemq 0.1.0, 2026-11-25 17:21 UTC, 2 cores, Debian GNU/Linux 12 (bookworm), Linux 6.1.0 x86_64"
std::string OriginLine(const RunOrigin& origin);

std::string MinuteInUtc(WallTime time);  // "2026-11-25 17:21 UTC"

// The value of PRETTY_NAME in the text of /etc/os-release. Empty: there is none.
std::string NameInOsRelease(std::string_view text);

}  // namespace oncemq::demo
