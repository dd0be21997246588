// SPDX-License-Identifier: Apache-2.0
#include "next_step.h"

#include <algorithm>

#include "holder.h"
#include "safe_json.h"

namespace oncemq {
namespace {

using nlohmann::ordered_json;

std::string NextStepOfTrend(const PartitionReport& one) {
  switch (one.measures.trend) {
    case LagTrend::kOk:
      return "nothing: it moves, or has no work";
    case LagTrend::kWarn:
      return "more arrives than is handled: add members or workers, or a faster handler";
    case LagTrend::kStop:
    case LagTrend::kStall:
      return "no message holds it, and its commits do not move: look at the brokers with `oncemq "
             "doctor`, and at the log of the service";
    case LagTrend::kRewind:
      return "its commit went back: find out who has reset the group";
  }
  return {};
}

std::string NextStepOfHandler(const PartitionReport& one) {
  return one.oldest && one.oldest->message.state == OpenState::kRetrying
             ? "look at the target of the handler, by the reason of its retry; the message comes "
               "again by itself"
             : "the handler runs: look at its target, and at the thread of the handler if it hangs";
}

}  // namespace

std::string NextStepOf(const PartitionReport& one) {
  switch (HolderOf(one)) {
    case Holder::kNone:
      return NextStepOfTrend(one);
    case Holder::kHandler:
      return NextStepOfHandler(one);
    case Holder::kStore:
      return "look at the window, the journal or the park topic, by the reason above, with `oncemq "
             "doctor`; the work goes on by itself once it answers";
    case Holder::kLock:
      return "find the holder of the name with `oncemq lock ls` and `oncemq lock show NAME`";
    case Holder::kCommit:
      return "look at the brokers with `oncemq doctor`: the commit comes again by itself";
    case Holder::kBroker:
      return "look at the brokers with `oncemq doctor`, and at the fetch state of the client";
    case Holder::kIdClaimed:
      return "find the other delivery with `oncemq explain id ID`; its claim ends with its lease "
             "at the latest";
    case Holder::kStopped:
      return "a person is needed: look up the reason in docs/operations.md, mend it, and restart "
             "the member";
    case Holder::kTurn:
      return "other messages come first: look again, and raise `workers` if that lasts";
  }
  return {};
}

std::string NextStepElsewhere(const RunReport& report, const std::vector<std::string>& topics,
                              const std::string& topic) {
  if (!topics.empty() && std::ranges::find(topics, topic) == topics.end()) {
    return "this service does not read the topic " + topic + ": look at `topics` in its file";
  }
  if (!report.unreached.empty()) {
    return "no broker answers: look at the brokers with `oncemq doctor`, then ask again";
  }
  return "this member does not have the partition: ask the one that `oncemq group status` names";
}

std::string NextStepOf(const ordered_json& id) {
  const ordered_json& open = id["open"];
  const ordered_json& window = id["window"];
  if (open.is_array() && !open.empty()) {
    const bool stopped = TextOf(open[0], "state") == "stopped";
    return (stopped ? "its partition is stopped at it: ask `oncemq explain partition "
                    : "it is open in this member: ask `oncemq explain partition ") +
           TextOf(open[0], "topic") + "/" + PartOf(open[0], "partition") +
           (stopped ? "` why" : "` what holds it");
  }
  const std::string state = TextOf(window, "state");
  const ordered_json& place = id["place"];
  if (state == "done" || state == "handed") {
    return window.value("uncertain", false)
               ? "it is done, and uncertain: its effect may have happened more than once, so look "
                 "for it in the target"
               : "nothing: it is done, and copies of it do not run";
  }
  if (state == "parked") {
    return "it was refused: look at it with `oncemq park show --id ID -c FILE`";
  }
  if (window.contains("error")) {
    return "the window has given no answer: look at its server or disk with `oncemq doctor`, then "
           "ask again";
  }
  if (open.is_object()) {
    return "the open messages of this member are not known: ask again";
  }
  if (state == "open") {
    return place.is_object() && place["owned"] == true
               ? "no member has it in hand: its next delivery ends the claim"
               : "its claim is another member's: ask the one that owns its partition";
  }
  return "it has not arrived, was forgotten, or is open in another member: ask each of them";
}

}  // namespace oncemq
