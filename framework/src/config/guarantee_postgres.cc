// SPDX-License-Identifier: Apache-2.0
// The guarantee with the window in PostgreSQL.
#include "guarantee_text.h"
#include "oncemq/clients/sql_place.h"
#include "units.h"

namespace oncemq {
namespace {

void SayDatabase(const ServiceOptions& options, GuaranteeText& text) {
  const auto place = ParsePostgresPlace(options.postgres_at);
  text.Say(
      "The database decides: the window of all members of the group, on any host, is the "
      "schema " +
      options.postgres.schema + (place ? " of " + ToString(*place) : "") +
      ". Its backups are the window's backups.");
  text.Say(
      "Each answer is a commit that waits for the server's disk, also where `synchronous_commit` "
      "is `off`. Without a synchronous standby the loss of the server takes the commits that no "
      "standby had.");
}

// By a failover or a restored backup.
void SayLostCommits(const ServiceOptions& options, GuaranteeText& text) {
  text.Say(
      "A failover to a standby, a backup that was put back and a restart of the server look alike: "
      "start time, timeline and log position tell. Each partition is assigned anew then, before "
      "anything else of it runs, and its window is compared with the commit (rule 31).");
  if (SaidLevel(options) == Level::kAtomic) {
    text.Say(
        "A database that is behind the commit has lost effects and markers together: it goes back, "
        "and its handlers run again (rule 2). One that does not know the commit at all is not "
        "begun anew: the partition does not start.");
    return;
  }
  SayCompletion(options.runtime, "An owner whose window is new, or behind the commit,", text);
}

void SayOutage(const ServiceOptions& options, GuaranteeText& text) {
  text.Say("A database that does not answer within " + FormatDuration(options.postgres.call) +
           " (`call`) stops the effects: nothing runs without the window. The members keep their "
           "partitions, and go on when it answers.");
  const Level level = SaidLevel(options);
  if (!options.runtime.ids_partition_owned && level != Level::kAtomic) {
    text.Say("Where it is away for longer than the lease of " +
             FormatDuration(options.postgres.times.lease) +
             ", a copy on another partition may claim an id whose handler has ended and whose "
             "marker still waits for the database. Its handler is called again: " +
             (level == Level::kGuarded ? "the target decides." : "the effect is there twice."));
  }
}

void SayAtomicInPostgres(GuaranteeText& limits, GuaranteeText& holds) {
  limits.Say(
      "Level atomic covers the rows that a handler writes in the transaction of its run, and no "
      "other effect: a call or a message that it sends next to them happens at least once.");
  SayOnlyWatched(limits);
  holds.Say(
      "Level atomic: effect and marker are one transaction, so each id's effect happens once, "
      "through any crash, pause, rebalance, redelivery or replay that the window remembers.");
}

void SayWhoseIds(const RuntimeOptions& runtime, GuaranteeText& limits, GuaranteeText& holds) {
  if (runtime.ids_partition_owned) {
    SayIds(runtime, limits);
    return;
  }
  SayMissingId(runtime, limits);
  holds.Say(
      "Ids may cross partitions: all members of the group share the window, so a copy is "
      "recognised on whichever partition it comes.");
}

}  // namespace

void SayPostgres(const ServiceOptions& options, GuaranteeText& limits, GuaranteeText& holds) {
  const RuntimeOptions& runtime = options.runtime;
  SayDatabase(options, limits);
  SayLostCommits(options, limits);
  SayOutage(options, limits);
  SayAge(options.postgres.remember, options.postgres.skew, limits);
  limits.Say(
      "The slowest partition of the group decides what is old: one that does not move keeps the "
      "ids of all of them (rule 24).");
  SayWhoseIds(runtime, limits, holds);
  if (SaidLevel(options) == Level::kOpaque) {
    limits.Say(
        "A message whose process died is handled again once its lease has ended and "
        "`handler_timeout` (" +
        FormatDuration(options.postgres.times.handler_timeout) +
        ") has passed, since its call may still run.");
  }
  SayLevel(options,
           {.twice = ClaimedWork(runtime, "The database", "Where the database has lost changes"),
            .told = true,
            .known_while = "the database keeps what it has answered",
            .atomic = SayAtomicInPostgres},
           limits, holds);
}

}  // namespace oncemq
