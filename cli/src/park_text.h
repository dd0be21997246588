// SPDX-License-Identifier: Apache-2.0
// Parked messages as text and as JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "oncemq/base/result.h"
#include "oncemq/framework/park.h"

namespace oncemq {

// Says why, and returns the exit code.
int ParkFailed(const Error& error);

// With the body: key, value and headers too.
nlohmann::ordered_json ParkedJson(const ParkedEntry& entry, bool body);
// As text where JSON gives it back, else as NAME_hex.
void AddBytes(nlohmann::ordered_json& out, const std::string& name,
              const std::optional<std::string>& bytes);
// Value and headers.
void AddBody(nlohmann::ordered_json& out, const ParkedEntry& entry);

// A quoted text, else the hex digits of the begin, or `null`.
std::string BytesText(const std::optional<std::string>& bytes);
// Lines with the whole value, or with its begin if it is no text.
std::string ValueText(const std::optional<std::string>& value);

}  // namespace oncemq
