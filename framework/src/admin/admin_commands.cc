// SPDX-License-Identifier: Apache-2.0
#include "admin_commands.h"

#include <exception>
#include <utility>

#include "frame.h"
#include "oncemq/base/check.h"
#include "oncemq/base/log.h"

namespace oncemq {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr int kDeepest = 16;
constexpr size_t kLongestQuote = 100;      // of a request, in an error
constexpr size_t kLongestOnRecord = 1000;  // of arguments, in the log

Error Invalid(std::string text) {
  return {Code::kInvalid, Effect::kNone, std::move(text)};
}

std::string Shortened(const json& value, size_t most) {
  std::string text = value.dump(-1, ' ', true, json::error_handler_t::replace);
  if (text.size() > most) {
    text.resize(most);
    text += "...";
  }
  return text;
}

// Writing JSON out goes one call deeper for each level of it.
bool TooDeep(std::string_view text) {
  int depth = 0;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); i++) {
    const char c = text[i];
    if (quoted) {
      i += c == '\\' ? 1 : 0;
      quoted = c != '"';
    } else if (c == '"') {
      quoted = true;
    } else if ((c == '[' || c == '{') && ++depth > kDeepest) {
      return true;
    } else if (c == ']' || c == '}') {
      depth--;
    }
  }
  return false;
}

// An older service sends none.
Code CodeOf(const ordered_json& refusal) {
  const auto found = refusal.find("code");
  for (int code = 0; found != refusal.end() && code <= static_cast<int>(Code::kInternal); code++) {
    if (*found == ToString(static_cast<Code>(code))) {
      return static_cast<Code>(code);
    }
  }
  return Code::kInvalid;
}

}  // namespace

std::string AdminText(const ordered_json& value) {
  return value.dump(-1, ' ', true, ordered_json::error_handler_t::replace);
}

std::string EncodeAdminRequest(const AdminRequest& request) {
  return AdminText({{"v", kAdminVersion},
                    {"command", request.command},
                    {"arguments", ordered_json(request.arguments)}});
}

Result<AdminRequest> DecodeAdminRequest(std::string_view text) {
  if (TooDeep(text)) {
    return Invalid("the request is nested more than " + std::to_string(kDeepest) + " levels deep");
  }
  const json all = json::parse(text, nullptr, false);
  if (!all.is_object()) {
    return Invalid("the request is no JSON object");
  }
  // First of all: of another version nothing else is known.
  const auto version = all.find("v");
  if (version == all.end() || !version->is_number_integer() || *version != kAdminVersion) {
    return Invalid("version " +
                   (version == all.end() ? "(none)" : Shortened(*version, kLongestQuote)) +
                   " is not known; this service speaks version " + std::to_string(kAdminVersion));
  }
  AdminRequest request;
  for (const auto& [key, value] : all.items()) {
    if (key == "command" && value.is_string()) {
      request.command = value.get<std::string>();
    } else if (key == "arguments" && value.is_object()) {
      request.arguments = value;
    } else if (key != "v") {
      return Invalid("the request has no place for " + Shortened(json(key), kLongestQuote) + ": " +
                     Shortened(value, kLongestQuote));
    }
  }
  if (request.command.empty()) {
    return Invalid("the request names no command");
  }
  return request;
}

std::string AdminRefusal(std::string_view why, Code code) {
  return AdminText({{"v", kAdminVersion},
                    {"ok", false},
                    {"error", std::string(why)},
                    {"code", std::string(ToString(code))}});
}

Result<ordered_json> DecodeAdminAnswer(std::string_view text) {
  const Error corrupt{Code::kCorrupt, Effect::kUnknown, "the answer is not one of a service"};
  if (TooDeep(text)) {
    return corrupt;
  }
  ordered_json all = ordered_json::parse(text, nullptr, false);
  if (!all.is_object() || !all.contains("v") || !all.contains("ok") || !all["ok"].is_boolean()) {
    return corrupt;
  }
  if (all["v"] != kAdminVersion) {
    return Invalid("the service answers in version " + Shortened(json(all["v"]), kLongestQuote) +
                   "; this command knows version " + std::to_string(kAdminVersion));
  }
  if (all["ok"] == true && all.contains("result")) {
    return std::move(all["result"]);
  }
  if (all["ok"] == false && all.contains("error") && all["error"].is_string()) {
    return Error{CodeOf(all), Effect::kNone, all["error"].get<std::string>()};
  }
  return corrupt;
}

void AdminCommands::Add(AdminCommand command) {
  std::string name = command.name;
  const bool added = commands_.emplace(std::move(name), std::move(command)).second;
  ONCEMQ_CHECK(added, "each admin command has a name of its own");
}

std::string AdminCommands::Answer(std::string_view text, const AdminPeer& peer) {
  try {
    const Result<AdminRequest> request = DecodeAdminRequest(text);
    if (!request) {
      return AdminRefusal(request.error().message);
    }
    const auto command = commands_.find(request->command);
    if (command == commands_.end()) {
      return AdminRefusal("this service knows no command " +
                          Shortened(json(request->command), kLongestQuote));
    }
    Result<ordered_json> result = Run(command->second, *request, peer);
    if (!result) {
      return AdminRefusal(result.error().message, result.error().code);
    }
    std::string answer =
        AdminText({{"v", kAdminVersion}, {"ok", true}, {"result", *std::move(result)}});
    return answer.size() <= kMostAnswer
               ? answer
               : AdminRefusal("the answer has " + std::to_string(answer.size()) + " bytes; " +
                              std::to_string(kMostAnswer) + " are allowed");
  } catch (const std::exception& error) {  // no memory, as a rule
    return AdminRefusal(std::string("the command failed: ") + error.what());
  }
}

Result<ordered_json> AdminCommands::Run(const AdminCommand& command, const AdminRequest& request,
                                        const AdminPeer& peer) {
  if (!command.changes) {
    return command.run(request.arguments);
  }
  constexpr LogLevel kLevel = LogLevel::kWarn;
  if (!LogEnabled(kLevel)) {
    return Invalid("a change leaves a line in the log, and its level takes none: `log.level`");
  }
  const std::string arguments = Shortened(request.arguments, kLongestOnRecord);
  const auto put_on_record = [&](std::string_view result) {
    Log(kLevel, "admin", "change " + std::to_string(++changes_),
        {{"command", command.name},
         {"uid", peer.uid},
         {"pid", peer.pid},
         {"arguments", arguments},
         {"result", result}});
  };
  try {
    Result<ordered_json> result = command.run(request.arguments);
    put_on_record(result ? "done" : ToString(result.error()));
    return result;
  } catch (const std::exception& error) {
    put_on_record(std::string("failed: ") + error.what());
    throw;
  }
}

}  // namespace oncemq
