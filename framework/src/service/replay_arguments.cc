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
    ReplayFlag{"--state", "DIR", "The directory of the replay. A set in it is taken up again.",
               [](Arguments& to, const std::string& value, int64_t) {
                 to.how.directory = value;
                 return !value.empty();
               }},
    ReplayFlag{"--json", "", "One object as JSON.",
               [](Arguments& to, const std::string&, int64_t) { return SetFlag(to.json); }},
    ReplayFlag{"--run", "", "Run it. Without this it is only judged, and nothing changes.",
               [](Arguments& to, const std::string&, int64_t) { return SetFlag(to.run); }, true},
    ReplayFlag{"--count", "N", "At most so many calls of the handler, asked for above 1,000.",
               [](Arguments& to, const std::string& value, int64_t) {
                 return SetNumber(to.how.most, value);
               },
               true},
    ReplayFlag{"--per-second", "N", "At most so many calls a second.",
               [](Arguments& to, const std::string& value, int64_t) {
                 return SetNumber(to.how.per_second, value) && to.how.per_second > 0;
               },
               true},
    ReplayFlag{"--skip-outside", "", "Leave messages that are older than the window remembers.",
               [](Arguments& to, const std::string&, int64_t) { return SetFlag(to.skip_outside); },
               true},
    ReplayFlag{
        "--run-outside", "", "Run them, though they may have run before.",
        [](Arguments& to, const std::string&, int64_t) { return SetFlag(to.how.run_outside); },
        true},
    ReplayFlag{
        "--run-uncertain", "", "Run messages again whose effect nobody knows (opaque).",
        [](Arguments& to, const std::string&, int64_t) { return SetFlag(to.how.run_uncertain); },
        true},
    ReplayFlag{
        "--stop-at-refusal", "", "Stop a partition where the handler refuses a message.",
        [](Arguments& to, const std::string&, int64_t) { return SetFlag(to.how.stop_at_refusal); },
        true},
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
  if (!request.since_ms && !request.from && arguments.how.directory.empty()) {
    return Wrong("from where on? Say --since, or --from, or --state with the set of a dry run");
  }
  if (arguments.skip_outside && arguments.how.run_outside) {
    return Wrong("--skip-outside and --run-outside exclude each other");
  }
  return {};
}

std::string ReplayUsage(std::string_view program) {
  std::string text =
      "usage: " + std::string(program) + " replay -c FILE --since TIME [--run] ...\n";
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
