// SPDX-License-Identifier: Apache-2.0
// The sentences about windows that several engines share.
#include <chrono>
#include <string>
#include <vector>

#include "guarantee_text.h"
#include "units.h"

namespace oncemq {
namespace {

using std::chrono::duration_cast;

std::string Interval(const CoreOptions& core) {
  return FormatDuration(duration_cast<milliseconds>(core.commit_interval));
}

void SayGuarded(GuaranteeText& limits, GuaranteeText& holds) {
  limits.Say(
      "Level guarded is a statement of yours about the target of the effect: it stores the "
      "id in the same write as the effect, and answers `already done` to a copy, as long as "
      "a copy may come. A fence alone is not enough (rule 1). oncemq cannot check that.");
  holds.Say(
      "Level guarded: with such a target each id's effect happens once, through any crash, "
      "pause, rebalance, redelivery or replay. The window saves the target most of the "
      "copies; the target decides about the rest.");
}

void SayOpaque(const RuntimeOptions& runtime, const LevelTerms& terms, GuaranteeText& limits,
               GuaranteeText& holds) {
  const auto margin = duration_cast<milliseconds>(runtime.core.session_margin);
  limits.Say(
      "Level opaque: nobody can check the effect, so it happens at least once. After an "
      "unclean end it may happen twice for " +
      terms.twice);
  if (!terms.reported) {
    limits.Say(
        "The next owner cannot know which of it ran. It counts all of it as uncertain, which is "
        "an upper bound, and tells the handler before each call: `uncertain()` is true, "
        "`attempt()` is above 1 (rule 11). A clean hand-over counts nothing.");
  }
  limits.Say(
      "A member that the group has given up may still be running a handler while the new "
      "owner starts the same message. No new effect starts in the last " +
      FormatDuration(margin) +
      " of a session without an acknowledged commit; a running one is not stopped.");
  limits.Say(
      "A handler that throws or answers Retry may have had its effect, unless it says "
      "`not_done`. The next attempt runs, and is counted as uncertain.");
  holds.Say("Level opaque: while " + std::string(terms.known_while) +
            ", a copy of a finished id is not handled again, and a copy of a running one waits for "
            "its outcome.");
}

}  // namespace

void SayMissingId(const RuntimeOptions& runtime, GuaranteeText& text) {
  if (runtime.id_from == IdFrom::kCoordinates) {
    text.Say(
        "The id is topic, partition and offset: a message that its producer sent twice has "
        "two ids, and is handled twice. Only redeliveries are recognised.");
  } else if (runtime.missing_id == MissingId::kCoordinates) {
    text.Say(
        "Of a message without an id, topic, partition and offset stand in for it: one that its "
        "producer sent twice is handled twice. Only redeliveries are recognised.");
  } else if (runtime.missing_id == MissingId::kPass) {
    text.Say(
        "A message without an id passes: it is handled without the window, at least once, and "
        "counted as unprotected. No copy and no redelivery of it is recognised, and a target that "
        "stores ids must not take an empty one for known.");
  }
}

std::string UnprovenWork(const RuntimeOptions& runtime) {
  return "what finished since the last acknowledged commit (one every " + Interval(runtime.core) +
         " for a partition that moves), and what had no room in its map";
}

std::string ClaimedWork(const RuntimeOptions& runtime, std::string_view reporter,
                        std::string_view lost) {
  return "what was claimed and not finished: up to " + std::to_string(runtime.core.batch) +
         " messages of each worker (`limits.batch`), those too whose handler had ended, since a "
         "batch is finished as a whole. " +
         std::string(reporter) + " tells it, and it is counted as uncertain. " + std::string(lost) +
         ", it is " + UnprovenWork(runtime) + ", and for what was running.";
}

std::string OneIdOverTopics(const ServiceOptions& options) {
  const std::vector<std::string>& topics = options.runtime.kafka.topics;
  const bool cross = IsInServer(options.engine) && !options.runtime.ids_partition_owned &&
                     options.runtime.id_from != IdFrom::kCoordinates;
  if (!cross || topics.size() < 2) {
    return "";
  }
  return "One id is one operation over all " + std::to_string(topics.size()) +
         " topics. You said `ids: crossing`: a message with the id of another topic's message is "
         "its copy, and its handler is not called. Where topics number their messages each for "
         "itself, say `ids: partition_owned`.";
}

void SayIds(const RuntimeOptions& runtime, GuaranteeText& text) {
  text.Say(
      "Ids must not cross partitions. You said `ids: partition_owned`: all copies of an id "
      "travel through one partition. oncemq cannot check that, and adding partitions to a "
      "topic breaks it (rule 37). The same id in another partition or topic is another operation.");
  SayMissingId(runtime, text);
}

void SayAge(milliseconds remember, milliseconds skew, GuaranteeText& text) {
  text.Say(
      "A finished id is known for at least " + FormatDuration(remember) + ", and " +
      FormatDuration(skew) +
      " more for clocks that differ, of log time: by the time stamps of the records up to the "
      "committed offset, not by the clock (rule 22). It counts from the stamp of its record, or "
      "from where its partition was then, whichever is later. In force are the times that the "
      "store keeps: the longest that a process of this scope was started with, or those of a later "
      "`oncemq window shorten`. `oncemq window stat` prints them. "
      "Then the id is forgotten. A copy that a "
      "producer sends later than that, with a fresh time stamp, is new: nobody can know (rule "
      "23). One with an old stamp below the highest commit is not run: its message is treated "
      "as refused.");
}

void SayCompletion(const RuntimeOptions& runtime, std::string_view owner, GuaranteeText& text) {
  const std::string suffices =
      runtime.incomplete == IncompletePolicy::kRun
          ? " Where that does not suffice the partition starts all the same, and copies of those "
            "ids run again (`incomplete: run`)."
          : " Where that does not suffice the partition does not start (`incomplete: stop`).";
  text.Say(std::string(owner) +
           (runtime.catch_up == 0
                ? std::string(" does not complete it from the log: `catch_up` is 0.")
                : " reads up to " + std::to_string(runtime.catch_up) +
                      " offsets back in the log, which takes its time at each such move, and takes "
                      "what the commit calls finished for done (rule 7). " +
                      kHidden) +
           suffices);
}

void SayOnlyWatched(GuaranteeText& limits) {
  limits.Say(
      "`oncemq run` can only watch at this level: its handlers write no effects. It takes a "
      "program of yours.");
}

void SayLevel(const ServiceOptions& options, const LevelTerms& terms, GuaranteeText& limits,
              GuaranteeText& holds) {
  switch (SaidLevel(options)) {
    case Level::kAtomic:
      if (terms.atomic != nullptr) {
        terms.atomic(limits, holds);
      }
      return;
    case Level::kGuarded:
      return SayGuarded(limits, holds);
    case Level::kOpaque:
      return SayOpaque(options.runtime, terms, limits, holds);
  }
}

}  // namespace oncemq
