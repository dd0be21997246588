// SPDX-License-Identifier: Apache-2.0
#include "expand.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <utility>

#include "quoted.h"
#include "small_file.h"
#include "units.h"

namespace oncemq {
namespace {

constexpr std::string_view kFilePrefix = "file:";
constexpr size_t kLongestSecret = 64 * 1024;

Error Invalid(std::string message) {
  return {Code::kInvalid, Effect::kNone, std::move(message)};
}

bool IsVariableName(std::string_view name) {
  const auto letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  return !name.empty() && letter(name.front()) &&
         std::all_of(name.begin(), name.end(),
                     [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

// What stands between "${" and "}".
Result<std::string> Resolve(std::string_view inside, const ConfigSources& sources,
                            SecretPlace place) {
  if (inside.starts_with(kFilePrefix)) {
    if (place == SecretPlace::kNo) {
      return Invalid("`${file:...}` is for secrets only; this value is printed and logged");
    }
    return sources.secret_file(std::string(inside.substr(kFilePrefix.size())));
  }
  const size_t colon = inside.find(':');
  const std::string_view name = inside.substr(0, colon);
  if (!IsVariableName(name)) {
    return Invalid(Quoted(inside) + " is no variable; write `${NAME}` or `${NAME:default}`");
  }
  if (std::optional<std::string> value = sources.variable(std::string(name))) {
    return *std::move(value);
  }
  if (colon == std::string_view::npos) {
    return Invalid("the environment has no variable " + Quoted(name) +
                   ", and `${NAME:default}` was not used");
  }
  return std::string(inside.substr(colon + 1));
}

}  // namespace

Result<std::string> ExpandValue(std::string_view text, const ConfigSources& sources,
                                SecretPlace place) {
  std::string out;
  while (!text.empty()) {
    const size_t at = text.find("${");
    if (at == std::string_view::npos) {
      out += text;
      break;
    }
    if (at > 0 && text[at - 1] == '$') {
      out += text.substr(0, at - 1);
      out += "${";
      text.remove_prefix(at + 2);
      continue;
    }
    const size_t end = text.find('}', at);
    if (end == std::string_view::npos) {
      return Invalid("`${` without its `}`; write `$${` for the characters themselves");
    }
    Result<std::string> value = Resolve(text.substr(at + 2, end - at - 2), sources, place);
    if (!value) {
      return value;
    }
    out += text.substr(0, at);
    out += *value;
    text.remove_prefix(end + 1);
  }
  return out;
}

bool HoldsFile(std::string_view text) {
  return text.find("${" + std::string(kFilePrefix)) != std::string_view::npos;
}

Result<std::string> ReadSecretFile(const std::string& path) {
  Result<std::string> content = ReadSmallFile(path, kLongestSecret, Readers::kOwnerOnly);
  if (content && content->ends_with('\n')) {
    content->pop_back();
  }
  if (!content || content->empty()) {
    return Invalid("the secret file " + Quoted(path) +
                   " cannot be used: " + (content ? "it is empty" : content.error().message));
  }
  return content;
}

ConfigSources ProcessSources() {
  return {[](const std::string& name) -> std::optional<std::string> {
            const char* value = std::getenv(name.c_str());
            return value != nullptr ? std::optional<std::string>(value) : std::nullopt;
          },
          ReadSecretFile};
}

}  // namespace oncemq
