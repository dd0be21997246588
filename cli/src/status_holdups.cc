// SPDX-License-Identifier: Apache-2.0
#include "status_holdups.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "safe_json.h"

namespace oncemq {
namespace {

using nlohmann::ordered_json;

std::string InSeconds(int64_t millis) {
  return std::to_string(millis / 1000) + " s";
}

// "topic/3: why" or "topic/3 at offset 7: why". Other stops are those of a topic or of the group.
bool IsStopOfPartition(std::string_view stop) {
  const std::string_view name = stop.substr(0, std::min(stop.find(": "), stop.find(" at offset ")));
  const size_t slash = name.rfind('/');
  return slash != std::string_view::npos && slash + 1 < name.size() &&
         name.find_first_not_of("0123456789", slash + 1) == std::string_view::npos;
}

std::string StateText(const std::string& state) {
  for (const auto& [name, says] :
       {std::pair("running", "its handler runs"),
        std::pair("claimed", "another claim of its id is in the way"),
        std::pair("owed", "it is handled, and that is not on record yet"),
        std::pair("stopped", "its partition is stopped at it")}) {
    if (state == name) {
      return says;
    }
  }
  return state;
}

void AddPartitions(const ordered_json& status, int64_t after, std::vector<std::string>& lines) {
  const int64_t age = NumberOf(status, "age_ms");
  for (const ordered_json& partition : ListOf(status, "partitions")) {
    const int64_t unmoved = NumberOf(partition, "unmoved_ms");
    if (!TextOf(partition, "stopped").empty()) {
      lines.push_back(PartitionNameOf(partition) + " is stopped");
    } else if (unmoved > 0 && unmoved + age >= after) {
      lines.push_back("nothing of " + PartitionNameOf(partition) + " was finished for " +
                      InSeconds(unmoved + age));
    }
  }
}

}  // namespace

int64_t NumberOf(const ordered_json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number_integer() ? found->get<int64_t>() : 0;
}

bool HasNumber(const ordered_json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number_integer();
}

const ordered_json& ListOf(const ordered_json& object, const char* key) {
  static const ordered_json none = ordered_json::array();
  const auto found = object.find(key);
  return found != object.end() && found->is_array() ? *found : none;
}

std::string PartitionNameOf(const ordered_json& partition) {
  return PartOf(partition, "topic") + " [" + PartOf(partition, "partition") + "]";
}

std::vector<std::string> Standstills(const ordered_json& status, milliseconds after) {
  std::vector<std::string> lines;
  const int64_t least = after.count();
  AddPartitions(status, least, lines);
  for (const ordered_json& stop : ListOf(status, "stops")) {
    if (stop.is_string() && !IsStopOfPartition(stop.get_ref<const std::string&>())) {
      lines.push_back("stopped: " + SafeText(stop.get<std::string>()));
    }
  }
  for (const ordered_json& missing : ListOf(status, "missing_topics")) {
    if (const int64_t time = NumberOf(missing, "missing_ms"); time >= least) {
      lines.push_back("topic " + PartOf(missing, "topic") + " has been missing for " +
                      InSeconds(time));
    }
  }
  // At once: a rotation that went wrong, before the server locks the account.
  for (const ordered_json& refusal : ListOf(status, "refused_logins")) {
    if (refusal.is_string()) {
      lines.push_back(SafeText(refusal.get<std::string>()));
    }
  }
  if (const int64_t time = NumberOf(status, "unreached_ms"); time >= least && time > 0) {
    lines.push_back("no broker has answered for " + InSeconds(time));
  }
  if (!TextOf(status, "error").empty()) {
    lines.push_back("it has ended by itself");
  }
  if (const int64_t age = NumberOf(status, "age_ms"); age >= least && age > 0) {
    lines.push_back("the poll thread has told nothing for " + InSeconds(age));
  }
  return lines;
}

std::string OpenMessageText(const ordered_json& message) {
  std::string out = "offset " + PartOf(message, "offset");
  if (HasNumber(message, "held_ms")) {
    out += " for " + InSeconds(NumberOf(message, "held_ms"));
  }
  out += ": " + StateText(PartOf(message, "state"));
  if (NumberOf(message, "attempt") > 0) {
    out += ", attempt " + PartOf(message, "attempt");
  }
  if (HasNumber(message, "next_try_ms")) {
    out += ", next try in " + InSeconds(NumberOf(message, "next_try_ms"));
  }
  for (const char* name : {"id", "id_hex", "key", "key_hex", "trace_id"}) {
    out += message.contains(name) ? std::string(", ") + name + " " + PartOf(message, name) : "";
  }
  const std::string why = TextOf(message, "why");
  return out + (why.empty() ? "" : ": " + SafeText(why));
}

std::string HeldText(const ordered_json& partition) {
  const auto oldest = partition.find("oldest");
  return oldest == partition.end() || !oldest->is_object()
             ? ""
             : "  held up at " + OpenMessageText(*oldest) + "\n";
}

std::string HoldupsText(const ordered_json& status) {
  std::string out;
  if (HasNumber(status, "lag") && !ListOf(status, "partitions").empty()) {
    const int64_t old = NumberOf(status, "unreached_ms");
    out += "lag " + PartOf(status, "lag") + " to the ends of the logs" +
           (old > 0 ? ", as they were " + InSeconds(old) + " ago" : "") + "\n";
  }
  if (NumberOf(status, "retrying") > 0) {
    out += "retrying " + PartOf(status, "retrying") +
           ": messages whose handler asked for another attempt\n";
  }
  for (const ordered_json& missing : ListOf(status, "missing_topics")) {
    out += "topic " + PartOf(missing, "topic") + " does not exist (for " +
           InSeconds(NumberOf(missing, "missing_ms")) + "): it is picked up once it is created\n";
  }
  return out;
}

std::string UnreachedText(const ordered_json& status) {
  const std::string where = PartOf(status, "unreached");
  if (where.empty() || !status.contains("unreached")) {
    return {};
  }
  const int64_t time = NumberOf(status, "unreached_ms");
  return "no broker answers at " + where + (time > 0 ? ", for " + InSeconds(time) : "") + "\n";
}

}  // namespace oncemq
