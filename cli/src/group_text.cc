// SPDX-License-Identifier: Apache-2.0
#include "group_text.h"

#include <algorithm>
#include <utility>

#include "exit_code.h"
#include "report_terms.h"
#include "safe_json.h"
#include "status_holdups.h"

namespace oncemq {
namespace {

using nlohmann::ordered_json;

// Tells members with one client id on one host apart.
constexpr size_t kEndOfMemberId = 6;

std::string PartitionNameIn(const GroupPartition& partition) {
  return SafeText(partition.topic) + " [" + std::to_string(partition.partition) + "]";
}

ordered_json MemberJson(const GroupMember& member) {
  return {{"id", member.id}, {"client_id", member.client_id}, {"host", member.host}};
}

std::optional<int64_t> ParkedNow(const GroupView& view, const GroupPartition& partition) {
  for (const ParkedCount& count : view.parked) {
    if (count.topic == partition.topic && count.partition == partition.partition) {
      return static_cast<int64_t>(count.messages);
    }
  }
  return std::nullopt;
}

ordered_json PartitionJson(const GroupView& view, const GroupPartition& partition) {
  ordered_json out{{"topic", partition.topic},
                   {"partition", partition.partition},
                   {"member", partition.member ? MemberJson(*partition.member) : ordered_json()},
                   {"log_start", OrNull(partition.log_start)},
                   {"log_end", OrNull(partition.log_end)},
                   {"committed", OrNull(partition.committed)},
                   {"lag", OrNull(partition.lag())}};
  if (partition.commit) {
    const CommitMetadata& commit = *partition.commit;
    const int64_t difference = commit.OffsetsWithoutOutcome(*partition.committed);
    out["since"] = commit.since;
    out["own"] = commit.owner_epoch;
    out["clean"] = commit.clean;
    out["offsets"] = commit.totals.sum() + difference;
    out["totals"] = TermsAsJson(TermsOf(commit.totals));
    out["difference"] = difference;
    out["uncertain"] = commit.uncertain;
  }
  out["unread"] = partition.unread ? partition.unread->message : "";
  out["parked_now"] = OrNull(ParkedNow(view, partition));
  return out;
}

// Nothing where one is not known.
ordered_json SumOf(const ordered_json& partitions, const char* key) {
  int64_t sum = 0;
  for (const ordered_json& partition : partitions) {
    if (!HasNumber(partition, key)) {
      return {};
    }
    sum += NumberOf(partition, key);
  }
  return sum;
}

// Over the partitions with a commit of ours.
void AddSums(const GroupStatus& status, ordered_json& out) {
  Totals totals;
  int64_t difference = 0;
  int64_t uncertain = 0;
  for (const GroupPartition& partition : status.partitions) {
    if (partition.commit) {
      totals += partition.commit->totals;
      difference += partition.commit->OffsetsWithoutOutcome(*partition.committed);
      uncertain += partition.commit->uncertain;
    }
  }
  out["totals"] = TermsAsJson(TermsOf(totals));
  out["offsets"] = totals.sum() + difference;
  out["difference"] = difference;
  out["uncertain"] = uncertain;
  out["lag"] = SumOf(out["partitions"], "lag");
  out["parked_now"] = SumOf(out["partitions"], "parked_now");
}

// The group of the service on this host, if it is another one, or null.
ordered_json OtherGroup(const GroupView& view) {
  const std::string group = TextOf(view.here, "group");
  return !view.here.is_object() || group == view.group ? ordered_json() : ordered_json(group);
}

// The first identity, of the member that answers on this host.
ordered_json DeliveriesJson(const ordered_json& here) {
  const auto counts = here.find("counts");
  if (counts == here.end() || !counts->is_object()) {
    return {};
  }
  int64_t outcomes = 0;
  for (const auto& [name, count] : counts->items()) {
    outcomes += name == "deliveries" ? 0 : NumberOf(*counts, name.c_str());
  }
  ordered_json out{{"pid", NumberOf(here, "pid")}, {"counts", *counts}};
  out["difference"] = NumberOf(*counts, "deliveries") - outcomes;
  return out;
}

void AddStandstills(const GroupPartition& partition, bool settled,
                    std::vector<std::string>& lines) {
  const std::string name = PartitionNameIn(partition);
  // An operator's commit is no obstacle: the next owner takes it.
  if (partition.unread && partition.unread->code != Code::kNotFound) {
    lines.push_back(name + " cannot start from its commit: " + SafeText(partition.unread->message));
  }
  if (partition.committed && partition.log_start && *partition.committed < *partition.log_start) {
    lines.push_back(std::to_string(*partition.log_start - *partition.committed) + " messages of " +
                    name + " after its commit are gone from the log");
  }
  const int64_t lag = partition.lag().value_or(0);
  if (lag < 0) {
    lines.push_back("the commit of " + name + " is above the end of its log");
  }
  if (lag > 0 && !partition.member && settled) {
    lines.push_back("no member has " + name + ", and " + std::to_string(lag) + " messages wait");
  }
}

std::vector<std::string> StandstillsOf(const GroupStatus& status) {
  std::vector<std::string> lines;
  for (const std::string& topic : status.missing_topics) {
    lines.push_back("topic " + SafeText(topic) + " does not exist");
  }
  // During a rebalance no member has anything.
  const bool settled =
      status.state != "PreparingRebalance" && status.state != "CompletingRebalance";
  for (const GroupPartition& partition : status.partitions) {
    AddStandstills(partition, settled, lines);
  }
  return lines;
}

std::vector<std::string> WrongSumsOf(const ordered_json& out) {
  std::vector<std::string> lines;
  for (const ordered_json& partition : out["partitions"]) {
    if (const int64_t difference = NumberOf(partition, "difference"); difference < 0) {
      lines.push_back(PartitionNameOf(partition) + " has " + std::to_string(-difference) +
                      " outcomes more than offsets");
    }
  }
  if (const int64_t difference = NumberOf(out["deliveries"], "difference"); difference != 0) {
    lines.push_back("the deliveries of process " + PartOf(out["deliveries"], "pid") +
                    " differ from their outcomes by " + std::to_string(difference));
  }
  return lines;
}

std::string Words(std::string name) {
  std::ranges::replace(name, '_', ' ');
  return SafeText(name);
}

std::string Identity(const std::string& whole, int64_t sum, const ordered_json& terms,
                     int64_t difference) {
  std::string out = whole + " " + std::to_string(sum) + " = ";
  bool first = true;
  for (const auto& [name, value] : terms.items()) {
    if (name != "deliveries") {
      out += (first ? "" : " + ") + Words(name) + " " + SafeJson(value);
      first = false;
    }
  }
  return out + ", difference " + std::to_string(difference);
}

// "payments-1/10.0.0.1 0ba840"
std::string MemberCell(const ordered_json& member) {
  const std::string id = TextOf(member, "id");
  return PartOf(member, "client_id") + PartOf(member, "host") + " " +
         SafeText(id.substr(id.size() - std::min(id.size(), kEndOfMemberId)));
}

std::string NumberCell(const ordered_json& object, const char* key) {
  return HasNumber(object, key) ? std::to_string(NumberOf(object, key)) : "-";
}

StatusRow GroupRowOf(const ordered_json& partition) {
  StatusRow row;
  row.cells.push_back(PartitionNameOf(partition));
  const ordered_json none = ordered_json::object();
  const ordered_json& member = partition["member"].is_object() ? partition["member"] : none;
  row.cells.push_back(member.empty() ? "-" : MemberCell(member));
  for (const char* key : {"committed", "log_end", "lag"}) {
    row.cells.push_back(NumberCell(partition, key));
  }
  const ordered_json& totals = partition.contains("totals") ? partition["totals"] : none;
  for (const char* key : {"applied", "suppressed", "parked", "rejected", "skipped"}) {
    row.cells.push_back(NumberCell(totals, key));
  }
  for (const char* key : {"difference", "uncertain", "parked_now"}) {
    row.cells.push_back(NumberCell(partition, key));
  }
  const std::string unread = TextOf(partition, "unread");
  row.cells.push_back(SafeText(unread));
  if (HasNumber(partition, "lag")) {
    row.lag = NumberOf(partition, "lag");
  }
  const bool waits = row.lag.value_or(0) > 0 && member.empty();
  row.mood = waits || NumberOf(partition, "difference") < 0 ? Mood::kBad
             : unread.empty()                               ? Mood::kGood
                                                            : Mood::kHeld;
  return row;
}

std::vector<std::string> GroupHead(const ordered_json& group) {
  std::vector<std::string> head;
  const size_t members = ListOf(group, "members").size();
  head.push_back("group " + PartOf(group, "group") + ": " + PartOf(group, "state") + ", members " +
                 std::to_string(members) + ", lag " + NumberCell(group, "lag"));
  for (const ordered_json& member : ListOf(group, "members")) {
    head.push_back("member " + PartOf(member, "id") + " at " + PartOf(member, "host") +
                   ", partitions " + PartOf(member, "partitions"));
  }
  head.push_back(Identity("offsets", NumberOf(group, "offsets"), group["totals"],
                          NumberOf(group, "difference")) +
                 (NumberOf(group, "difference") > 0
                      ? ": markers of transactions, aborted and compacted messages have no outcome"
                      : ""));
  if (const ordered_json& deliveries = group["deliveries"]; deliveries.is_object()) {
    head.push_back(Identity("deliveries", NumberOf(deliveries["counts"], "deliveries"),
                            deliveries["counts"], NumberOf(deliveries, "difference")) +
                   ", of process " + PartOf(deliveries, "pid") + " on this host since its start");
  }
  if (!group["other_group"].is_null()) {
    head.push_back("deliveries not known: the service at `admin.socket` is of the group " +
                   PartOf(group, "other_group"));
  }
  head.push_back("uncertain " + NumberCell(group, "uncertain") + ", parked now " +
                 NumberCell(group, "parked_now"));
  if (const std::string why = TextOf(group, "ends_unknown"); !why.empty()) {
    head.push_back("logs not known: " + SafeText(why));
  }
  return head;
}

}  // namespace

ordered_json GroupJson(const GroupView& view) {
  ordered_json out{{"group", view.group}, {"state", view.status.state}};
  out["members"] = ordered_json::array();
  for (const GroupMember& member : view.status.members) {
    ordered_json one = MemberJson(member);
    one["partitions"] =
        std::ranges::count_if(view.status.partitions, [&](const GroupPartition& partition) {
          return partition.member && partition.member->id == member.id;
        });
    out["members"].push_back(std::move(one));
  }
  out["partitions"] = ordered_json::array();
  for (const GroupPartition& partition : view.status.partitions) {
    out["partitions"].push_back(PartitionJson(view, partition));
  }
  AddSums(view.status, out);
  out["other_group"] = OtherGroup(view);
  out["deliveries"] = out["other_group"].is_null() ? DeliveriesJson(view.here) : ordered_json();
  out["missing_topics"] = view.status.missing_topics;
  out["ends_unknown"] = view.status.ends_unknown;
  out["wrong_sums"] = WrongSumsOf(out);
  out["standstills"] = StandstillsOf(view.status);
  return out;
}

StatusTable GroupTableOf(const ordered_json& group) {
  StatusTable table;
  table.head = GroupHead(group);
  table.columns = {"partition",  "member",     "committed",  "end",      "lag",
                   "applied",    "suppressed", "parked",     "rejected", "skipped",
                   "difference", "uncertain",  "parked now", "commit"};
  for (const ordered_json& partition : ListOf(group, "partitions")) {
    table.rows.push_back(GroupRowOf(partition));
  }
  for (const ordered_json& line : ListOf(group, "wrong_sums")) {
    table.alarms.push_back("does not add up: " + line.get<std::string>());
  }
  for (const ordered_json& line : ListOf(group, "standstills")) {
    table.alarms.push_back("does not move: " + line.get<std::string>());
  }
  return table;
}

int ExitCodeOfGroup(const ordered_json& group) {
  return !ListOf(group, "wrong_sums").empty()    ? kExitVerification
         : !ListOf(group, "standstills").empty() ? kExitFailed
                                                 : kExitDone;
}

}  // namespace oncemq
