// SPDX-License-Identifier: Apache-2.0
// The parts of which the addresses of stores are made: scheme://user:password@host:port,host/rest.
// Total: any text gives a value, or a reason that repeats nothing of it.
//
// Thread safety: any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "oncemq/base/result.h"

namespace oncemq {

// Cuts `text` at the first `mark`; what is behind it, or nothing if it isn't there.
std::optional<std::string_view> CutAt(std::string_view& text, char mark);

// Nothing: a % without its two hexadecimal digits, or a NUL, at which C would end the text.
std::optional<std::string> PercentDecoded(std::string_view text);

struct HostAndPort {
  std::string host;  // IPv6 without its brackets
  uint16_t port = 0;
};
// "host", "host:1", "[::1]", "[::1]:1". `port`: where none is said. Failure: kInvalid, why.
Result<HostAndPort> ParseHostAndPort(std::string_view text, uint16_t port);

struct UserAndPassword {
  std::string user;
  std::string password;
  friend bool operator==(const UserAndPassword&, const UserAndPassword&) = default;
};
// Read an address, or its user and password, again: those of a file that may have changed. Called
// from any thread. It must not block for long.
using ReadAddress = std::function<Result<std::string>()>;
using ReadLogin = std::function<Result<UserAndPassword>()>;

// Takes "user:password@" or "user@", percent-encoded, off the front of what stands before the first
// '/'. Nothing: there is none. Failure: kInvalid, why.
Result<std::optional<UserAndPassword>> CutUser(std::string_view& text);

}  // namespace oncemq
