// SPDX-License-Identifier: Apache-2.0
// The end of the log's way: finished lines to a file descriptor, one write a line, nothing kept
// back in a buffer, so that what was written survives a crash. A line that cannot be written is
// counted as dropped; the next line that can be is preceded by one that says how many are missing.
//
// Thread safety: spdlog calls it under the sink's mutex; the totals may be read from any thread.
#pragma once

#include <spdlog/sinks/base_sink.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>

namespace oncemq {

// Totals of the process: they outlive any writer.
struct LogCells {
  std::atomic<uint64_t> written{0};
  std::atomic<uint64_t> dropped{0};
  std::atomic<uint64_t> repeated{0};
};

class LogSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  // Makes the line that says what is missing.
  using DroppedLine = std::function<std::string(uint64_t dropped)>;

  // Closes `fd` at the end when it is `owned`.
  LogSink(int fd, bool owned, LogCells& cells, DroppedLine dropped_line);
  ~LogSink() override;

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override;
  void flush_() override;  // says what is missing

 private:
  bool Write(std::string_view line);

  const int fd_;
  const bool owned_;
  LogCells& cells_;
  const DroppedLine dropped_line_;
  uint64_t dropped_said_;
};

}  // namespace oncemq
