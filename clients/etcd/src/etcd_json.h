// SPDX-License-Identifier: Apache-2.0
// What is said to the gateway and what it answers, as JSON. Bytes go as base64; it writes numbers
// of 64 bits as strings, and leaves out what is 0.
//
// Every reader here is total: any input gives a value or an Error.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "oncemq/clients/etcd_client.h"

namespace oncemq {

std::string JsonOf(const EtcdTxn& txn);
std::string JsonOf(const EtcdWatch& watch);
// Any text, bytes that are not UTF-8 replaced.
std::string JsonText(std::string_view text);

// None: not an object of JSON.
std::optional<nlohmann::json> ParseJson(std::string_view text);
Result<EtcdAnswer> TxnOf(const nlohmann::json& json);
Result<EtcdLease> LeaseOf(const nlohmann::json& json);
// One line of a watch; false as soon as `hears` says it is enough.
Result<bool> HearLine(std::string_view line, const std::function<bool(const EtcdEvent&)>& hears);
// A member of an object; none if it is something else, or not there.
std::string_view TextOf(const nlohmann::json& json, const char* name);

// What a refusal is as an Error; `json` is the body, or the "error" in a stream. kRefused
// if the token has ended.
Error EtcdError(const nlohmann::json& json);

}  // namespace oncemq
