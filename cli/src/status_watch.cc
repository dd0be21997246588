// SPDX-License-Identifier: Apache-2.0
#include "status_watch.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <string_view>
#include <utility>

#include "exit_code.h"
#include "oncemq/base/clock.h"
#include "safe_json.h"
#include "units.h"

namespace oncemq {
namespace {

constexpr milliseconds kEvery{1'000};
constexpr milliseconds kLeastPause{100};

bool IsSet(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr && *value != '\0';
}

bool IsTerminal() {
  const char* const kind = std::getenv("TERM");
  return isatty(STDOUT_FILENO) != 0 && kind != nullptr && std::string_view(kind) != "dumb";
}

// Each line erases the rest of the old one, which does not flicker.
std::string Picture(const std::string& text) {
  std::string out = "\x1b[H";
  for (const char c : text) {
    out += c == '\n' ? "\x1b[K\n" : std::string(1, c);
  }
  return out + "\x1b[J";
}

}  // namespace

TableLook LookOfOutput() {
  if (!IsTerminal()) {
    return {};
  }
  winsize size{};
  const bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
  return {.width = known ? size.ws_col - 1u : 79u,
          .height = known ? size.ws_row : 24u,
          .color = !IsSet("NO_COLOR")};
}

std::string NewLines(const std::vector<std::string>& last, const std::vector<std::string>& lines,
                     const std::string& time) {
  std::string out;
  for (const std::string& line : lines) {
    out += std::ranges::find(last, line) == last.end() ? time + " " + line + "\n" : "";
  }
  return out;
}

int WatchStatus(const WatchArguments& arguments, bool json, const std::function<StatusLook()>& look,
                const std::function<StatusTable(const nlohmann::ordered_json&)>& table) {
  const auto every =
      arguments.every.empty() ? std::optional(kEvery) : ParseDuration(arguments.every);
  if (!every || *every < kLeastPause) {
    std::cerr << "--every takes a time of at least 100ms, such as 5s, not "
              << SafeText(arguments.every) << "\n";
    return kExitUsage;
  }
  const bool draws = IsTerminal() && !json;
  std::cout << (draws ? "\x1b[2J" : "");
  std::vector<std::string> last;
  for (;;) {
    const StatusLook now = look();
    if (now.code == kExitUsage) {
      return now.code;
    }
    if (now.result.is_null()) {
      last.clear();
      std::cout << (draws ? Picture(now.why + "\n") : "");
    } else if (json) {
      std::cout << SafeJson(now.result) << "\n";
    } else if (draws) {
      std::cout << Picture(TableText(table(now.result), LookOfOutput()));
    } else {
      std::vector<std::string> lines = TableLines(table(now.result));
      std::cout << NewLines(last, lines, FormatTime(SystemClock::Instance().Wall().micros / 1'000));
      last = std::move(lines);
    }
    if (!std::cout.flush()) {
      return kExitFailed;
    }
    SleepFor(*every);
  }
}

}  // namespace oncemq
