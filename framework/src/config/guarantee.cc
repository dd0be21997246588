// SPDX-License-Identifier: Apache-2.0
// The guarantee in words, from the options in force. Limits stand before promises, and each
// sentence is one that docs/guarantees.md gives the reasons for.
#include <string>
#include <string_view>

#include "guarantee_text.h"
#include "quoted.h"

namespace oncemq {
namespace {

using std::chrono::duration_cast;

}  // namespace

namespace {}  // namespace

namespace {

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

void SayRetries(const RetryPolicy& retry, GuaranteeText& limits, GuaranteeText& holds) {
  if (!retry.ends()) {
    limits.Say(
        "Retries have no end: a message that always fails holds its key for ever, and the commits "
        "of its partition below it. `retry.attempts` and `retry.at_end` end them.");
    return;
  }
  std::string line = RetryLine(retry);
  line[0] = 'A';
  holds.Say(line +
            (retry.attempts > 0 ? " (" + std::to_string(retry.attempts) + " attempts)" : "") +
            ". An attempt that failed counts for the next owner too, as far as the window knows "
            "it.");
  limits.Say(std::string("Not in that time: the calls themselves, and an answer `not_done`, which "
                         "spends no attempt") +
             (retry.give_up_after.count() > 0
                  ? ". `retry.give_up_after` begins anew with each owner."
                  : ", and a pause that the handler itself asks for."));
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
  } else if (runtime.policy.reject == RejectPolicy::kPark) {
    text.Say(who +
             "is put on record in the topic of its own with the name's end `.park`, as a whole and "
             "acknowledged, before its partition goes on.");
  } else {
    text.Say(who +
             "stops its partition there; the log says topic, partition and offset. Nothing behind "
             "it is lost, and nothing behind it is committed.");
  }
}

std::string Title(const ServiceOptions& options) {
  const std::string title = "Guarantee of group " + Quoted(options.runtime.kafka.group) + ": ";
  if (options.engine == ServiceOptions::Engine::kNone) {
    return title + "no window, at least once";
  }
  return title + "window " + std::string(ToString(options.engine)) + ", level " +
         std::string(ToString(SaidLevel(options)));
}

void SayWindow(const ServiceOptions& options, GuaranteeText& limits, GuaranteeText& holds) {
  switch (options.engine) {
    case ServiceOptions::Engine::kNone:
      return SayNoWindow(options.runtime, limits);
    case ServiceOptions::Engine::kMemory:
      return SayMemory(options, limits, holds);
    case ServiceOptions::Engine::kRocksDb:
      return SayDisk(options, limits, holds);
    case ServiceOptions::Engine::kPostgres:
      return SayPostgres(options, limits, holds);
    case ServiceOptions::Engine::kRedis:
      return SayRedis(options, limits, holds);
  }
}

// The part that the line of the guarantee needs. The libraries of the engines need not be here.
WindowCapabilities PromisedBy(const ServiceOptions& options) {
  WindowCapabilities can{.engine = ToString(options.engine), .level = SaidLevel(options)};
  switch (options.engine) {
    case ServiceOptions::Engine::kNone:
    case ServiceOptions::Engine::kMemory:
      break;
    case ServiceOptions::Engine::kRocksDb:
      can.durable = can.by_partition = true;
      break;
    case ServiceOptions::Engine::kPostgres:
    case ServiceOptions::Engine::kRedis:
      can.durable = can.shared = true;
      if (options.engine == ServiceOptions::Engine::kRedis && options.redis.partition_owned) {
        can.shared = can.keeps_claims = false;
        can.by_partition = true;
      }
      break;
  }
  return can;
}

}  // namespace

std::string ExplainGuarantee(const ServiceOptions& options) {
  GuaranteeText limits;
  GuaranteeText holds;
  limits.Head(Title(options));
  limits.Head("What does not hold");
  holds.Head("What holds");
  SayWindow(options, limits, holds);
  SayOrder(options.runtime, limits, holds);
  SayRetries(options.runtime.policy.retry, limits, holds);
  SayLocks(options, limits, holds);
  holds.Say("A commit never passes an unfinished message, so none is lost.");
  SayRefused(options, holds);
  return limits.Take() + "\n" + holds.Take();
}

std::string GuaranteeLine(const ServiceOptions& options) {
  const WindowCapabilities window = PromisedBy(options);
  return GuaranteeLine(options.engine == ServiceOptions::Engine::kNone ? nullptr : &window,
                       options.runtime.missing_id, options.runtime.one_host);
}

std::string ExplainLevels() {
  GuaranteeText text;
  text.Head("The guarantee belongs to the pair of marker store and effect. Three levels:");
  text.Say(
      "atomic: effect and marker commit together. Each id's effect happens once. It takes a "
      "program of yours whose handlers write their effects into the window's store: rocksdb, with "
      "all members of the group on one host, or postgres. `oncemq run` can only watch it.");
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
#ifdef ONCEMQ_WITH_POSTGRES
  text.Say(
      "postgres: atomic, guarded or opaque. One window in a database for all members of the group, "
      "on any host. Ids may cross partitions.");
#endif
#ifdef ONCEMQ_WITH_REDIS
  text.Say(
      "redis: guarded or opaque. One window in a Redis for all members of the group, on any host. "
      "Ids may cross partitions. What the Redis loses is completed from the log.");
#endif
  text.Say("none: no copy is recognised. Every delivery is handled, at least once.");
  text.Head("oncemq explain guarantee -c service.yaml says what holds for one service.");
  return text.Take();
}

}  // namespace oncemq
