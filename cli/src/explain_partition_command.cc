// SPDX-License-Identifier: Apache-2.0
#include "explain_partition_command.h"

#include <iostream>
#include <optional>

#include "exit_code.h"
#include "safe_json.h"
#include "status_holdups.h"

namespace oncemq {
namespace {

using nlohmann::ordered_json;

// In the words of `Holder`, which a newer service may have more of.
std::string HolderText(const std::string& holder) {
  for (const auto& [name, says] :
       {std::pair("none", "nothing holds it"), std::pair("handler", "the handler holds it"),
        std::pair("store", "the store of its window, or the journal, holds it"),
        std::pair("lock", "a lock that its handler waits for holds it"),
        std::pair("commit", "its commit holds it"), std::pair("broker", "the broker holds it"),
        std::pair("id_claimed", "another claim of its id holds it"),
        std::pair("stopped", "it is stopped"),
        std::pair("waiting", "it waits for other messages")}) {
    if (holder == name) {
      return says;
    }
  }
  return holder;
}

// As far as it is known.
std::string ClientText(const ordered_json& answer) {
  const auto client = answer.find("client");
  if (client == answer.end() || !client->is_object()) {
    return {};
  }
  std::string out;
  const auto add = [&out](const std::string& part) {
    out += (out.empty() ? "client     " : ", ") + part;
  };
  if (const std::string state = TextOf(*client, "fetch_state"); !state.empty()) {
    add("fetch state " + SafeText(state));
  }
  for (const auto& [key, name] : {std::pair("record_ms", "last record "),
                                  std::pair("answer_ms", "last answer of its broker ")}) {
    if (HasNumber(*client, key)) {
      add(name + std::to_string(NumberOf(*client, key) / 1000) + " s ago");
    }
  }
  return out.empty() ? out : out + "\n";
}

// Both "payments/3" and "payments [3]".
std::optional<nlohmann::json> PlaceIn(const std::string& name) {
  const bool printed = name.ends_with(']');
  const std::string mark = printed ? " [" : "/";
  const std::string text = name.substr(0, name.size() - (printed ? 1 : 0));
  const size_t at = text.rfind(mark);
  if (at == std::string::npos || at == 0) {
    return std::nullopt;
  }
  const std::string number = text.substr(at + mark.size());
  const bool digits =
      !number.empty() && number.find_first_not_of("0123456789") == std::string::npos;
  return digits
             ? std::optional(nlohmann::json{{"topic", text.substr(0, at)}, {"partition", number}})
             : std::nullopt;
}

}  // namespace

std::string PartitionExplainedText(const ordered_json& answer) {
  std::string out = PartOf(answer, "topic") + " [" + PartOf(answer, "partition") + "]: ";
  if (const auto owned = answer.find("owned"); owned == answer.end() || *owned != true) {
    return out + "not this member's\nnext       " + PartOf(answer, "next") + "\n";
  }
  out += HolderText(PartOf(answer, "holder")) + "\n";
  for (const char* state : {"stopped", "waiting"}) {
    if (const std::string why = TextOf(answer, state); !why.empty()) {
      out += std::string(state) + "    " + SafeText(why) + "\n";
    }
  }
  if (const auto oldest = answer.find("oldest"); oldest != answer.end() && oldest->is_object()) {
    out += "message    " + OpenMessageText(*oldest) + "\n";
  }
  const std::string committed = PartOf(answer, "committed");
  out += "position   " + PartOf(answer, "phase") + ", frontier " + PartOf(answer, "frontier") +
         ", committed " + (committed == "-1" ? "nothing" : committed) + ", next offset " +
         PartOf(answer, "next_offset") + ", log end " + PartOf(answer, "log_end") + ", lag " +
         PartOf(answer, "lag") + "\n";
  const std::string trend = TextOf(answer, "trend");  // none in a stop
  return out + ClientText(answer) + (trend.empty() ? "" : "trend      " + SafeText(trend) + "\n") +
         "next       " + PartOf(answer, "next") + "\n";
}

int ExplainPartitionCommand(const ServiceTarget& target, const std::string& name, bool json) {
  const auto place = PlaceIn(name);
  if (!place) {
    std::cerr << SafeText(name) << " is no partition: say TOPIC/NUMBER, such as payments/3\n";
    return kExitUsage;
  }
  const ServiceAnswer reply =
      QueryService(target, {.command = "explain partition", .arguments = *place});
  if (reply.code != kExitDone) {
    return reply.code;
  }
  std::cout << (json ? SafeJson(reply.result) + "\n" : PartitionExplainedText(reply.result));
  const auto owned = reply.result.find("owned");
  return owned != reply.result.end() && *owned == true ? kExitDone : kExitFailed;
}

}  // namespace oncemq
