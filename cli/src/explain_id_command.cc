// SPDX-License-Identifier: Apache-2.0
#include "explain_id_command.h"

#include <iostream>

#include "exit_code.h"
#include "oncemq/base/bytes.h"
#include "oncemq/framework/park.h"
#include "oncemq/framework/service_file.h"
#include "park_text.h"
#include "safe_json.h"
#include "status_holdups.h"

namespace oncemq {
namespace {

using nlohmann::ordered_json;

constexpr milliseconds kReadWithin{10'000};

std::string PlaceText(const ordered_json& place) {
  const std::string topic = TextOf(place, "topic");
  return (topic.empty() ? "topic number " + PartOf(place, "source") : SafeText(topic)) + " [" +
         PartOf(place, "partition") + "]";
}

std::string ErrorText(const ordered_json& part) {
  return "not known: " + SafeText(TextOf(part, "error")) + "\n";
}

std::string WindowText(const ordered_json& window) {
  if (!window.is_object()) {
    return "none in this service\n";
  }
  if (window.contains("error")) {
    return ErrorText(window);
  }
  const std::string state = PartOf(window, "state");
  if (state == "none") {
    const auto not_open = window.find("not_open");
    const bool all = not_open == window.end() || not_open->empty();
    return all ? "it keeps nothing of this id\n"
               : "its open stores keep nothing of this id, and " +
                     std::to_string(not_open->size()) + " of this member are not open\n";
  }
  const auto uncertain = window.find("uncertain");
  const bool doubt = uncertain != window.end() && *uncertain == true;
  return state + (doubt ? ", uncertain" : "") + ", from " + PlaceText(window) + " offset " +
         PartOf(window, "offset") + "\n";
}

std::string OpenText(const ordered_json& open) {
  if (open.is_object()) {
    return "open      " + ErrorText(open);
  }
  std::string out;
  for (const ordered_json& message : open) {
    out += "open      " + PlaceText(message) + " " + OpenMessageText(message) + "\n";
  }
  return out.empty() ? "open      not in this member\n" : out;
}

std::string ParkText(const ordered_json& park) {
  if (park.is_null()) {
    return "parked    not looked at: name the service by its file, with -c\n";
  }
  if (park.is_object()) {
    return "parked    " + ErrorText(park);
  }
  std::string out;
  for (const ordered_json& message : park) {
    const auto parked = message.find("parked");
    const bool still = parked != message.end() && *parked == true;
    out += "parked    " + PlaceText(message) + " offset " + PartOf(message, "offset") +
           (still ? ": " + PartOf(message, "why") : ": ended") + "\n";
  }
  return out.empty() ? "parked    never\n" : out;
}

// All messages under the id that were ever parked.
ordered_json ReadPark(const std::string& config, const std::string& id) {
  const auto options = LoadService(config);
  if (!options) {
    return {{"error", options.error().message}};
  }
  if (options->runtime.policy.reject != RejectPolicy::kPark) {
    return ordered_json::array();
  }
  const auto names = FindParked(options->runtime, id, kReadWithin);
  if (!names) {
    return {{"error", names.error().message}};
  }
  ordered_json out = ordered_json::array();
  for (const ParkedName& name : *names) {
    const auto message = ReadParkedMessage(options->runtime, name, kReadWithin);
    if (!message) {
      return {{"error", message.error().message}};
    }
    out.push_back(ParkedJson(message->entry, false));
    out.back()["parked"] = message->parked;
  }
  return out;
}

}  // namespace

std::string IdExplainedText(const ordered_json& answer) {
  const auto part = [&](const char* key) {
    const auto found = answer.find(key);
    return found == answer.end() ? ordered_json() : *found;
  };
  const ordered_json place = part("place");
  const bool owned = place.is_object() && place.contains("owned") && place["owned"] == true;
  return "id        " + PartOf(answer, answer.contains("id") ? "id" : "id_hex") + "\nwindow    " +
         WindowText(part("window")) + OpenText(part("open")) + ParkText(part("park")) +
         "partition " +
         (place.is_object() ? PlaceText(place) + (owned ? ": this member's" : ": not this member's")
                            : "not known here") +
         "\nnext      " + PartOf(answer, "next") + "\n";
}

int ExplainIdCommand(const ServiceTarget& target, const ExplainIdArguments& arguments) {
  const std::string hex = arguments.hex ? arguments.id : HexOfBytes(arguments.id);
  const auto id = BytesOfHex(hex);
  if (!id || id->empty()) {
    std::cerr << (id ? "an id has at least one byte"
                     : SafeText(hex) + " is no id in hex digits, two for each byte")
              << "\n";
    return kExitUsage;
  }
  ServiceAnswer reply =
      QueryService(target, {.command = "explain id", .arguments = {{"id_hex", hex}}});
  if (reply.code == kExitNoService) {
    std::cerr << "its window can be asked without the service: `oncemq window show ID -c FILE`\n";
  }
  if (reply.code != kExitDone || !reply.result.is_object()) {
    return reply.code == kExitDone ? kExitFailed : reply.code;
  }
  reply.result["park"] = target.config.empty() ? ordered_json() : ReadPark(target.config, *id);
  std::cout << (arguments.json ? SafeJson(reply.result) + "\n" : IdExplainedText(reply.result));
  return kExitDone;
}

}  // namespace oncemq
