// SPDX-License-Identifier: Apache-2.0
#include "park_command.h"

#include <algorithm>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "exit_code.h"
#include "oncemq/framework/park.h"
#include "oncemq/framework/service_file.h"
#include "oncemq/framework/stop_signals.h"
#include "park_text.h"
#include "safe_json.h"
#include "units.h"

namespace oncemq {
namespace {

using nlohmann::ordered_json;

constexpr milliseconds kWithin{10'000};
constexpr uint64_t kMostMessages = 1'000'000;  // of one command
constexpr uint64_t kMostUncounted = 1'000;

bool IsHead(const ParkedEntry& entry) {
  return entry.offset == entry.head;
}

// A follower stands under its head.
void Print(const ParkedEntry& entry) {
  std::cout << (IsHead(entry) ? "" : "  ") << SafeText(entry.topic) << " [" << entry.partition
            << "]  offset " << entry.offset << "  "
            << FormatTime(std::max<int64_t>(entry.timestamp_ms, 0)) << "  id "
            << SafeText(entry.id);
  if (IsHead(entry)) {
    std::cout << "  attempts " << entry.attempts << "  redrives " << entry.redrives
              << (entry.redriving ? "  (being redriven)" : "") << "  " << SafeText(entry.why);
  }
  std::cout << "\n";
}

// A filter of the command line, with its texts read.
class Filter {
 public:
  static Result<Filter> Read(const ParkFilter& said) {
    Filter filter(said);
    if (!said.header.empty()) {
      const size_t equals = said.header.find('=');
      if (equals == std::string::npos) {
        return Error{Code::kInvalid, Effect::kNone, "--header takes NAME=VALUE"};
      }
      filter.header_ = {said.header.substr(0, equals), said.header.substr(equals + 1)};
    }
    const int64_t now = SystemClock::Instance().Wall().micros / 1'000;
    for (const auto& [text, bound] :
         {std::pair(&said.older, &filter.before_), std::pair(&said.younger, &filter.after_)}) {
      const auto age = text->empty() ? milliseconds(0) : ParseDuration(*text);
      if (!age) {
        return Error{Code::kInvalid, Effect::kNone, "--older and --younger take a time like 2h"};
      }
      *bound = text->empty() ? *bound : now - age->count();
    }
    return filter;
  }

  bool Takes(const ParkedEntry& entry) const {
    const bool place = (said_.topic.empty() || said_.topic == entry.topic) &&
                       said_.partition.value_or(entry.partition) == entry.partition &&
                       said_.offset.value_or(entry.offset) == entry.offset;
    const bool header =
        !header_ || std::ranges::find(entry.headers, *header_) != entry.headers.end();
    return place && header && (!said_.key || said_.key == entry.key) &&
           entry.why.find(said_.why) != std::string::npos && entry.timestamp_ms <= before_ &&
           entry.timestamp_ms >= after_;
  }

 private:
  explicit Filter(const ParkFilter& said) : said_(said) {}

  ParkFilter said_;
  std::optional<std::pair<std::string, std::optional<std::string>>> header_;
  int64_t before_ = INT64_MAX;
  int64_t after_ = INT64_MIN;
};

using HeadName = std::tuple<std::string, int32_t, int64_t>;

HeadName HeadOf(const ParkedEntry& entry) {
  return {entry.topic, entry.partition, entry.head};
}

// What a filter takes: heads with all that follows them, or each message by itself.
struct Found {
  std::vector<ParkedEntry> messages;  // without their bodies, unless these are wanted
  uint64_t too_often = 0;             // heads left out, since they were redriven before
  uint64_t uncertain = 0;             // heads left out, since their handler was called
  bool more = false;
};

enum class Purpose : uint8_t { kList, kRedrive, kEach, kPartitions };

Result<Found> Find(const ServiceOptions& options, const ParkArguments& arguments, Purpose purpose,
                   uint64_t limit) {
  const auto filter = Filter::Read(arguments.filter);
  if (!filter) {
    return filter.error();
  }
  const bool opaque = LevelOf(options) == Level::kOpaque && !arguments.rerun_uncertain;
  const bool heads = purpose == Purpose::kList || purpose == Purpose::kRedrive;
  Found found;
  std::set<HeadName> taken;
  std::set<std::pair<std::string, int32_t>> partitions;
  const Status read = ReadParked(options.runtime, kWithin, [&](const ParkedEntry& entry) {
    const bool judged = !heads || IsHead(entry);
    if (judged ? !filter->Takes(entry) : !taken.contains(HeadOf(entry))) {
      return true;
    }
    const bool too_often = entry.redrives >= arguments.most_redrives;
    const bool uncertain = opaque && entry.attempts > 0;
    if (judged && purpose == Purpose::kRedrive && (too_often || uncertain)) {
      (too_often ? found.too_often : found.uncertain)++;
      return true;
    }
    if (purpose == Purpose::kPartitions &&
        !partitions.emplace(entry.topic, entry.partition).second) {
      return true;
    }
    found.more = found.messages.size() == limit;
    if (found.more) {
      return false;
    }
    taken.insert(HeadOf(entry));
    ParkedEntry& kept = found.messages.emplace_back(entry);
    if (!arguments.values) {
      kept.value.reset();
      kept.headers.clear();
    }
    return true;
  });
  return read ? Result<Found>(std::move(found)) : read.error();
}

// A line of numbers, as text or as JSON.
void Say(const ParkArguments& arguments, const ordered_json& numbers) {
  if (arguments.json) {
    std::cout << SafeJson(numbers) << "\n";
    return;
  }
  const auto number = [&](const char* name) { return numbers.value(name, uint64_t{0}); };
  if (!numbers.at("done").get<bool>()) {
    std::cout << number("messages") << " messages";
    if (numbers.contains("heads")) {
      std::cout << " of " << number("heads") << " heads";
    }
    std::cout << "; say --go to do it\n";
  } else {
    std::cout << "run " << SafeText(numbers.at("run").get<std::string>()) << ": "
              << number("commands") << " commands, " << number("ended") << " messages ended, "
              << number("refused_again") << " heads refused again, " << number("open")
              << " without an outcome\n";
  }
  if (number("too_often") > 0) {
    std::cout << number("too_often")
              << " heads left out, redriven so often before; --most-redrives takes them\n";
  }
  if (number("uncertain") > 0) {
    std::cout << number("uncertain")
              << " heads left out, an earlier attempt may have had its effect; "
                 "--rerun-uncertain takes them\n";
  }
}

struct Group {
  uint64_t heads = 0;
  uint64_t messages = 0;  // heads and followers
  int64_t oldest_ms = INT64_MAX;
};

// By the reason of the head.
std::map<std::string, Group> GroupsOf(const std::vector<ParkedEntry>& messages) {
  std::map<std::string, Group> groups;
  std::map<HeadName, Group*> of_head;
  for (const ParkedEntry& entry : messages) {
    Group*& group = of_head[HeadOf(entry)];
    if (IsHead(entry)) {
      group = &groups[entry.why];
      group->heads++;
    }
    group->messages++;
    group->oldest_ms = std::min(group->oldest_ms, entry.timestamp_ms);
  }
  return groups;
}

void Print(const std::map<std::string, Group>& groups, bool json) {
  for (const auto& [why, group] : groups) {
    if (json) {
      ordered_json out{
          {"heads", group.heads}, {"messages", group.messages}, {"oldest_ms", group.oldest_ms}};
      AddBytes(out, "why", why);
      std::cout << SafeJson(out) << "\n";
    } else {
      std::cout << group.heads << " heads, " << group.messages << " messages, oldest "
                << FormatTime(std::max<int64_t>(group.oldest_ms, 0)) << "  " << SafeText(why)
                << "\n";
    }
  }
}

// Those of a key together, in the order of the first ones.
void SortByHead(std::vector<ParkedEntry>& messages) {
  std::map<HeadName, size_t> order;
  for (const ParkedEntry& entry : messages) {
    order.try_emplace(HeadOf(entry), order.size());
  }
  std::ranges::stable_sort(messages, {},
                           [&](const ParkedEntry& entry) { return order.at(HeadOf(entry)); });
}

}  // namespace

int ParkCreateCommand(const ParkArguments& arguments) {
  const auto options = LoadService(arguments.config);
  if (!options) {
    return ParkFailed(options.error());
  }
  const auto made = CreateParkTopics(options->runtime, kWithin);
  if (!made) {
    return ParkFailed(made.error());
  }
  if (arguments.json) {
    std::cout << SafeJson({{"made", *made}}) << "\n";
    return kExitDone;
  }
  for (const std::string& topic : *made) {
    std::cout << "made the topic " << topic << "\n";
  }
  std::cout << (made->empty() ? "all park topics are there\n" : "");
  return kExitDone;
}

int ParkListCommand(const ParkArguments& arguments) {
  const auto options = LoadService(arguments.config);
  if (!options) {
    return ParkFailed(options.error());
  }
  const uint64_t limit = arguments.groups ? kMostMessages : arguments.limit;
  auto found = Find(*options, arguments, Purpose::kList, limit);
  if (!found) {
    return ParkFailed(found.error());
  }
  if (arguments.groups) {
    Print(GroupsOf(found->messages), arguments.json);
    std::cerr << (found->more ? "there are more: name a topic and a partition\n" : "");
    return kExitDone;
  }
  SortByHead(found->messages);
  for (const ParkedEntry& entry : found->messages) {
    arguments.json ? void(std::cout << SafeJson(ParkedJson(entry, arguments.values)) << "\n")
                   : Print(entry);
  }
  if (!arguments.json) {
    const auto heads = std::ranges::count_if(found->messages, IsHead);
    std::cout << found->messages.size() << " messages, " << heads << " of them heads"
              << (found->more ? ", and more: say --limit" : "") << "\n";
  } else if (found->more) {
    std::cerr << "there are more: say --limit\n";
  }
  return kExitDone;
}

int ParkSendCommand(const ParkArguments& arguments, ParkCommand::Kind kind) {
  const auto options = LoadService(arguments.config);
  if (!options) {
    return ParkFailed(options.error());
  }
  const auto patience = ParseDuration(arguments.patience);
  if (!patience) {
    return ParkFailed({Code::kInvalid, Effect::kNone, "--patience takes a time like 1m"});
  }
  StopSignals signals;
  const bool redrives = kind == ParkCommand::Kind::kRedrive;
  const bool cancels = kind == ParkCommand::Kind::kCancel;
  const Purpose purpose = redrives  ? Purpose::kRedrive
                          : cancels ? Purpose::kPartitions
                                    : Purpose::kEach;
  auto found = Find(*options, arguments, purpose, kMostMessages);
  if (!found) {
    return ParkFailed(found.error());
  }
  if (found->more) {
    return ParkFailed({Code::kInvalid, Effect::kNone,
                       "there are more than " + std::to_string(kMostMessages) +
                           " messages: name a topic and a partition"});
  }
  const uint64_t messages = found->messages.size();
  std::erase_if(found->messages,
                [&](const ParkedEntry& entry) { return redrives && !IsHead(entry); });
  if (!arguments.go && !cancels) {
    ordered_json numbers{{"messages", messages},
                         {"too_often", found->too_often},
                         {"uncertain", found->uncertain},
                         {"done", false}};
    if (redrives) {
      numbers["heads"] = found->messages.size();
    }
    Say(arguments, numbers);
    return kExitDone;
  }
  const bool all = kind == ParkCommand::Kind::kDrop && arguments.filter == ParkFilter{};
  const bool counted =
      arguments.count ? *arguments.count == messages : messages <= kMostUncounted && !all;
  if (!counted && !cancels) {
    return ParkFailed({Code::kInvalid, Effect::kNone,
                       "there are " + std::to_string(messages) + " messages: say --count " +
                           std::to_string(messages)});
  }
  ParkCommand command{.kind = kind, .run = arguments.run, .per_second = arguments.per_second};
  if (command.run.empty()) {
    command.run = FormatTime(SystemClock::Instance().Wall().micros / 1'000);
  }
  const auto done =
      CommandParked(options->runtime, command, found->messages, *patience, signals.token());
  if (!done) {
    return ParkFailed(done.error());
  }
  Say(arguments, {{"run", command.run},
                  {"commands", done->commands},
                  {"ended", done->ended},
                  {"refused_again", done->refused_again},
                  {"open", done->open},
                  {"too_often", found->too_often},
                  {"uncertain", found->uncertain},
                  {"done", true}});
  const uint64_t parked = done->refused_again + done->open + found->too_often + found->uncertain;
  return parked > 0 ? kExitParked : kExitDone;
}

}  // namespace oncemq
