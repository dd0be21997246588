// SPDX-License-Identifier: Apache-2.0
// Inside the process under test: which files are watched, and the record of what is done to them.
//
// Promise: an entry is in the record when the call that made it returns to the program; entries
// stand in the order of their changes, since change and entry happen under one lock. What cannot be
// recorded truly ends the process with a word on standard error.
//
// Thread safety: any thread, between its constructor and the end of the process; not in a handler
// of signals that may interrupt itself.
#pragma once

#include <sys/uio.h>

#include <span>
#include <string>
#include <string_view>

#include "record_format.h"

namespace oncemq::testing::power {

// Change and entry in one.
class Recording {
 public:
  Recording();
  ~Recording();
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;
};

bool Active();
[[noreturn]] void Die(const char* what);

bool Watched(int fd);
void Watch(int fd, bool watched);

// Its path below the root, "" for the root itself. False: elsewhere.
bool Inside(int folder, const char* path, std::string* relative);

// Inside a Recording. errno stays what the change has left.
void Append(PowerOp op, int fd, int64_t a = 0, int64_t b = 0, std::string_view first = {},
            std::string_view second = {});
void AppendWrite(int fd, int64_t offset, std::span<const iovec> parts, size_t written);
int64_t NextSync();

}  // namespace oncemq::testing::power
