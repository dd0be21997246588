// SPDX-License-Identifier: Apache-2.0
// The sentences about windows in a server: PostgreSQL and Redis.
#include "guarantee_text.h"
#include "units.h"

namespace oncemq {
namespace {

void SayOutage(const ServiceOptions& options, const ServerTerms& terms, GuaranteeText& text) {
  if (terms.owned) {
    text.Say("A " + terms.kind + " that does not answer within " + FormatDuration(terms.call) +
             " (`call`) stops the commits, and with them the effects within a session. The members "
             "keep their partitions, and go on when it answers.");
    return;
  }
  text.Say("A " + terms.kind + " that does not answer within " + FormatDuration(terms.call) +
           " (`call`) stops the effects: nothing runs without the window. The members keep their "
           "partitions, and go on when it answers.");
  const Level level = SaidLevel(options);
  if (!options.runtime.ids_partition_owned && level != Level::kAtomic) {
    text.Say("Where it is away for longer than the lease of " +
             FormatDuration(TimesOf(options).lease) +
             ", a copy on another partition may claim an id whose handler has ended and whose "
             "marker still waits for " +
             terms.server + ". Its handler is called again: " +
             (level == Level::kGuarded ? "the target decides." : "the effect is there twice."));
  }
}

void SayWhoseIds(const ServiceOptions& options, GuaranteeText& limits, GuaranteeText& holds) {
  const RuntimeOptions& runtime = options.runtime;
  if (runtime.ids_partition_owned) {
    SayIds(runtime, limits);
    return;
  }
  SayMissingId(runtime, limits);
  if (const std::string over = OneIdOverTopics(options); !over.empty()) {
    limits.Say(over);
  }
  holds.Say(
      "Ids may cross partitions: all members of the group share the window, so a copy is "
      "recognised on whichever partition it comes.");
}

}  // namespace

void SayServer(const ServiceOptions& options, const ServerTerms& terms, GuaranteeText& limits,
               GuaranteeText& holds) {
  SayOutage(options, terms, limits);
  SayAge(terms.remember, terms.skew, limits);
  if (!terms.owned) {
    limits.Say(
        "The slowest partition of the group decides what is old: one that does not move keeps the "
        "ids of all of them (rule 24).");
  }
  SayWhoseIds(options, limits, holds);
  if (terms.owned) {
    SayLevel(options,
             {.twice = UnprovenWork(options.runtime) + ", and for what was running.",
              .known_while = terms.server + " keeps what it has answered"},
             limits, holds);
    return;
  }
  if (SaidLevel(options) == Level::kOpaque) {
    limits.Say(
        "A message whose process died is handled again once its lease has ended and "
        "`handler_timeout` (" +
        FormatDuration(TimesOf(options).handler_timeout) +
        ") has passed, since its call may still run.");
  }
  SayLevel(options,
           {.twice = ClaimedWork(options.runtime, terms.subject,
                                 "Where " + terms.server + " has lost changes"),
            .reported = true,
            .known_while = terms.server + " keeps what it has answered",
            .atomic = terms.atomic},
           limits, holds);
}

}  // namespace oncemq
