// SPDX-License-Identifier: Apache-2.0
#include "replay_arguments.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "oncemq/base/bytes.h"
#include "units.h"

namespace oncemq {
namespace {

Error Wrong(std::string message) {
  return {Code::kInvalid, Effect::kNone, std::move(message)};
}

// A day, a time with its zone, or a duration before `now_ms`.
std::optional<int64_t> TimeOf(const std::string& text, int64_t now_ms) {
  if (const auto ago = ParseDuration(text)) {
    return std::max<int64_t>(now_ms - ago->count(), 0);
  }
  const auto time = ParseTime(text);
  return time ? time : ParseTime(text + "T00:00:00Z");
}

bool SetNumber(std::optional<int64_t>& number, const std::string& value) {
  number = ParseDecimal(value);
  return number.has_value();
}

template <class Number>
bool SetNumber(Number& number, const std::string& value) {
  const auto read = ParseDecimal(value);
  number = static_cast<Number>(read.value_or(0));
  return read && *read <= INT32_MAX;
}

bool SetTime(std::optional<int64_t>& time, const std::string& value, int64_t now_ms) {
  time = TimeOf(value, now_ms);
  return time.has_value();
}

bool SetFlag(bool& flag) {
  flag = true;
  return true;
}

using Arguments = ReplayArguments;

constexpr std::array kFlags{
    ReplayFlag{"--config", "FILE", "The service file.",
               [](Arguments& to, const std::string& value, int64_t) {
                 to.config = value;
                 return !value.empty();
               }},
    ReplayFlag{"--since", "TIME", "Messages from this day, time or duration on.",
               [](Arguments& to, const std::string& value, int64_t now_ms) {
                 return SetTime(to.request.since_ms, value, now_ms);
               }},
    ReplayFlag{"--until", "TIME", "And before this one. By default up to the frontier.",
               [](Arguments& to, const std::string& value, int64_t now_ms) {
                 return SetTime(to.request.until_ms, value, now_ms);
               }},
    ReplayFlag{"--topic", "TOPIC", "Of this topic, again for several. By default of all.",
               [](Arguments& to, const std::string& value, int64_t) {
                 to.request.topics.push_back(value);
                 return !value.empty();
               }},
    ReplayFlag{"--partition", "P", "Of this partition, again for several. By default of all.",
               [](Arguments& to, const std::string& value, int64_t) {
                 return SetNumber(to.request.partitions.emplace_back(), value);
               }},
    ReplayFlag{"--from", "OFFSET", "With one topic and partition: from this offset on.",
               [](Arguments& to, const std::string& value, int64_t) {
                 return SetNumber(to.request.from, value);
               }},
    ReplayFlag{"--to", "OFFSET", "And before this one.",
               [](Arguments& to, const std::string& value, int64_t) {
                 return SetNumber(to.request.to, value);
               }},
    ReplayFlag{"--state", "DIR", "Keep the set in this directory, or judge the one that is there.",
               [](Arguments& to, const std::string& value, int64_t) {
                 to.directory = value;
                 return !value.empty();
               }},
    ReplayFlag{"--json", "", "One object as JSON.",
               [](Arguments& to, const std::string&, int64_t) { return SetFlag(to.json); }},
    ReplayFlag{"--help", "", "This text.",
               [](Arguments& to, const std::string&, int64_t) { return SetFlag(to.help); }},
};

std::string_view LongName(std::string_view word) {
  return word == "-c" ? "--config" : word == "-h" ? "--help" : word;
}

}  // namespace

std::span<const ReplayFlag> ReplayFlags() {
  return kFlags;
}

Result<ReplayArguments> ReadReplayArguments(std::span<const std::string> words, int64_t now_ms) {
  ReplayArguments arguments;
  for (size_t at = 0; at < words.size(); at++) {
    const std::string& word = words[at];
    const size_t joined = word.starts_with("--") ? word.find('=') : std::string::npos;
    const std::string_view name = LongName(std::string_view(word).substr(0, joined));
    const auto flag = std::ranges::find(kFlags, name, &ReplayFlag::name);
    if (flag == kFlags.end() || (flag->value.empty() && joined != std::string::npos)) {
      return Wrong("unknown argument `" + word + "`");
    }
    std::string value;
    if (joined != std::string::npos) {
      value = word.substr(joined + 1);
    } else if (!flag->value.empty()) {
      if (++at == words.size()) {
        return Wrong(word + " wants its " + std::string(flag->value));
      }
      value = words[at];
    }
    if (!flag->set(arguments, value, now_ms)) {
      return Wrong(word + ": `" + value + "` is no " + std::string(flag->value));
    }
  }
  if (arguments.help) {
    return arguments;
  }
  const Status fits = CheckReplayArguments(arguments);
  return fits ? Result<ReplayArguments>(std::move(arguments)) : fits.error();
}

bool Narrows(const ReplayRequest& request) {
  return request.since_ms || request.until_ms || request.from || request.to ||
         !request.topics.empty() || !request.partitions.empty();
}

Status CheckReplayArguments(const ReplayArguments& arguments) {
  const ReplayRequest& request = arguments.request;
  if (arguments.config.empty()) {
    return Wrong("which service file? Say -c FILE");
  }
  const bool offsets = request.from || request.to;
  if (offsets && (request.topics.size() != 1 || request.partitions.size() != 1)) {
    return Wrong("--from and --to are of one partition: say --topic and --partition");
  }
  if (!request.since_ms && !request.from && arguments.directory.empty()) {
    return Wrong("from where on? Say --since, or --from, or --state with a set that was kept");
  }
  return {};
}

std::string ReplayUsage(std::string_view program) {
  std::string text = "usage: " + std::string(program) + " replay -c FILE --since TIME ...\n";
  for (const ReplayFlag& flag : kFlags) {
    const std::string_view letter = flag.name == "--config" ? "-c, "
                                    : flag.name == "--help" ? "-h, "
                                                            : "    ";
    std::string line = "  " + std::string(letter) + std::string(flag.name);
    line += flag.value.empty() ? "" : " " + std::string(flag.value);
    line.resize(std::max<size_t>(line.size() + 2, 28), ' ');
    text += line + std::string(flag.meaning) + "\n";
  }
  return text;
}

}  // namespace oncemq
