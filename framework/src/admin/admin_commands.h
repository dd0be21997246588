// SPDX-License-Identifier: Apache-2.0
// AdminCommands: the questions to a running service, by name, and their HTTP form
// (docs/formats.md): "window show" with {"id":"p-17"} is `GET /v1/window/show?id=p-17`.
//
// **Promise:** AnswerAdmin and ReadAdminAnswer are total: any bytes give an answer or an error.
//
// **Thread safety:** Add before the first Run; Run from any thread, also several at a time.
#pragma once

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "http_answer.h"
#include "oncemq/base/result.h"

namespace oncemq {

inline constexpr size_t kMostAdminAnswer = 16 << 20;

struct AdminCommand {
  // As on the command line: "window show".
  std::string name;
  // The message of an error is the answer. `arguments` is an object of texts.
  std::function<Result<nlohmann::ordered_json>(const nlohmann::json& arguments)> run;
};

struct AdminRequest {
  std::string command;
  // Numbers arrive as their digits.
  nlohmann::json arguments = nlohmann::json::object();
};

// ASCII on one line, whatever bytes are in it.
std::string AdminText(const nlohmann::ordered_json& json);

// The target of the request line, from "/v1/" on.
std::string EncodeAdminTarget(const AdminRequest& request);
// kNotFound: the path is none of a command.
Result<AdminRequest> DecodeAdminTarget(std::string_view target);

class AdminCommands {
 public:
  void Add(AdminCommand command);
  Result<nlohmann::ordered_json> Run(const AdminRequest& request) const;

 private:
  std::map<std::string, AdminCommand, std::less<>> commands_;
};

// {"error":...,"code":...}, with the status of its code.
HttpAnswer AdminRefusal(const Error& why);
HttpAnswer AnswerAdmin(const AdminCommands& commands, std::string_view target);

// The other end: the result, or the refusal; kCorrupt: no answer of ours.
Result<nlohmann::ordered_json> ReadAdminAnswer(int status, std::string_view body);

}  // namespace oncemq
