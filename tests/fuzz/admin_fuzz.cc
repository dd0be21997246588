// SPDX-License-Identifier: Apache-2.0
// The admin socket reads what any process of its user sends. However its bytes come, a frame is the
// same; whatever is in it, the answer is one JSON object that says ok or why not, and the command's
// side of the conversation takes any bytes too.
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "admin_commands.h"
#include "frame.h"
#include "oncemq/base/check.h"
#include "oncemq/base/log.h"
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
  StartLogging({.file = "/dev/null"});
  AdminCommands commands;
  AddServiceCommands(commands, {&runtime, nullptr, "fuzz", ""});
  commands.Add({.name = "change", .changes = true, .run = [](const nlohmann::json& arguments) {
                  return Result<nlohmann::ordered_json>(nlohmann::ordered_json(arguments));
                }});
  return commands;
}

void ReadFrames(std::string_view bytes) {
  constexpr size_t kMost = 100;
  FrameReader at_once(kMost);
  const auto whole = bytes.empty() ? FrameReader::State::kPartial : at_once.Take(bytes);
  FrameReader in_bytes(kMost);
  auto state = FrameReader::State::kPartial;
  for (size_t i = 0; i < bytes.size() && state == FrameReader::State::kPartial; i++) {
    state = in_bytes.Take(bytes.substr(i, 1));
  }
  ONCEMQ_CHECK(state == whole, "a frame does not depend on how its bytes come");
  ONCEMQ_CHECK(at_once.taken() <= kFrameHead + kMost, "no more is held than is allowed");
  if (state == FrameReader::State::kComplete) {
    ONCEMQ_CHECK(at_once.body() == in_bytes.body(), "nor does what is in it");
    ONCEMQ_CHECK(bytes.starts_with(Framed(at_once.body())), "it is written as it was read");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static AdminCommands commands = Commands();
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  ReadFrames(input);
  if (size <= kMostRequest) {
    const std::string answer = commands.Answer(input, {});
    const auto read = nlohmann::json::parse(answer, nullptr, false);
    ONCEMQ_CHECK(read.is_object() && read["v"] == kAdminVersion && read["ok"].is_boolean(),
                 "every request has one answer");
    const bool ok = read["ok"].get<bool>();
    ONCEMQ_CHECK(read.size() == (ok ? 3 : 4) && read.contains(ok ? "result" : "error") &&
                     read.contains("code") != ok,
                 "with a result, or with an error and its code");
    const auto result = DecodeAdminAnswer(answer);
    ONCEMQ_CHECK(result.has_value() == ok, "which the command understands");
    if (const auto request = DecodeAdminRequest(input)) {
      const auto again = DecodeAdminRequest(EncodeAdminRequest(*request));
      ONCEMQ_CHECK(
          again && again->command == request->command && again->arguments == request->arguments,
          "a request is written as it was read");
    }
  }
  (void)DecodeAdminAnswer(input);
  return 0;
}
