// SPDX-License-Identifier: Apache-2.0
// The guarantee in words, from the options in force. Limits stand before promises, and each
// sentence is one that docs/guarantees.md gives the reasons for.
#include <chrono>
#include <string>
#include <string_view>

#include "guarantee_text.h"
#include "quoted.h"
#include "units.h"

namespace oncemq {
namespace {

using std::chrono::duration_cast;

std::string Interval(const CoreOptions& core) {
  return FormatDuration(duration_cast<milliseconds>(core.commit_interval));
}

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

}  // namespace

std::string UnprovenWork(const RuntimeOptions& runtime) {
  return "what finished since the last acknowledged commit (one every " + Interval(runtime.core) +
         " for a partition that moves), and what had no room in its map";
}

void SayIds(const RuntimeOptions& runtime, GuaranteeText& text) {
  text.Say(
      "Ids must not cross partitions. You said `ids: partition_owned`: all copies of an id "
      "travel through one partition. oncemq cannot check that, and adding partitions to a "
      "topic breaks it (rule 37).");
  SayMissingId(runtime, text);
}

namespace {

void SayCatchUp(const RuntimeOptions& runtime, GuaranteeText& text) {
  if (runtime.catch_up == 0) {
    text.Say(
        "Catch-up is off: after a restart, or on another process, a partition begins with an "
        "empty window. Every copy of an earlier id is taken for new.");
    return;
  }
  text.Say("The next owner of a partition reads up to " + std::to_string(runtime.catch_up) +
           " offsets back in the log and takes what the commit calls finished for done. " +
           kHidden +
           (runtime.incomplete == IncompletePolicy::kStop
                ? " Where that does not suffice the partition does not start (`incomplete: stop`)."
                : " Where that does not suffice, copies of those ids run again."));
}

void SayMemoryLimits(const ServiceOptions& options, GuaranteeText& text) {
  const RuntimeOptions& runtime = options.runtime;
  text.Say(
      "The window lives in the memory of this process and is forgotten when the process ends. "
      "A partition that moves leaves its window behind (rule 3).");
  SayCatchUp(runtime, text);
  text.Say("No commit shows " + UnprovenWork(runtime) +
           ". If the process dies then, the next owner handles it again.");
  text.Say("At least the last " + std::to_string(options.memory.remember) +
           " finished ids are remembered. A copy that comes later than that is taken for new.");
  SayIds(runtime, text);
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

void SayOpaque(const ServiceOptions& options, GuaranteeText& limits, GuaranteeText& holds) {
  const RuntimeOptions& runtime = options.runtime;
  const auto margin = duration_cast<milliseconds>(runtime.core.session_margin);
  const bool on_disk = options.engine == ServiceOptions::Engine::kRocksDb;
  std::string twice = UnprovenWork(runtime) + ", and for what was running.";
  if (on_disk && runtime.one_host) {
    twice =
        "what was claimed and not finished: up to " + std::to_string(runtime.core.run) +
        " messages of each worker (`limits.run`), those too whose handler had ended, since a run "
        "is "
        "finished as a whole. The store tells it, and it is counted as uncertain. Where the store "
        "is lost too, it is " +
        twice;
  }
  limits.Say(
      "Level opaque: nobody can check the effect, so it happens at least once. After an "
      "unclean end it may happen twice for " +
      twice);
  if (!(on_disk && runtime.one_host)) {
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
  holds.Say(std::string("Level opaque: while ") +
            (on_disk ? "a partition stays on this host, with its store"
                     : "this process lives and keeps its partitions") +
            ", a copy of a finished id is not handled again, and a copy of a running one waits for "
            "its outcome.");
}

void SayNoWindow(const RuntimeOptions& runtime, GuaranteeText& text) {
  text.Say(
      "No window: no id is looked at and no copy is recognised. Every delivery is handled, at "
      "least once.");
  text.Say("No commit shows " + UnprovenWork(runtime) +
           ". If the process dies then, the next owner handles it again.");
}

void SayOrder(const RuntimeOptions& runtime, GuaranteeText& limits, GuaranteeText& holds) {
  switch (runtime.core.order) {
    case Order::kUnordered:
      limits.Say(
          "Order is unordered: messages of one key may run at the same time, and in any "
          "order. One id still runs in one place at a time.");
      return;
    case Order::kKey:
      limits.Say(
          std::string("Order by key holds within a partition only. Messages without a key ") +
          (runtime.null_key == NullKey::kRefuse    ? "are refused."
           : runtime.null_key == NullKey::kOneLane ? "are in order among themselves."
                                                   : "have no order."));
      holds.Say(
          "Messages of one key in one partition are handled one at a time, in the order of "
          "the log, also through retries and reassignments.");
      return;
    case Order::kPartition:
      holds.Say(
          "Messages of one partition are handled one at a time, in the order of the log, "
          "also through retries and reassignments.");
      return;
  }
}

void SayRefused(const ServiceOptions& options, GuaranteeText& text) {
  const RuntimeOptions& runtime = options.runtime;
  std::string who = "A message that the handler refuses";
  if (options.engine != ServiceOptions::Engine::kNone) {
    const bool any = runtime.missing_id == MissingId::kRefuse;
    who += any ? ", or that has no usable id" : ", or whose id is too long";
  }
  who += runtime.null_key == NullKey::kRefuse ? ", or that has no key, " : ", ";
  if (runtime.policy.reject == RejectPolicy::kJournal) {
    text.Say(who + "is put on record in " + runtime.journal +
             " before its partition goes on. That file is on this machine.");
  } else {
    text.Say(who +
             "stops its partition there; the log says topic, partition and offset. Nothing behind "
             "it is lost, and nothing behind it is committed.");
  }
}

std::string_view NameOf(ServiceOptions::Engine engine) {
  return engine == ServiceOptions::Engine::kRocksDb ? "rocksdb" : "memory";
}

std::string Title(const ServiceOptions& options) {
  const std::string title = "Guarantee of group " + Quoted(options.runtime.kafka.group) + ": ";
  if (options.engine == ServiceOptions::Engine::kNone) {
    return title + "no window, at least once";
  }
  return title + "window " + std::string(NameOf(options.engine)) + ", level " +
         std::string(ToString(SaidLevel(options)));
}

}  // namespace

std::string ExplainGuarantee(const ServiceOptions& options) {
  const RuntimeOptions& runtime = options.runtime;
  GuaranteeText limits;
  GuaranteeText holds;
  limits.Head(Title(options));
  limits.Head("What does not hold");
  holds.Head("What holds");
  if (options.engine == ServiceOptions::Engine::kNone) {
    SayNoWindow(runtime, limits);
  } else {
    options.engine == ServiceOptions::Engine::kRocksDb ? SayDiskLimits(options, limits)
                                                       : SayMemoryLimits(options, limits);
    switch (SaidLevel(options)) {
      case Level::kAtomic:
        SayAtomic(limits, holds);
        break;
      case Level::kGuarded:
        SayGuarded(limits, holds);
        break;
      case Level::kOpaque:
        SayOpaque(options, limits, holds);
        break;
    }
  }
  SayOrder(runtime, limits, holds);
  SayLocks(options, limits, holds);
  holds.Say("A commit never passes an unfinished message, so none is lost.");
  SayRefused(options, holds);
  return limits.Take() + "\n" + holds.Take();
}

std::string GuaranteeLine(const ServiceOptions& options) {
  const bool on_disk = options.engine == ServiceOptions::Engine::kRocksDb;
  const WindowCapabilities window{.engine = NameOf(options.engine),
                                  .level = SaidLevel(options),
                                  .durable = on_disk,
                                  .by_partition = on_disk};
  return GuaranteeLine(options.engine == ServiceOptions::Engine::kNone ? nullptr : &window,
                       options.runtime.missing_id, options.runtime.one_host);
}

std::string ExplainLevels() {
  GuaranteeText text;
  text.Head("The guarantee belongs to the pair of marker store and effect. Three levels:");
  text.Say(
      "atomic: effect and marker commit together. Each id's effect happens once. It takes a "
      "program of yours whose handlers write their effects into the window's store (rocksdb), with "
      "all members of the group on one host; `oncemq run` can only watch it.");
  text.Say(
      "guarded: the target of the effect stores the id with the effect and answers `already "
      "done` to a copy. Each id's effect happens once. The target's check is yours to build; "
      "a fence alone is not enough.");
  text.Say(
      "opaque: nobody can check the effect (an e-mail, a plain HTTP call). It happens at "
      "least once; what may have run twice is called uncertain.");
  text.Head("Windows of this build:");
  text.Say(
      "memory: guarded or opaque. It is forgotten when its process ends, and knows only ids "
      "that do not cross partitions.");
#ifdef ONCEMQ_WITH_ROCKSDB
  text.Say(
      "rocksdb: atomic, guarded or opaque. One store for each partition, on the disk of this "
      "host: it knows after a restart what it knew before, and stays behind when its partition "
      "moves to another host. It knows only ids that do not cross partitions.");
#endif
  text.Say("none: no copy is recognised. Every delivery is handled, at least once.");
  text.Head("oncemq explain guarantee -c service.yaml says what holds for one service.");
  return text.Take();
}

}  // namespace oncemq
