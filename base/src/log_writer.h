// SPDX-License-Identifier: Apache-2.0
// One life of the log, from StartLogging to StopLogging: formats lines where they are made, limits
// repeats, and hands them to spdlog, which writes them on a thread of its own from a bounded queue.
// A full queue drops its oldest line and counts it; whoever logs never waits for the file.
//
// Thread safety: Write from any thread; Stop from one. Lines that come after Stop are counted as
// dropped.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>

#include "log_format.h"
#include "log_repeat.h"
#include "log_sink.h"
#include "oncemq/base/clock.h"
#include "oncemq/base/log.h"
#include "oncemq/base/mutex.h"

namespace spdlog {
class logger;
namespace details {
class thread_pool;
}
}  // namespace spdlog

namespace oncemq {

class LogWriter {
 public:
  // How a line reaches the file: by a thread with a queue, or by the caller, while logging is not
  // started.
  enum class Way { kQueue, kDirect };
  // How often lines that are alike are written: as the options say, or once a minute (LogSeldom).
  enum class Pace { kUsual, kSeldom };

  LogWriter(const LogOptions& options, Way way, LogCells& cells);
  ~LogWriter();
  LogWriter(const LogWriter&) = delete;
  LogWriter& operator=(const LogWriter&) = delete;

  void Write(LogLevel level, std::string_view area, std::string_view text,
             std::span<const LogField> fields, Pace pace = Pace::kUsual);

  // Writes what is queued, but leaves a file alone that takes nothing for `at_most`.
  void Stop(milliseconds at_most);

 private:
  void StartThreads(size_t queue);
  void Tick(const std::stop_token& stop);
  std::string Format(const LogLine& line) const;
  void Hand(LogLevel level, const std::string& line) REQUIRES(mutex_);
  void LogHeldBack(BootTime now) REQUIRES(mutex_);
  void EndPool(std::shared_ptr<spdlog::details::thread_pool> pool, milliseconds at_most);

  const Clock& clock_ = SystemClock::Instance();
  LogCells& cells_;
  bool json_ = false;
  std::shared_ptr<LogSink> sink_;
  std::shared_ptr<spdlog::logger> logger_;

  Mutex mutex_;
  RepeatLimit repeat_ GUARDED_BY(mutex_);
  RepeatLimit seldom_ GUARDED_BY(mutex_);  // of lines that are to be written seldom
  std::shared_ptr<spdlog::details::thread_pool> pool_ GUARDED_BY(mutex_);
  uint64_t overruns_ GUARDED_BY(mutex_) = 0;  // of the pool's queue, as far as counted
  bool stopped_ GUARDED_BY(mutex_) = false;
  ConditionVariable stopping_;
  std::jthread ticker_;  // tells what was held back even when nobody logs
};

}  // namespace oncemq
