// SPDX-License-Identifier: Apache-2.0
#include "doctor_part.h"

#include <algorithm>
#include <utility>

#include "command_window.h"
#include "query_service.h"
#include "safe_json.h"
#include "units.h"

namespace oncemq {
namespace {

using nlohmann::ordered_json;

// The nearest rank.
int64_t Percentile(const std::vector<microseconds>& sorted, size_t percent) {
  const size_t rank = (sorted.size() * percent + 99) / 100;
  return sorted[std::max<size_t>(rank, 1) - 1].count();
}

std::string_view StateWord(int code) {
  switch (code) {
    case kExitDone:
      return "ok";
    case kExitUsage:
      return "refused";
    case kExitNoService:
      return "does not answer";
    default:
      return "failed";
  }
}

constexpr std::string_view kBytes = "_bytes";
constexpr std::string_view kMillis = "_ms";

// Without its unit, which FactText() adds to the value.
std::string Label(std::string_view name) {
  for (const std::string_view unit : {kBytes, kMillis}) {
    name.remove_suffix(name.ends_with(unit) ? unit.size() : 0);
  }
  return SafeText(std::string(name));
}

std::string FactText(std::string_view name, const ordered_json& fact) {
  if (fact.is_string()) {
    return SafeText(fact.get<std::string>());
  }
  if (fact.is_boolean()) {
    return fact.get<bool>() ? "yes" : "no";
  }
  if (fact.is_null()) {
    return "none";
  }
  if (!fact.is_object()) {
    return name.ends_with(kBytes)    ? RoundSize(fact.get<uint64_t>())
           : name.ends_with(kMillis) ? FormatDuration(milliseconds(fact.get<int64_t>()))
                                     : SafeJson(fact);
  }
  std::string text;
  for (const auto& [part, value] : fact.items()) {
    text += (text.empty() ? "" : ", ") + Label(part) + " " + FactText(part, value);
  }
  return text;
}

std::string PartText(const DoctorPart& part) {
  std::string text = part.name + ": " + (part.at.empty() ? "none" : SafeText(part.at)) + ", " +
                     std::string(StateWord(part.code)) +
                     (part.code == kExitDone ? std::string() : ": " + SafeText(part.why)) + "\n";
  for (const auto& [name, fact] : part.facts.items()) {
    text += "  " + Label(name) + ": " + FactText(name, fact) + "\n";
  }
  for (const std::string& sentence : part.lowers) {
    text += "  lowers the guarantee: " + SafeText(sentence) + "\n";
  }
  return text;
}

ordered_json PartJson(const DoctorPart& part) {
  ordered_json json{{"part", part.name},
                    {"at", part.at.empty() ? ordered_json() : ordered_json(part.at)},
                    {"state", StateWord(part.code)}};
  if (part.code != kExitDone) {
    json["why"] = part.why;
  }
  json.update(part.facts);
  json["lowers"] = part.lowers;
  return json;
}

}  // namespace

void FailPart(DoctorPart& part, const Error& error) {
  FailPart(part, ExitCodeOfQuery(error), error.message);
}

void FailPart(DoctorPart& part, int code, std::string why) {
  if (part.code == kExitDone) {
    part.code = code;
    part.why = std::move(why);
  }
}

void AddClaims(DoctorPart& part, Result<std::vector<microseconds>> times) {
  if (!times) {
    part.facts["claims"] = {{"made", 0}, {"why", times.error().message}};
    if (times.error().code != Code::kInvalid) {
      FailPart(part, times.error());
    }
    return;
  }
  if (times->empty()) {
    return;
  }
  std::sort(times->begin(), times->end());
  part.facts["claims"] = {{"made", times->size()},
                          {"p50_us", Percentile(*times, 50)},
                          {"p99_us", Percentile(*times, 99)}};
}

std::string RoundSize(uint64_t bytes) {
  constexpr uint64_t kAtLeast = 10;
  constexpr std::pair<int, std::string_view> kUnits[] = {{30, " GiB"}, {20, " MiB"}, {10, " KiB"}};
  for (const auto& [shift, name] : kUnits) {
    if (bytes >> shift >= kAtLeast) {
      return std::to_string(bytes >> shift) + std::string(name);
    }
  }
  return std::to_string(bytes) + " B";
}

bool AddScope(DoctorPart& part, const ServiceOptions& options) {
  const auto window = OpenToCheck(options);
  if (!window && window.error().code != Code::kNotFound) {
    FailPart(part, window.error());
    part.facts["claims"] = {{"made", 0}, {"why", "a service could not start"}};
    return false;
  }
  part.facts["scope"] = WindowScope(options.runtime);
  part.facts["scope_opened"] = window.has_value();
  if (!window) {
    return true;
  }
  if (const auto times = (*window)->Remember(RememberChange::kNone)) {
    part.facts["remember_ms"] = times->remember.count();
    part.facts["skew_ms"] = times->skew.count();
  }
  if (const auto fits = (*window)->Remember(RememberChange::kCheck); !fits) {
    FailPart(part, fits.error());
  }
  return true;
}

std::string DoctorText(const std::vector<DoctorPart>& parts) {
  std::string text;
  for (const DoctorPart& part : parts) {
    text += PartText(part);
  }
  return text;
}

ordered_json DoctorJson(const std::string& file, const std::vector<DoctorPart>& parts) {
  ordered_json json{{"file", file}, {"state", StateWord(CodeOfParts(parts))}};
  json["parts"] = ordered_json::array();
  for (const DoctorPart& part : parts) {
    json["parts"].push_back(PartJson(part));
  }
  return json;
}

int CodeOfParts(const std::vector<DoctorPart>& parts) {
  const auto ill = std::find_if(parts.begin(), parts.end(),
                                [](const DoctorPart& part) { return part.code != kExitDone; });
  return ill == parts.end() ? kExitDone : ill->code;
}

}  // namespace oncemq
