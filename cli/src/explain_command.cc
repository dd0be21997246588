// SPDX-License-Identifier: Apache-2.0
#include "explain_command.h"

#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "command_window.h"
#include "exit_code.h"
#include "oncemq/framework/service_file.h"
#include "safe_json.h"
#include "units.h"

namespace oncemq {
namespace {

std::string SafeLines(const std::string& text) {
  std::istringstream lines(text);
  std::string out;
  for (std::string line; std::getline(lines, line);) {
    out += SafeText(line) + "\n";
  }
  return out;
}

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

// The times of the scope, which the longest file of all members decides; empty: there are none.
std::string InForce(int64_t remember_ms, int64_t skew_ms) {
  return remember_ms == 0 ? ""
                          : "\nIn force in the scope now: remember " +
                                FormatDuration(milliseconds(remember_ms)) + ", skew " +
                                FormatDuration(milliseconds(skew_ms)) + ".\n";
}

// Of a window in a server, which is asked.
std::string InForce(const ServiceOptions& options) {
  if (!IsInServer(options.engine)) {
    return "";
  }
  const auto window = OpenToRead(options, milliseconds(0));
  const auto times =
      window ? (*window)->Remember(RememberChange::kNone) : Result<RememberTimes>(window.error());
  return times ? InForce(times->remember.count(), times->skew.count())
               : "\nThe times in force in the scope are not known: " + times.error().message + "\n";
}

int ExplainFile(const std::string& config, bool json) {
  const Result<ServiceOptions> options = LoadService(config);
  if (!options) {
    std::cerr << options.error().message << "\n";
    return kExitUsage;
  }
  const std::string text = ExplainGuarantee(*options) + InForce(*options);
  if (json) {
    std::cout << JsonOf("file", config, text, &*options);
    return kExitDone;
  }
  std::cout << "# By the file " << config << "; no service was asked.\n" << SafeLines(text);
  return kExitDone;
}

int ExplainRunning(const ServiceTarget& target, bool json) {
  const ServiceAnswer reply = QueryService(target, {.command = "explain guarantee"});
  if (reply.code != kExitDone) {
    return reply.code;
  }
  const std::string text =
      reply.result.value("text", "?") + InForce(reply.result.value("remember_ms", int64_t{0}),
                                                reply.result.value("skew_ms", int64_t{0}));
  if (json) {
    std::cout << JsonOf("socket", reply.socket, text);
    return kExitDone;
  }
  std::cout << "# By the service that runs at " << reply.socket << "; no file was read.\n"
            << SafeLines(text);
  return kExitDone;
}

}  // namespace

int ExplainGuaranteeCommand(const ServiceTarget& target, bool json) {
  if (!target.socket.empty()) {
    return ExplainRunning(target, json);
  }
  if (!target.config.empty()) {
    return ExplainFile(target.config, json);
  }
  std::cout << (json ? JsonOf("levels", "", ExplainLevels()) : ExplainLevels());
  return kExitDone;
}

}  // namespace oncemq
