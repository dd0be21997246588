// SPDX-License-Identifier: Apache-2.0
#include "player_options.h"

#include <algorithm>
#include <stdexcept>
#include <type_traits>

namespace oncemq::testing {
namespace {

// Each option once, with its name, for both ways.
template <class Text, class Number, class Time>
void Each(PlayerOptions& options, const Text& text, const Number& number, const Time& time) {
  text("at", options.at);
  text("exhibit", options.exhibit);
  text("record", options.record);
  text("keeps", options.keeps);
  number("seed", options.seed);
  number("names", options.names);
  number("readers", options.readers);
  number("fenced", options.fenced);
  number("votes", options.votes);
  number("counted", options.counted);
  number("limit", options.limit);
  number("goes_blind", options.goes_blind);
  number("comes_last", options.comes_last);
  time("lease", options.lease);
  time("place", options.queue_lease);
  time("call", options.call);
  time("session", options.session);
  time("hold", options.hold);
  time("wait", options.wait);
  time("clock_error", options.clock_error);
  time("config_lease", options.config_lease);
  time("longest", options.longest);
}

}  // namespace

std::string RecordOf(const PlayerOptions& options) {
  return options.record.empty() ? "file:" + (options.directory / "switch").string()
                                : options.record;
}

std::vector<std::string> WordsOf(const PlayerOptions& options) {
  std::vector<std::string> words{"directory=" + options.directory.string()};
  for (const auto& [name, at] : options.stores) {
    words.push_back("store." + name + "=" + at);
  }
  const auto add = [&](const std::string& key, const std::string& value) {
    words.push_back(key + "=" + value);
  };
  PlayerOptions copy = options;
  Each(
      copy, [&](const char* key, const std::string& value) { add(key, value); },
      [&](const char* key, int value) { add(key, std::to_string(value)); },
      [&](const char* key, milliseconds value) { add(key, std::to_string(value.count())); });
  return words;
}

PlayerOptions ParsePlayerOptions(const std::vector<std::string>& words) {
  PlayerOptions options;
  for (const std::string& word : words) {
    const std::string key = word.substr(0, word.find('='));
    const std::string value = word.substr(std::min(word.size(), key.size() + 1));
    bool known = true;
    if (key == "directory") {
      options.directory = value;
    } else if (key.starts_with("store.")) {
      options.stores.emplace_back(key.substr(6), value);
    } else {
      known = false;
    }
    Each(
        options,
        [&](const char* name, std::string& text) {
          text = key == name ? value : text;
          known = known || key == name;
        },
        [&](const char* name, auto& number) {
          if (key == name) {
            number = static_cast<std::remove_reference_t<decltype(number)>>(std::stoi(value));
            known = true;
          }
        },
        [&](const char* name, milliseconds& time) {
          time = key == name ? milliseconds(std::stoll(value)) : time;
          known = known || key == name;
        });
    if (!known) {
      throw std::invalid_argument("a player knows no " + key);
    }
  }
  return options;
}

}  // namespace oncemq::testing
