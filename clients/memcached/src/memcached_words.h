// SPDX-License-Identifier: Apache-2.0
// The words of memcached's text protocol: commands as they are sent, answers as they come. Without
// I/O. Commands of its newer half (mg, md) have a number that most of their answers repeat, so that
// none is taken for another's. What stores is of the older half: a server without room for a newer
// one (ms), whatever its mode, drops what is under the key, and that may be somebody's lock.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "oncemq/clients/memcached_client.h"

namespace oncemq {

void AppendCommand(std::string& out, const MemcachedCommand& command, uint64_t number);

struct MemcachedHead {
  MemcachedReply reply;
  std::optional<size_t> block;  // so many bytes of a value follow
};
// The first line of an answer to the command of this number. Failures: kFull and kNone where the
// server has no room; kUnavailable and kNone where it has too many connections; else kCorrupt: it
// is no answer to that.
Result<MemcachedHead> ParseHead(std::string_view line, MemcachedCommand::Kind kind,
                                uint64_t number);

}  // namespace oncemq
