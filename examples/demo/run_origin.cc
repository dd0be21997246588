// SPDX-License-Identifier: Apache-2.0
#include "run_origin.h"

#include <sys/utsname.h>

#include <ctime>
#include <fstream>
#include <iterator>
#include <thread>

namespace oncemq::demo {
namespace {

std::string SystemName() {
  std::ifstream file("/etc/os-release");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  std::string name = NameInOsRelease(text);
  utsname kernel{};
  if (uname(&kernel) != 0) {
    return name;
  }
  name += name.empty() ? "" : ", ";
  return name + kernel.sysname + " " + kernel.release + " " + kernel.machine;
}

}  // namespace

std::string NameInOsRelease(std::string_view text) {
  constexpr std::string_view kField = "PRETTY_NAME=";
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(line.size() < text.size() ? line.size() + 1 : line.size());
    if (!line.starts_with(kField)) {
      continue;
    }
    line.remove_prefix(kField.size());
    const bool quoted = line.size() >= 2 && line.front() == '"' && line.back() == '"';
    return std::string(quoted ? line.substr(1, line.size() - 2) : line);
  }
  return {};
}

std::string MinuteInUtc(WallTime time) {
  const auto seconds = static_cast<std::time_t>(time.micros / 1'000'000);
  std::tm parts{};
  char text[64];
  const size_t length = gmtime_r(&seconds, &parts) == nullptr
                            ? 0
                            : std::strftime(text, sizeof(text), "%Y-%m-%d %H:%M UTC", &parts);
  return {text, length};
}

RunOrigin OriginOf(std::string_view version, WallTime now) {
  return {.version = std::string(version),
          .date = MinuteInUtc(now),
          .cores = std::thread::hardware_concurrency(),
          .system = SystemName()};
}

std::string OriginLine(const RunOrigin& origin) {
  return "oncemq " + origin.version + ", " + origin.date + ", " + std::to_string(origin.cores) +
         (origin.cores == 1 ? " core, " : " cores, ") + origin.system;
}

}  // namespace oncemq::demo
