// SPDX-License-Identifier: Apache-2.0
// The guarantee with the window in PostgreSQL.
#include "guarantee_text.h"
#include "oncemq/clients/sql_endpoint.h"

namespace oncemq {
namespace {

void SayDatabase(const ServiceOptions& options, GuaranteeText& text) {
  const auto endpoint = ParsePostgresEndpoint(options.postgres_at);
  text.Say(
      "The database decides: the window of all members of the group, on any host, is the "
      "schema " +
      options.postgres.schema + (endpoint ? " of " + ToString(*endpoint) : "") +
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

void SayAtomicInPostgres(GuaranteeText& limits, GuaranteeText& holds) {
  limits.Say(
      "Level atomic covers the rows that a handler writes in the transaction of its batch, and no "
      "other effect: a call or a message that it sends next to them happens at least once.");
  SayOnlyWatched(limits);
  holds.Say(
      "Level atomic: effect and marker are one transaction, so each id's effect happens once, "
      "through any crash, pause, rebalance, redelivery or replay that the window remembers.");
}

}  // namespace

void SayPostgres(const ServiceOptions& options, GuaranteeText& limits, GuaranteeText& holds) {
  SayDatabase(options, limits);
  SayLostCommits(options, limits);
  const PostgresWindowOptions& window = options.postgres;
  SayServer(options,
            {.subject = "The database",
             .server = "the database",
             .kind = "database",
             .call = window.call,
             .remember = window.remember,
             .skew = window.skew,
             .atomic = SayAtomicInPostgres},
            limits, holds);
}

}  // namespace oncemq
