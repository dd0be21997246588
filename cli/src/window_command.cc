// SPDX-License-Identifier: Apache-2.0
#include "window_command.h"

#include <iostream>

#include "exit_code.h"
#include "safe_json.h"
#include "service_commands.h"

namespace oncemq {
namespace {

using nlohmann::ordered_json;

std::string MarkerText(const ordered_json& marker) {
  const std::string state = marker.value("state", "?");
  if (state == "none") {
    return "none: the window keeps nothing of this id\n";
  }
  std::string out = SafeText(state) + "\n";
  out += "from source " + std::to_string(marker.value("source", 0u)) + ", partition " +
         std::to_string(marker.value("partition", -1)) + ", offset " +
         std::to_string(marker.value("offset", int64_t{-1})) + "\n";
  if (state == "open") {
    const std::string holder = marker.value("holder", "");
    out += holder.empty() ? "nobody holds it\n" : "held by the claim " + SafeText(holder) + "\n";
  }
  if (marker.value("uncertain", false)) {
    out += "uncertain: an attempt may have had its effect without an outcome on record\n";
  }
  return out;
}

}  // namespace

int WindowShowCommand(const ServicePlace& place, const WindowShowArguments& arguments) {
  // In hex digits on the way: an id is any bytes.
  const std::string id = arguments.hex ? arguments.id : HexOfBytes(arguments.id);
  if (!BytesOfHex(id)) {
    std::cerr << SafeText(id) << " is no id in hex digits, two for each byte\n";
    return kExitUsage;
  }
  const Asked asked = AskService(place, {.command = "window show", .arguments = {{"id_hex", id}}});
  if (asked.code == kExitDone) {
    std::cout << (arguments.json ? SafeJson(asked.result) + "\n" : MarkerText(asked.result));
  }
  return asked.code;
}

}  // namespace oncemq
