// SPDX-License-Identifier: Apache-2.0
// Logging: text on a terminal, one JSON object per line otherwise. Asynchronous: a slow terminal
// never stops a handler; what had to be dropped is counted and said. Fields are escaped, repeated
// lines are limited. Nobody logs a payload, a key or a secret.
//
//   Log(LogLevel::kWarn, "kafka", "commit refused", {{"topic", topic}, {"partition", partition}});
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace oncemq {

enum class LogLevel : unsigned char { kDebug, kInfo, kWarn, kError, kOff };

struct LogField {
  template <std::integral T>
  LogField(std::string_view n, T v) : name(n), value(std::to_string(v)), quoted(false) {}
  LogField(std::string_view n, bool v) : name(n), value(v ? "true" : "false"), quoted(false) {}
  LogField(std::string_view n, std::string_view v) : name(n), value(v), quoted(true) {}
  LogField(std::string_view n, const char* v) : name(n), value(v), quoted(true) {}
  LogField(std::string_view n, const std::string& v) : name(n), value(v), quoted(true) {}

  std::string_view name;
  std::string value;
  bool quoted;  // whether JSON needs quotes around the value
};

struct LogOptions {
  LogLevel level = LogLevel::kInfo;  // lines below it are not made
  enum class Format {
    kAuto,
    kText,
    kJson
  } format = Format::kAuto;  // kAuto: text on a terminal, else JSON
  size_t queue = 8192;       // lines that may wait for the writer; more are dropped and counted
  uint32_t repeats_per_second = 10;  // the same line of the same place, at most; 0: no limit
  std::string file;                  // empty: standard error, as for a pipe that nobody reads
};

// Starts (or restarts) the writer. Without it, lines go to standard error with default options.
//
// Thread safety: StartLogging and StopLogging from one thread; everything else from any.
void StartLogging(const LogOptions& options);

// Writes what is queued, bounded in time.
void StopLogging();

bool LogEnabled(LogLevel level);
void Log(LogLevel level, std::string_view area, std::string_view text,
         std::initializer_list<LogField> fields = {});

// A field of all lines of this thread, as long as the scope lives and has no inner one. A line asks
// for its value, so it costs nothing without one. An empty value leaves the field out.
class LogScope {
 public:
  using Value = std::string_view (*)(const void* subject);
  LogScope(std::string_view field, Value ask, const void* subject);
  ~LogScope();
  LogScope(const LogScope&) = delete;
  LogScope& operator=(const LogScope&) = delete;

  std::string_view name() const { return name_; }
  std::string_view value() const { return value_(subject_); }

 private:
  const std::string_view name_;
  const Value value_;
  const void* const subject_;
  const LogScope* const outer_;
};

// For the words of another library, which repeats them as often as it likes: of lines that differ
// in digits only, one a minute is written, and then how many were like it.
void LogSeldom(LogLevel level, std::string_view area, std::string_view text,
               std::initializer_list<LogField> fields = {});

struct LogCounters {
  uint64_t written = 0;
  uint64_t dropped = 0;   // the queue was full
  uint64_t repeated = 0;  // held back by the repeat limit
};
LogCounters LogTotals();

}  // namespace oncemq
