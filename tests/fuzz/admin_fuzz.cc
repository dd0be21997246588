// SPDX-License-Identifier: Apache-2.0
// The admin socket reads requests of any process of its user. Each target gets an answer with one
// JSON text, and the command's side of the conversation takes any bytes too.
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "admin_commands.h"
#include "oncemq/base/check.h"
#include "service_commands.h"

namespace {

using namespace oncemq;

class IdleRuntime final : public Runtime {
 public:
  RunReport Run(std::stop_token) override { return {}; }
  RunReport Report() const override { return {}; }
  Result<std::vector<FoundMessage>> FindOpen(std::string_view, milliseconds) const override {
    return std::vector<FoundMessage>{};
  }
  const std::string& guarantee() const override { return line_; }

 private:
  const std::string line_ = "nothing runs";
};

AdminCommands Commands() {
  static const IdleRuntime runtime;
  AdminCommands commands;
  AddServiceCommands(commands, {&runtime, nullptr, "fuzz", ""});
  commands.Add({.name = "echo", .run = [](const nlohmann::json& arguments) {
                  return Result<nlohmann::ordered_json>(nlohmann::ordered_json(arguments));
                }});
  return commands;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const AdminCommands commands = Commands();
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const HttpAnswer answer = AnswerAdmin(commands, input);
  const auto read = nlohmann::json::parse(answer.body, nullptr, false);
  const bool ok = answer.status == 200;
  ONCEMQ_CHECK(!read.is_discarded(), "every request has one answer");
  ONCEMQ_CHECK(ok || (read.size() == 2 && read.contains("error") && read.contains("code")),
               "with a result, or with an error and its code");
  ONCEMQ_CHECK(ReadAdminAnswer(answer.status, answer.body).has_value() == ok,
               "which the command understands");
  if (const auto request = DecodeAdminTarget(input)) {
    const auto again = DecodeAdminTarget(EncodeAdminTarget(*request));
    ONCEMQ_CHECK(
        again && again->command == request->command && again->arguments == request->arguments,
        "a request is written as it was read");
  }
  (void)ReadAdminAnswer(200, input);
  (void)ReadAdminAnswer(400, input);
  return 0;
}
