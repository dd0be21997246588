// SPDX-License-Identifier: Apache-2.0
#include "admin_commands.h"

#include <algorithm>
#include <exception>
#include <optional>
#include <utility>

#include "oncemq/base/bytes.h"
#include "oncemq/base/check.h"

namespace oncemq {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr int kDeepest = 16;
constexpr size_t kLongestQuote = 100;  // of a request, in an error
constexpr std::string_view kRoot = "/v1/";

Error Malformed(std::string text) {
  return {Code::kInvalid, Effect::kNone, std::move(text)};
}

std::string Quoted(std::string_view text) {
  const bool cut = text.size() > kLongestQuote;
  return AdminText(std::string(text.substr(0, kLongestQuote))) + (cut ? "..." : "");
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

std::string Escaped(std::string_view bytes) {
  constexpr std::string_view kPlain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
  std::string out;
  for (size_t i = 0; i < bytes.size(); i++) {
    const std::string_view one = bytes.substr(i, 1);
    out += kPlain.find(one) != std::string_view::npos ? std::string(one) : "%" + HexOfBytes(one);
  }
  return out;
}

// Nothing: a "%" without two hex digits.
std::optional<std::string> Unescaped(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); i++) {
    if (text[i] == '%') {
      const auto byte = BytesOfHex(text.substr(i + 1, 2));
      if (!byte || byte->size() != 1) {
        return std::nullopt;
      }
      out += *byte;
      i += 2;
    } else {
      out += text[i] == '+' ? ' ' : text[i];
    }
  }
  return out;
}

std::string_view CutAt(std::string_view& rest, char mark) {
  const size_t at = rest.find(mark);
  const std::string_view first = rest.substr(0, at);
  rest.remove_prefix(at == std::string_view::npos ? rest.size() : at + 1);
  return first;
}

Status ReadArguments(std::string_view query, json& arguments) {
  while (!query.empty()) {
    std::string_view rest = CutAt(query, '&');
    const auto name = Unescaped(CutAt(rest, '='));
    auto value = Unescaped(rest);
    if (!name || name->empty() || !value) {
      return Malformed("an argument is `name=value`, with %XX for other bytes");
    }
    if (!arguments.emplace(*name, *std::move(value)).second) {
      return Malformed("the argument " + Quoted(*name) + " is there twice");
    }
  }
  return {};
}

int HttpStatusOf(Code code) {
  switch (code) {
    case Code::kInvalid:
      return 400;
    case Code::kNotFound:
      return 404;
    case Code::kUnavailable:
    case Code::kTimeout:
    case Code::kBusy:
      return 503;
    default:
      return 500;
  }
}

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

std::string EncodeAdminTarget(const AdminRequest& request) {
  std::string path = request.command;
  std::replace(path.begin(), path.end(), ' ', '/');
  std::string target = std::string(kRoot) + path;
  char mark = '?';
  for (const auto& [name, value] : request.arguments.items()) {
    target += mark + Escaped(name) + "=" +
              Escaped(value.is_string() ? value.get<std::string>() : value.dump());
    mark = '&';
  }
  return target;
}

Result<AdminRequest> DecodeAdminTarget(std::string_view target) {
  std::string_view query = target;
  const std::string_view path = CutAt(query, '?');
  if (!path.starts_with(kRoot)) {
    return Error{Code::kNotFound, Effect::kNone,
                 "there is nothing at " + Quoted(path) + ": a question begins with /v1/"};
  }
  AdminRequest request{.command = std::string(path.substr(kRoot.size()))};
  std::replace(request.command.begin(), request.command.end(), '/', ' ');
  if (const Status read = ReadArguments(query, request.arguments); !read) {
    return read.error();
  }
  return request;
}

void AdminCommands::Add(AdminCommand command) {
  std::string name = command.name;
  const bool added = commands_.emplace(std::move(name), std::move(command)).second;
  ONCEMQ_CHECK(added, "each admin command has a name of its own");
}

Result<ordered_json> AdminCommands::Run(const AdminRequest& request) const {
  const auto command = commands_.find(request.command);
  if (command == commands_.end()) {
    return Error{Code::kNotFound, Effect::kNone,
                 "this service knows no command " + Quoted(request.command)};
  }
  return command->second.run(request.arguments);
}

HttpAnswer AdminRefusal(const Error& why) {
  return {HttpStatusOf(why.code),
          AdminText({{"error", why.message}, {"code", std::string(ToString(why.code))}}) + "\n"};
}

HttpAnswer AnswerAdmin(const AdminCommands& commands, std::string_view target) {
  try {
    const Result<AdminRequest> request = DecodeAdminTarget(target);
    const Result<ordered_json> result = request ? commands.Run(*request) : request.error();
    if (!result) {
      return AdminRefusal(result.error());
    }
    HttpAnswer answer{.body = AdminText(*result) + "\n"};
    return answer.body.size() <= kMostAdminAnswer
               ? answer
               : AdminRefusal({Code::kFull, Effect::kNone,
                               "the answer has " + std::to_string(answer.body.size()) + " bytes; " +
                                   std::to_string(kMostAdminAnswer) + " are allowed"});
  } catch (const std::exception& error) {  // no memory, as a rule
    return AdminRefusal(
        {Code::kInternal, Effect::kNone, std::string("the command failed: ") + error.what()});
  }
}

Result<ordered_json> ReadAdminAnswer(int status, std::string_view body) {
  const Error corrupt{Code::kCorrupt, Effect::kUnknown, "the answer is not one of a service"};
  if (TooDeep(body)) {
    return corrupt;
  }
  ordered_json read = ordered_json::parse(body, nullptr, false);
  if (read.is_discarded()) {
    return corrupt;
  }
  if (status == 200) {
    return read;
  }
  if (read.is_object() && read.contains("error") && read["error"].is_string()) {
    return Error{CodeOf(read), Effect::kNone, read["error"].get<std::string>()};
  }
  return corrupt;
}

}  // namespace oncemq
