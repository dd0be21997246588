// SPDX-License-Identifier: Apache-2.0
#include "park_message_command.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <iostream>
#include <utility>

#include "exit_code.h"
#include "oncemq/base/clock.h"
#include "oncemq/framework/park.h"
#include "oncemq/framework/service_file.h"
#include "park_text.h"
#include "safe_json.h"
#include "units.h"

namespace oncemq {
namespace {

using nlohmann::ordered_json;
using Header = std::pair<std::string, std::optional<std::string>>;

constexpr milliseconds kReadWithin{10'000};
constexpr size_t kLongestValue = 100'000'000;  // as the client of a park topic takes it
constexpr size_t kHead = 200;                  // bytes of a value in a difference

Error Refused(std::string why) {
  return {Code::kInvalid, Effect::kNone, std::move(why)};
}

std::string PlaceText(const ParkedName& name) {
  return SafeText(name.topic) + " [" + std::to_string(name.partition) + "] offset " +
         std::to_string(name.offset);
}

Result<ParkedName> NameOf(const RuntimeOptions& options, const ParkMessageArguments& arguments) {
  const bool one_topic = arguments.topic.empty() && options.kafka.topics.size() == 1;
  const std::string topic = one_topic ? options.kafka.topics[0] : arguments.topic;
  if (topic.empty() || !arguments.partition || !arguments.offset) {
    return Refused("say --topic, --partition and --offset of the message in its topic");
  }
  return ParkedName{topic, *arguments.partition, *arguments.offset};
}

// The first message of an id. The others are told.
Result<ParkedName> NameById(const RuntimeOptions& options, const std::string& id) {
  const auto found = FindParked(options, id, kReadWithin);
  if (!found) {
    return found.error();
  }
  if (found->empty()) {
    return Error{Code::kNotFound, Effect::kNone,
                 "no message with the id \"" + id + "\" was parked"};
  }
  for (size_t i = 1; i < found->size(); i++) {
    std::cerr << "also under this id: " << PlaceText((*found)[i]) << "\n";
  }
  return found->front();
}

std::string StateText(const ParkedMessage& message) {
  if (message.parked) {
    return message.entry.redriving ? "parked, being redriven" : "parked";
  }
  const auto last = std::ranges::find_if(message.history.rbegin(), message.history.rend(),
                                         [](const ParkEvent& event) { return event.counts; });
  return last == message.history.rend() ? "unknown" : last->kind;
}

std::string ChainText(const ParkedMessage& message) {
  std::string others;
  for (const int64_t offset : message.chain) {
    if (offset != message.entry.offset) {
      others += (others.empty() ? "" : ", ") + std::to_string(offset);
    }
  }
  const bool heads = message.entry.head == message.entry.offset;
  return others.empty() ? "alone" : (heads ? "head of " : "with ") + others;
}

std::string EventText(const ParkEvent& event, const ParkedEntry& entry) {
  std::string text = std::to_string(event.park_offset) + "  " + event.kind;
  text += event.offset >= 0 && event.offset != entry.offset
              ? ", of offset " + std::to_string(event.offset)
              : "";
  text += event.run.empty() ? "" : ", run " + SafeText(event.run);
  text += event.owner == 0 ? "" : ", owner " + std::to_string(event.owner);
  text += event.counts ? "" : ", counts for nothing";
  return text + (event.why.empty() ? "" : ": " + SafeText(event.why));
}

void Print(const ParkedMessage& message) {
  const ParkedEntry& entry = message.entry;
  std::cout << "message    " << PlaceText({entry.topic, entry.partition, entry.offset}) << "\n"
            << "id         " << BytesText(entry.id) << "\n"
            << "key        " << BytesText(entry.key) << "\n"
            << "time       " << FormatTime(std::max<int64_t>(entry.timestamp_ms, 0)) << "\n"
            << "state      " << StateText(message) << "\n"
            << "reason     " << SafeText(entry.why) << "\n"
            << "attempts   " << entry.attempts << ", redrives " << entry.redrives << "\n";
  if (message.parked) {
    std::cout << "key order  " << ChainText(message) << "\n";
  }
  if (message.original_gone) {
    std::cout << "original   " << (*message.original_gone ? "gone" : "in its topic") << "\n";
  }
  for (const auto& [name, value] : entry.headers) {
    std::cout << "header     " << SafeText(name) << ": " << BytesText(value) << "\n";
  }
  std::cout << "value      " << ValueText(entry.value) << "history\n";
  for (const ParkEvent& event : message.history) {
    std::cout << "  " << EventText(event, entry) << "\n";
  }
}

ordered_json AsJson(const ParkedMessage& message) {
  ordered_json out = ParkedJson(message.entry, true);
  out["state"] = StateText(message);
  out["editable"] = message.editable;
  out["original_gone"] =
      message.original_gone ? ordered_json(*message.original_gone) : ordered_json(nullptr);
  out["chain"] = message.chain;
  out["history"] = ordered_json::array();
  for (const ParkEvent& event : message.history) {
    out["history"].push_back({{"kind", event.kind},
                              {"park_offset", event.park_offset},
                              {"offset", event.offset},
                              {"counts", event.counts},
                              {"owner", event.owner},
                              {"run", event.run},
                              {"why", event.why}});
  }
  return out;
}

Status WriteValue(const ParkedEntry& entry, const std::string& file) {
  if (!entry.value) {
    return Refused("its value is null, so " + file + " is not written");
  }
  std::ofstream out(file, std::ios::binary | std::ios::trunc);
  out << *entry.value << std::flush;
  return out ? Status() : Refused("cannot write " + file);
}

Result<std::string> ReadValue(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  std::string value;
  std::array<char, 64 * 1024> piece;
  while (in && value.size() <= kLongestValue) {
    in.read(piece.data(), piece.size());
    value.append(piece.data(), static_cast<size_t>(in.gcount()));
  }
  if (!in.eof() && value.size() <= kLongestValue) {
    return Refused("cannot read " + file);
  }
  if (value.size() > kLongestValue) {
    return Refused(file + " is longer than any message");
  }
  return value;
}

// The message as it is to be.
Result<ParkedEntry> Edited(ParkedEntry entry, const ParkMessageArguments& arguments) {
  std::vector<Header> added;
  std::vector<std::string> replaced = arguments.drop_headers;
  for (const std::string& said : arguments.headers) {
    const size_t equals = said.find('=');
    if (equals == std::string::npos) {
      return Refused("--header takes NAME=VALUE");
    }
    replaced.push_back(said.substr(0, equals));
    added.emplace_back(replaced.back(), said.substr(equals + 1));
  }
  if (arguments.value.empty() && replaced.empty()) {
    return Refused("say the change: --value, --header or --drop-header");
  }
  std::erase_if(entry.headers,
                [&](const Header& header) { return std::ranges::count(replaced, header.first); });
  std::ranges::move(added, std::back_inserter(entry.headers));
  if (!arguments.value.empty()) {
    auto value = ReadValue(arguments.value);
    if (!value) {
      return value.error();
    }
    entry.value = *std::move(value);
  }
  return entry;
}

// The begin of a value, cut between two characters.
std::string HeadText(const std::optional<std::string>& value) {
  if (!value || value->size() <= kHead) {
    return BytesText(value);
  }
  size_t end = kHead;
  while (end > 0 && (static_cast<unsigned char>((*value)[end]) & 0xC0) == 0x80) {
    end--;
  }
  return BytesText(value->substr(0, end)) + "...";
}

void PrintLeft(const char* sign, std::vector<Header> headers, const std::vector<Header>& others) {
  for (const Header& other : others) {
    if (const auto same = std::ranges::find(headers, other); same != headers.end()) {
      headers.erase(same);
    }
  }
  for (const auto& [name, value] : headers) {
    std::cout << sign << " header " << SafeText(name) << ": " << BytesText(value) << "\n";
  }
}

void PrintDifference(const ParkedEntry& before, const ParkedEntry& after) {
  const auto size = [](const ParkedEntry& entry) { return entry.value ? entry.value->size() : 0; };
  std::cout << PlaceText({before.topic, before.partition, before.offset}) << "  id "
            << BytesText(before.id) << "\n";
  if (before.value != after.value) {
    std::cout << "- value, " << size(before) << " bytes: " << HeadText(before.value) << "\n"
              << "+ value, " << size(after) << " bytes: " << HeadText(after.value) << "\n";
  }
  PrintLeft("-", before.headers, after.headers);
  PrintLeft("+", after.headers, before.headers);
}

// The change, and with a run what became of it.
void Say(const ParkMessageArguments& arguments, const ParkedEntry& before, const ParkedEntry& after,
         const std::string& run, bool counts) {
  const bool done = !run.empty();
  if (arguments.json) {
    ordered_json out{{"topic", before.topic},           {"partition", before.partition},
                     {"offset", before.offset},         {"before", ordered_json::object()},
                     {"after", ordered_json::object()}, {"done", done}};
    AddBody(out["before"], before);
    AddBody(out["after"], after);
    if (done) {
      out["run"] = run;
      out["counts"] = counts;
    }
    std::cout << SafeJson(out) << "\n";
    return;
  }
  PrintDifference(before, after);
  if (!done) {
    std::cout << "say --go to do it\n";
  } else {
    std::cout << "run " << SafeText(run)
              << (counts ? ": edited; the next redrive runs it\n"
                         : ": counts for nothing, since a redrive, a drop or another edit came "
                           "first; look at it with `oncemq park show`\n");
  }
}

}  // namespace

int ParkShowCommand(const ParkMessageArguments& arguments) {
  const auto options = LoadService(arguments.config);
  if (!options) {
    return ParkFailed(options.error());
  }
  const auto name = arguments.id.empty() ? NameOf(options->runtime, arguments)
                                         : NameById(options->runtime, arguments.id);
  if (!name) {
    return ParkFailed(name.error());
  }
  const auto message = ReadParkedMessage(options->runtime, *name, kReadWithin);
  if (!message) {
    return ParkFailed(message.error());
  }
  if (!arguments.value.empty()) {
    if (const Status written = WriteValue(message->entry, arguments.value); !written) {
      return ParkFailed(written.error());
    }
  }
  arguments.json ? void(std::cout << SafeJson(AsJson(*message)) << "\n") : Print(*message);
  return kExitDone;
}

int ParkEditCommand(const ParkMessageArguments& arguments) {
  const auto options = LoadService(arguments.config);
  if (!options) {
    return ParkFailed(options.error());
  }
  const auto name = NameOf(options->runtime, arguments);
  if (!name) {
    return ParkFailed(name.error());
  }
  if (const auto change = Edited({}, arguments); !change) {
    return ParkFailed(change.error());  // before a broker is asked
  }
  const auto message = ReadParkedMessage(options->runtime, *name, kReadWithin);
  if (!message) {
    return ParkFailed(message.error());
  }
  const auto edited = Edited(message->entry, arguments);
  const Status fits =
      edited ? CheckEdit(options->runtime, *message, *edited) : Status(edited.error());
  if (!fits) {
    return ParkFailed(fits.error());
  }
  std::string run;
  bool counts = false;
  if (arguments.go) {
    run = arguments.run.empty() ? FormatTime(SystemClock::Instance().Wall().micros / 1'000)
                                : arguments.run;
    const auto done = EditParked(options->runtime, *edited, run, kReadWithin);
    if (!done) {
      return ParkFailed(done.error());
    }
    counts = *done;
  }
  Say(arguments, message->entry, *edited, run, counts);
  return counts || !arguments.go ? kExitDone : kExitParked;
}

}  // namespace oncemq
