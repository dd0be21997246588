// SPDX-License-Identifier: Apache-2.0
#include "explain_command.h"

#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "exit_code.h"
#include "oncemq/framework/service_file.h"
#include "safe_json.h"

namespace oncemq {
namespace {

// `at`: the file or socket, if one was asked for. A paragraph of the text is a string.
std::string JsonOf(std::string_view by, const std::string& at, const std::string& text,
                   const ServiceOptions* options = nullptr) {
  nlohmann::ordered_json out{{"by", by}};
  if (!at.empty()) {
    out["at"] = at;
  }
  if (options != nullptr) {
    out["engine"] = ToString(options->engine);
    out["guarantee"] = GuaranteeLine(*options);
  }
  out["paragraphs"] = nlohmann::ordered_json::array();
  std::istringstream lines(text);
  std::string paragraph;
  for (std::string line; std::getline(lines, line) || !paragraph.empty(); line.clear()) {
    if (!line.empty()) {
      paragraph += (paragraph.empty() ? "" : "\n") + line;
    } else if (!paragraph.empty()) {
      out["paragraphs"].push_back(std::exchange(paragraph, ""));
    }
  }
  return SafeJson(out) + "\n";
}

int ExplainFile(const std::string& config, bool json) {
  const Result<ServiceOptions> options = LoadService(config);
  if (!options) {
    std::cerr << options.error().message << "\n";
    return kExitUsage;
  }
  if (json) {
    std::cout << JsonOf("file", config, ExplainGuarantee(*options), &*options);
    return kExitDone;
  }
  std::cout << "# By the file " << config << "; no service was asked.\n"
            << ExplainGuarantee(*options);
  return kExitDone;
}

int ExplainRunning(const ServicePlace& place, bool json) {
  const Asked asked = AskService(place, {.command = "guarantee"});
  if (asked.code != kExitDone) {
    return asked.code;
  }
  if (json) {
    std::cout << JsonOf("socket", asked.socket, asked.result.value("text", "?"));
    return kExitDone;
  }
  std::cout << "# By the service that runs at " << asked.socket << "; no file was read.\n";
  std::istringstream lines(asked.result.value("text", "?"));
  for (std::string line; std::getline(lines, line);) {
    std::cout << SafeText(line) << "\n";
  }
  return kExitDone;
}

}  // namespace

int ExplainGuaranteeCommand(const ServicePlace& place, bool json) {
  if (!place.socket.empty()) {
    return ExplainRunning(place, json);
  }
  if (!place.config.empty()) {
    return ExplainFile(place.config, json);
  }
  std::cout << (json ? JsonOf("levels", "", ExplainLevels()) : ExplainLevels());
  return kExitDone;
}

}  // namespace oncemq
