// SPDX-License-Identifier: Apache-2.0
#include "log_format.h"

#include <array>
#include <chrono>
#include <cstdio>

#include "log_escape.h"

namespace oncemq {
namespace {

std::string_view UpperName(LogLevel level) {
  static constexpr std::array<std::string_view, 5> kNames{"DEBUG", "INFO", "WARN", "ERROR", "OFF"};
  return kNames[static_cast<size_t>(level)];
}

std::string_view LowerName(LogLevel level) {
  static constexpr std::array<std::string_view, 5> kNames{"debug", "info", "warn", "error", "off"};
  return kNames[static_cast<size_t>(level)];
}

bool IsOwnKey(std::string_view name) {
  return name == "time" || name == "level" || name == "area" || name == "text" || name == "alike";
}

}  // namespace

std::string FormatLogTime(WallTime time) {
  namespace chr = std::chrono;
  const chr::sys_time<chr::microseconds> moment{chr::microseconds(time.micros)};
  const auto day = chr::floor<chr::days>(moment);
  const chr::year_month_day date(day);
  const chr::hh_mm_ss clock(chr::floor<chr::milliseconds>(moment - day));
  char text[64];
  const int length = std::snprintf(
      text, sizeof text, "%04d-%02u-%02uT%02d:%02d:%02d.%03dZ", static_cast<int>(date.year()),
      static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
      static_cast<int>(clock.hours().count()), static_cast<int>(clock.minutes().count()),
      static_cast<int>(clock.seconds().count()), static_cast<int>(clock.subseconds().count()));
  return std::string(text, static_cast<size_t>(length));
}

std::string FormatLogText(const LogLine& line) {
  std::string out = FormatLogTime(line.time);
  out += ' ';
  out += UpperName(line.level);
  out += ' ';
  AppendLogText(out, line.area);
  out += ' ';
  AppendLogText(out, line.text);
  if (line.alike > 0) {
    out += " (+" + std::to_string(line.alike) + " alike)";
  }
  for (const LogField& field : line.fields) {
    out += ' ';
    AppendLogText(out, field.name);
    out += '=';
    AppendLogValue(out, field.value);
  }
  out += '\n';
  return out;
}

std::string FormatLogJson(const LogLine& line) {
  std::string out = "{\"time\":\"" + FormatLogTime(line.time) + "\",\"level\":\"";
  out += LowerName(line.level);
  out += "\",\"area\":";
  AppendLogJson(out, line.area);
  out += ",\"text\":";
  AppendLogJson(out, line.text);
  if (line.alike > 0) {
    out += ",\"alike\":" + std::to_string(line.alike);
  }
  for (const LogField& field : line.fields) {
    out += ',';
    AppendLogJson(out,
                  IsOwnKey(field.name) ? std::string(field.name) + '_' : std::string(field.name));
    out += ':';
    if (field.quoted) {
      AppendLogJson(out, field.value);
    } else {
      out += field.value;
    }
  }
  out += "}\n";
  return out;
}

}  // namespace oncemq
