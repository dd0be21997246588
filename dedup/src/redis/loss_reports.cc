// SPDX-License-Identifier: Apache-2.0
#include "loss_reports.h"

#include <array>
#include <chrono>

#include "oncemq/base/bytes.h"
#include "oncemq/base/log.h"

namespace oncemq {
namespace {

constexpr microseconds kClockBound = std::chrono::minutes(1);
constexpr microseconds kPromptAnswer = std::chrono::seconds(15);

int64_t WallMillis() {
  return SystemClock::Instance().Wall().micros / 1'000;
}

}  // namespace

void LossReports::Opened(const Opening& opening) {
  if (opening.made) {
    Log(LogLevel::kInfo, "window", "made the scope: it knows no id from before",
        {{"scope", scope_}, {"engine", "redis"}});
  }
  if (opening.seen - opening.now > kClockBound.count()) {
    Log(LogLevel::kWarn, "window",
        "the clock of Redis is behind its last known time: it was set back, or another server "
        "answers",
        {{"scope", scope_}, {"behind_s", (opening.seen - opening.now) / 1'000'000}});
  }
  const bool recent = opening.now - opening.changed <= microseconds(remember_).count();
  if (opening.changed != 0 && recent && !opening.made) {
    if (opening.since == 0) {
      Log(LogLevel::kWarn, "window",
          "Redis had lost the scope, and a process made it anew: nothing from before is known",
          {{"scope", scope_}, {"made_ms", opening.changed / 1'000}});
    } else {
      Log(LogLevel::kWarn, "window",
          "Redis was started again or replaced: changes that it had acknowledged may be lost",
          {{"scope", scope_},
           {"since_ms", opening.since / 1'000},
           {"found_ms", opening.changed / 1'000}});
    }
    MutexLock lock(mutex_);
    counts_.possible++;
  }
  NoteClock(opening.now, BootNow());
}

void LossReports::Proven() {
  Log(LogLevel::kWarn, "window", "Redis has lost changes that it had acknowledged",
      {{"scope", scope_}});
  MutexLock lock(mutex_);
  counts_.proven++;
}

// The count would have told whether its last changes are there still.
void LossReports::Forgotten() {
  Log(LogLevel::kWarn, "window",
      "this process asked nothing for so long that Redis has dropped its count of changes: whether "
      "all are there still cannot be told, so partitions are assigned anew",
      {{"scope", scope_}});
  MutexLock lock(mutex_);
  counts_.possible++;
}

void LossReports::Announced(std::string_view news) {
  if (news.empty() || !opaque_) {
    return;
  }
  std::array<std::optional<int64_t>, 3> numbers{};
  for (std::optional<int64_t>& number : numbers) {
    const size_t end = news.find('\n');
    number = ParseDecimal(news.substr(0, end));
    news.remove_prefix(end == news.npos ? news.size() : end + 1);
  }
  const auto& [changed, since, until] = numbers;
  if (!changed || !since) {
    return;
  }
  bool begins = false;
  bool ends = false;
  {
    MutexLock lock(mutex_);
    begins = begun_ != *changed;
    ends = until && ended_ != *changed;
    begun_ = *changed;
    ended_ = ends ? *changed : ended_;
  }
  const int64_t since_ms = WallMillis() - *since / 1'000;
  if (begins) {
    Log(LogLevel::kWarn, "window",
        "Redis was started again or replaced: until all partitions of the scope know their ids "
        "again, copies may run once more, and are not told as uncertain",
        {{"scope", scope_}, {"unprotected_since_ms", since_ms}});
  }
  if (ends) {
    Log(LogLevel::kWarn, "window", "all partitions of the scope know their ids again",
        {{"scope", scope_},
         {"unprotected_since_ms", since_ms},
         {"unprotected_until_ms", WallMillis() - *until / 1'000}});
  }
}

void LossReports::NoteClock(int64_t server_micros, BootTime asked) {
  if (BootNow() - asked > kPromptAnswer) {
    return;  // this process may have been stopped meanwhile
  }
  const microseconds ahead = microseconds(server_micros) - BootNow().time_since_epoch();
  const microseconds owner_epoch =
      microseconds(SystemClock::Instance().Wall().micros) - BootNow().time_since_epoch();
  bool first = false;
  microseconds jump{0};
  {
    MutexLock lock(mutex_);
    first = !ahead_.has_value();
    jump = ahead - (first ? owner_epoch : *ahead_);
    ahead_ = ahead;
    counts_.possible += !first && jump > kClockBound ? 1 : 0;
  }
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(jump).count();
  if (jump > -kClockBound && jump < kClockBound) {
    return;
  }
  if (first) {
    Log(LogLevel::kWarn, "window", "the clock of Redis differs from the clock of this host",
        {{"scope", scope_}, {"ahead_s", seconds}});
  } else {
    Log(LogLevel::kWarn, "window",
        jump > microseconds(0)
            ? "the clock of Redis has jumped ahead: leases and finished operations ended early"
            : "the clock of Redis was set back: leases and finished operations end late",
        {{"scope", scope_}, {"jump_s", seconds}});
  }
}

StoreLosses LossReports::counts() const {
  MutexLock lock(mutex_);
  return counts_;
}

}  // namespace oncemq
