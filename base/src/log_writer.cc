// SPDX-License-Identifier: Apache-2.0
#include "log_writer.h"

#include <fcntl.h>
#include <signal.h>
#include <spdlog/async_logger.h>
#include <spdlog/details/thread_pool.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <future>
#include <utility>

#include "log_format.h"

namespace oncemq {
namespace {

constexpr size_t kLongestQueue = 1'000'000;
constexpr microseconds kSecond = std::chrono::seconds(1);
constexpr microseconds kMinute = std::chrono::minutes(1);

struct Output {
  int fd = STDERR_FILENO;
  bool owned = false;
  std::string failure;
};

Output Open(const std::string& file) {
  if (file.empty()) {
    return {};
  }
  // A named pipe that nobody reads would keep us here without O_NONBLOCK; with it that is an error.
  const int fd =
      open(file.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0640);
  if (fd < 0) {
    return {STDERR_FILENO, false, std::strerror(errno)};
  }
  // From here on a slow reader is the writing thread's matter: half a line would be worse.
  fcntl(fd, F_SETFL, O_APPEND);
  return {fd, true, {}};
}

bool UseJson(LogOptions::Format format, int fd) {
  return format == LogOptions::Format::kJson ||
         (format == LogOptions::Format::kAuto && isatty(fd) == 0);
}

spdlog::level::level_enum ToSpdlog(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarn:
      return spdlog::level::warn;
    case LogLevel::kError:
    case LogLevel::kOff:
      break;
  }
  return spdlog::level::err;
}

// Threads made within its life get no signals: those are for the process's own threads, and a
// reader of the log that went away must be an error of one write, not SIGPIPE.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

}  // namespace

LogWriter::LogWriter(const LogOptions& options, Way way, LogCells& cells)
    : cells_(cells),
      repeat_(options.repeats_per_second),
      seldom_(options.repeats_per_second == 0 ? 0 : 1, kMinute, RepeatLimit::Alike::kButForDigits) {
  const Output output = Open(options.file);
  json_ = UseJson(options.format, output.fd);
  sink_ = std::make_shared<LogSink>(output.fd, output.owned, cells_, [json = json_](uint64_t n) {
    const LogField count("count", n);
    const LogLine line{SystemClock::Instance().Wall(),
                       LogLevel::kWarn,
                       "log",
                       "lines dropped, the log could not keep up",
                       {&count, 1},
                       0};
    return json ? FormatLogJson(line) : FormatLogText(line);
  });
  logger_ = std::make_shared<spdlog::logger>("oncemq", sink_);
  if (way == Way::kQueue) {
    StartThreads(std::clamp<size_t>(options.queue, 1, kLongestQueue));
  }
  logger_->set_level(spdlog::level::trace);  // LogEnabled has decided already
  logger_->set_error_handler([&totals = cells_](const std::string&) { totals.dropped++; });
  if (!output.failure.empty()) {
    const LogField fields[] = {{"file", options.file}, {"why", output.failure}};
    Write(LogLevel::kError, "log", "file cannot be opened, writing to standard error", fields);
  }
}

LogWriter::~LogWriter() {
  Stop(milliseconds(0));
}

// A machine without room for a thread still gets its lines, written directly.
void LogWriter::StartThreads(size_t queue) {
  const SignalsBlocked blocked;
  try {
    auto pool = std::make_shared<spdlog::details::thread_pool>(
        queue, 1, [] { pthread_setname_np(pthread_self(), "oncemq-log"); });
    ticker_ = std::jthread([this](const std::stop_token& stop) { Tick(stop); });
    logger_ = std::make_shared<spdlog::async_logger>("oncemq", sink_, pool,
                                                     spdlog::async_overflow_policy::overrun_oldest);
    const MutexLock lock(mutex_);
    pool_ = std::move(pool);
  } catch (const std::exception&) {
    ticker_ = {};
  }
}

void LogWriter::Tick(const std::stop_token& stop) {
  pthread_setname_np(pthread_self(), "oncemq-logtick");
  const MutexLock lock(mutex_);
  while (!stopping_.wait_for(mutex_, stop, kSecond, [&] { return stop.stop_requested(); })) {
    LogHeldBack(clock_.Boot());
  }
}

std::string LogWriter::Format(const LogLine& line) const {
  return json_ ? FormatLogJson(line) : FormatLogText(line);
}

void LogWriter::Hand(LogLevel level, const std::string& line) {
  logger_->log(ToSpdlog(level), spdlog::string_view_t(line));
  if (pool_ != nullptr) {
    const uint64_t overruns = pool_->overrun_counter();
    cells_.dropped += overruns - overruns_;
    overruns_ = overruns;
  }
}

void LogWriter::LogHeldBack(BootTime now) {
  for (RepeatLimit* const limit : {&repeat_, &seldom_}) {
    for (const RepeatLimit::HeldBack& held : limit->Take(now)) {
      Hand(held.level, Format({clock_.Wall(), held.level, held.area, held.text, {}, held.count}));
    }
  }
}

void LogWriter::Write(LogLevel level, std::string_view area, std::string_view text,
                      std::span<const LogField> fields, Pace pace) {
  const BootTime now = clock_.Boot();
  const MutexLock lock(mutex_);
  if (stopped_) {
    cells_.dropped++;
    return;
  }
  const bool admitted = (pace == Pace::kUsual || seldom_.Admit(level, area, text, now)) &&
                        repeat_.Admit(level, area, text, now);
  LogHeldBack(now);
  if (admitted) {
    Hand(level, Format({clock_.Wall(), level, area, text, fields, 0}));
  } else {
    cells_.repeated++;
  }
}

void LogWriter::Stop(milliseconds at_most) {
  ticker_ = {};
  std::shared_ptr<spdlog::details::thread_pool> pool;
  {
    const MutexLock lock(mutex_);
    if (stopped_) {
      return;
    }
    LogHeldBack(clock_.Boot() + kMinute);
    stopped_ = true;
    pool = std::exchange(pool_, nullptr);
  }
  if (pool != nullptr) {
    EndPool(std::move(pool), at_most);
  }
}

// The pool's end writes what is queued and cannot be hurried, so a thread that may be left behind
// does it.
void LogWriter::EndPool(std::shared_ptr<spdlog::details::thread_pool> pool, milliseconds at_most) {
  std::promise<void> promise;
  std::future<void> ended = promise.get_future();
  const SignalsBlocked blocked;
  std::thread thread(
      [pool = std::move(pool), sink = sink_, promise = std::move(promise)]() mutable {
        pool.reset();
        sink->flush();
        promise.set_value();
      });
  if (ended.wait_for(at_most) == std::future_status::ready) {
    thread.join();
  } else {
    thread.detach();
  }
}

}  // namespace oncemq
