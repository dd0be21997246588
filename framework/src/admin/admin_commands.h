// SPDX-License-Identifier: Apache-2.0
// AdminCommands: what a running service can be asked, by name, and the words of the admin protocol
// around it (docs/formats.md).
//
// Promise: Answer is total: any bytes give one JSON object, {"v":1,"ok":true,"result":...} or
// {"v":1,"ok":false,"error":"..."}. A command that changes anything writes one line to the log, of
// its own number, so that no limit on repeated lines holds it back; where the log takes no such
// line, the command is refused.
//
// Thread safety: Add before the first Answer; Answer from one thread at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "oncemq/base/result.h"

namespace oncemq {

inline constexpr int kAdminVersion = 1;

// Who asks, as the system says it.
struct AdminPeer {
  uint32_t uid = 0;
  int32_t pid = 0;
};

struct AdminCommand {
  // As on the command line: "window show".
  std::string name;
  // Whether it changes anything; then it is put on record.
  bool changes = false;
  // An error's message is the answer. `arguments` is an object.
  std::function<Result<nlohmann::ordered_json>(const nlohmann::json& arguments)> run;
};

// ASCII on one line, whatever bytes are in it.
std::string AdminText(const nlohmann::ordered_json& json);

struct AdminRequest {
  std::string command;
  nlohmann::json arguments = nlohmann::json::object();
};
std::string EncodeAdminRequest(const AdminRequest& request);
Result<AdminRequest> DecodeAdminRequest(std::string_view text);

std::string AdminRefusal(std::string_view why, Code code = Code::kInvalid);

// What the service answered: the result, or its refusal as kInvalid; kCorrupt: no answer of ours.
Result<nlohmann::ordered_json> DecodeAdminAnswer(std::string_view text);

class AdminCommands {
 public:
  void Add(AdminCommand command);
  std::string Answer(std::string_view request, const AdminPeer& peer);

 private:
  Result<nlohmann::ordered_json> Run(const AdminCommand& command, const AdminRequest& request,
                                     const AdminPeer& peer);

  std::map<std::string, AdminCommand, std::less<>> commands_;
  uint64_t changes_ = 0;
};

}  // namespace oncemq
