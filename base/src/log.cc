// SPDX-License-Identifier: Apache-2.0
#include "oncemq/base/log.h"

#include <atomic>
#include <cstdlib>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "log_writer.h"
#include "oncemq/base/mutex.h"

namespace oncemq {
namespace {

constexpr milliseconds kStopAtMost = std::chrono::seconds(2);

// Never destroyed: whoever logs while the process ends must find it.
struct LogState {
  LogCells cells;
  std::atomic<LogLevel> level{LogLevel::kInfo};
  Mutex mutex;
  std::shared_ptr<LogWriter> writer GUARDED_BY(mutex);
};

LogState& State() {
  static LogState& state = *new LogState;
  return state;
}

std::shared_ptr<LogWriter> CurrentWriter(LogState& state) {
  const MutexLock lock(state.mutex);
  if (state.writer == nullptr) {
    state.writer = std::make_shared<LogWriter>(LogOptions{}, LogWriter::Way::kDirect, state.cells);
  }
  return state.writer;
}

void Replace(LogState& state, std::shared_ptr<LogWriter> writer) {
  {
    const MutexLock lock(state.mutex);
    std::swap(state.writer, writer);
  }
  if (writer != nullptr) {
    writer->Stop(kStopAtMost);
  }
}

thread_local const LogScope* innermost = nullptr;

void Write(LogLevel level, std::string_view area, std::string_view text,
           std::initializer_list<LogField> fields, LogWriter::Pace pace) {
  if (!LogEnabled(level)) {
    return;
  }
  const std::string_view value = innermost == nullptr ? "" : innermost->value();
  if (value.empty()) {
    CurrentWriter(State())->Write(level, area, text, {fields.begin(), fields.size()}, pace);
    return;
  }
  std::vector<LogField> all(fields);
  all.emplace_back(innermost->name(), value);
  CurrentWriter(State())->Write(level, area, text, all, pace);
}

}  // namespace

LogScope::LogScope(std::string_view field, Value ask, const void* subject)
    : name_(field), value_(ask), subject_(subject), outer_(std::exchange(innermost, this)) {}

LogScope::~LogScope() {
  innermost = outer_;
}

void StartLogging(const LogOptions& options) {
  LogState& state = State();
  // A process that ends without StopLogging keeps its last lines.
  [[maybe_unused]] static const int registered = std::atexit(StopLogging);
  state.level = options.level;
  Replace(state, std::make_shared<LogWriter>(options, LogWriter::Way::kQueue, state.cells));
}

void StopLogging() {
  Replace(State(), nullptr);
}

bool LogEnabled(LogLevel level) {
  return level >= State().level.load(std::memory_order_relaxed) && level != LogLevel::kOff;
}

void Log(LogLevel level, std::string_view area, std::string_view text,
         std::initializer_list<LogField> fields) {
  Write(level, area, text, fields, LogWriter::Pace::kUsual);
}

void LogSeldom(LogLevel level, std::string_view area, std::string_view text,
               std::initializer_list<LogField> fields) {
  Write(level, area, text, fields, LogWriter::Pace::kSeldom);
}

LogCounters LogTotals() {
  const LogCells& cells = State().cells;
  return {cells.written, cells.dropped, cells.repeated};
}

}  // namespace oncemq
