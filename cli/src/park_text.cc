// SPDX-License-Identifier: Apache-2.0
#include "park_text.h"

#include <iostream>
#include <sstream>

#include "exit_code.h"
#include "oncemq/base/bytes.h"
#include "safe_json.h"

namespace oncemq {
namespace {

using nlohmann::ordered_json;

constexpr size_t kMostHex = 64;  // bytes

std::string HexText(const std::string& bytes) {
  return "hex " + HexOfBytes(bytes.substr(0, kMostHex)) + (bytes.size() > kMostHex ? "..." : "");
}

}  // namespace

int ParkFailed(const Error& error) {
  std::cerr << SafeText(error.message) << "\n";
  const bool away = error.code == Code::kUnavailable || error.code == Code::kTimeout;
  const bool refused = error.code == Code::kInvalid || error.code == Code::kNotFound;
  return away ? kExitNoService : refused ? kExitUsage : kExitFailed;
}

void AddBytes(ordered_json& out, const std::string& name, const std::optional<std::string>& bytes) {
  if (!bytes) {
    out[name] = nullptr;
  } else if (IsPlainText(*bytes)) {
    out[name] = *bytes;
  } else {
    out[name + "_hex"] = HexOfBytes(*bytes);
  }
}

ordered_json ParkedJson(const ParkedEntry& entry, bool body) {
  ordered_json out{
      {"topic", entry.topic},          {"partition", entry.partition},
      {"offset", entry.offset},        {"park_offset", entry.park_offset},
      {"time_ms", entry.timestamp_ms}, {"head", entry.head},
      {"attempts", entry.attempts},    {"redrives", entry.redrives},
      {"redriving", entry.redriving},  {"edited", entry.body_offset != entry.park_offset}};
  AddBytes(out, "id", entry.id);
  AddBytes(out, "why", entry.why);
  if (body) {
    AddBytes(out, "key", entry.key);
    AddBody(out, entry);
  }
  return out;
}

void AddBody(ordered_json& out, const ParkedEntry& entry) {
  AddBytes(out, "value", entry.value);
  out["headers"] = ordered_json::array();
  for (const auto& [name, value] : entry.headers) {
    ordered_json header;
    AddBytes(header, "name", name);
    AddBytes(header, "value", value);
    out["headers"].push_back(std::move(header));
  }
}

std::string BytesText(const std::optional<std::string>& bytes) {
  if (!bytes) {
    return "null";
  }
  return IsPlainText(*bytes) ? SafeJson(*bytes) : HexText(*bytes);
}

std::string ValueText(const std::optional<std::string>& value) {
  if (!value) {
    return "null\n";
  }
  std::string text = std::to_string(value->size()) + " bytes\n";
  std::istringstream in(*value);
  std::string lines;
  for (std::string line; std::getline(in, line);) {
    if (!IsPlainText(line)) {
      return text + "  " + HexText(*value) + "\n";
    }
    lines += "  " + SafeText(line) + "\n";
  }
  return text + lines;
}

}  // namespace oncemq
