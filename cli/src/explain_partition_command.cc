// SPDX-License-Identifier: Apache-2.0
#include "explain_partition_command.h"

#include <iostream>

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

std::string Seconds(const ordered_json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number_integer()
             ? std::to_string(found->get<int64_t>() / 1000) + " s ago"
             : "never";
}

std::string ClientText(const ordered_json& answer) {
  const auto client = answer.find("client");
  if (client == answer.end() || !client->is_object()) {
    return {};
  }
  const std::string state = TextOf(*client, "fetch_state");
  return "client     fetch state " + (state.empty() ? "not known" : SafeText(state)) +
         ", last record " + Seconds(*client, "record_ms") + ", last answer of its broker " +
         Seconds(*client, "answer_ms") + "\n";
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
  return out + ClientText(answer) + "trend      " + PartOf(answer, "trend") + "\nnext       " +
         PartOf(answer, "next") + "\n";
}

int ExplainPartitionCommand(const ServiceTarget& target, const std::string& name, bool json) {
  const size_t slash = name.rfind('/');
  const std::string number = slash == std::string::npos ? "" : name.substr(slash + 1);
  const bool digits =
      !number.empty() && number.find_first_not_of("0123456789") == std::string::npos;
  if (!digits || slash == 0) {
    std::cerr << SafeText(name) << " is no partition: say TOPIC/NUMBER, such as payments/3\n";
    return kExitUsage;
  }
  const ServiceAnswer reply = QueryService(
      target, {.command = "explain partition",
               .arguments = {{"topic", name.substr(0, slash)}, {"partition", number}}});
  if (reply.code != kExitDone) {
    return reply.code;
  }
  std::cout << (json ? SafeJson(reply.result) + "\n" : PartitionExplainedText(reply.result));
  const auto owned = reply.result.find("owned");
  return owned != reply.result.end() && *owned == true ? kExitDone : kExitFailed;
}

}  // namespace oncemq
