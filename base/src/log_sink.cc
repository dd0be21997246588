// SPDX-License-Identifier: Apache-2.0
#include "log_sink.h"

#include <unistd.h>

#include <cerrno>
#include <utility>

namespace oncemq {

LogSink::LogSink(int fd, bool owned, LogCells& cells, DroppedLine dropped_line)
    : fd_(fd),
      owned_(owned),
      cells_(cells),
      dropped_line_(std::move(dropped_line)),
      dropped_said_(cells.dropped) {}

LogSink::~LogSink() {
  if (owned_) {
    close(fd_);
  }
}

bool LogSink::Write(std::string_view line) {
  while (!line.empty()) {
    const ssize_t wrote = write(fd_, line.data(), line.size());
    if (wrote < 0 && errno == EINTR) {
      continue;
    }
    if (wrote <= 0) {
      return false;
    }
    line.remove_prefix(static_cast<size_t>(wrote));
  }
  return true;
}

void LogSink::flush_() {
  const uint64_t dropped = cells_.dropped;
  if (dropped > dropped_said_ && Write(dropped_line_(dropped - dropped_said_))) {
    dropped_said_ = dropped;
  }
}

void LogSink::sink_it_(const spdlog::details::log_msg& message) {
  flush_();
  if (Write({message.payload.data(), message.payload.size()})) {
    cells_.written++;
  } else {
    cells_.dropped++;
  }
}

}  // namespace oncemq
