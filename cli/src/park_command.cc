// SPDX-License-Identifier: Apache-2.0
#include "park_command.h"

#include <iostream>
#include <nlohmann/json.hpp>

#include "exit_code.h"
#include "oncemq/base/bytes.h"
#include "oncemq/framework/park.h"
#include "oncemq/framework/service_file.h"
#include "safe_json.h"
#include "units.h"

namespace oncemq {
namespace {

using nlohmann::ordered_json;

constexpr milliseconds kWithin{10'000};

int Failed(const Error& error) {
  std::cerr << SafeText(error.message) << "\n";
  const bool away = error.code == Code::kUnavailable || error.code == Code::kTimeout;
  const bool refused = error.code == Code::kInvalid || error.code == Code::kNotFound;
  return away ? kExitNoService : refused ? kExitUsage : kExitFailed;
}

// As text where JSON gives it back, else as NAME_hex.
void AddBytes(ordered_json& out, const std::string& name, const std::optional<std::string>& bytes) {
  if (!bytes) {
    out[name] = nullptr;
  } else if (IsPlainText(*bytes)) {
    out[name] = *bytes;
  } else {
    out[name + "_hex"] = HexOfBytes(*bytes);
  }
}

ordered_json AsJson(const ParkedEntry& entry, bool values) {
  ordered_json out{{"topic", entry.topic},          {"partition", entry.partition},
                   {"offset", entry.offset},        {"park_offset", entry.park_offset},
                   {"time_ms", entry.timestamp_ms}, {"outcome", entry.passed ? "passed" : "parked"},
                   {"attempts", entry.attempts}};
  AddBytes(out, "id", entry.id);
  AddBytes(out, "why", entry.why);
  if (values) {
    AddBytes(out, "key", entry.key);
    AddBytes(out, "value", entry.value);
    out["headers"] = ordered_json::array();
    for (const auto& [name, value] : entry.headers) {
      ordered_json header;
      AddBytes(header, "name", name);
      AddBytes(header, "value", value);
      out["headers"].push_back(std::move(header));
    }
  }
  return out;
}

void Print(const ParkedEntry& entry) {
  std::cout << FormatTime(std::max<int64_t>(entry.timestamp_ms, 0)) << "  " << SafeText(entry.topic)
            << " [" << entry.partition << "]  offset " << entry.offset << "  "
            << (entry.passed ? "passed" : "parked") << "  attempts " << entry.attempts << "  id "
            << SafeText(entry.id) << "  " << SafeText(entry.why) << "\n";
}

}  // namespace

int ParkCreateCommand(const ParkArguments& arguments) {
  const auto options = LoadService(arguments.config);
  if (!options) {
    return Failed(options.error());
  }
  const auto made = CreateParkTopics(options->runtime, kWithin);
  if (!made) {
    return Failed(made.error());
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
    return Failed(options.error());
  }
  uint64_t count = 0;
  bool more = false;
  const Status read = ReadParked(options->runtime, kWithin, [&](const ParkedEntry& entry) {
    more = count == arguments.limit;
    if (more) {
      return false;
    }
    count++;
    arguments.json ? void(std::cout << SafeJson(AsJson(entry, arguments.values)) << "\n")
                   : Print(entry);
    return true;
  });
  if (!read) {
    return Failed(read.error());
  }
  if (!arguments.json) {
    std::cout << count << " entries" << (more ? ", and more: say --limit" : "") << "\n";
  } else if (more) {
    std::cerr << "there are more: say --limit\n";
  }
  return kExitDone;
}

}  // namespace oncemq
