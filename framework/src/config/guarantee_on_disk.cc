// SPDX-License-Identifier: Apache-2.0
// What holds with windows on disk: where the stores lie, what a move, a loss of power and a lost
// store take, and how long ids are known.
#include "guarantee_text.h"
#include "units.h"

namespace oncemq {
namespace {

// Where the stores lie, and what their partitions leave behind.
void SayHosts(const ServiceOptions& options, GuaranteeText& text) {
  const RuntimeOptions& runtime = options.runtime;
  const std::string stores = "Each partition has a store of its own below " +
                             options.local.directory + ", on the disk of this host. ";
  if (runtime.one_host) {
    text.Say(stores +
             "You said `one_host: true`: all members of the group run on this host, on this "
             "directory. oncemq cannot check that; a member elsewhere has other stores (rule 49).");
    return;
  }
  text.Say(stores +
           "A partition that moves to another host leaves its store behind: its next owner knows "
           "only what a commit shows (rule 3).");
  text.Say("No commit shows " + UnprovenWork(runtime) +
           ". If the process dies and the partition moves to another host, it is handled again "
           "there. The bound is the work since the last acknowledged commit.");
}

// What a loss of power takes.
void SaySync(const ServiceOptions& options, GuaranteeText& text) {
  const Level level = SaidLevel(options);
  if (options.local.sync == SyncWhen::kEachBatch) {
    text.Say(
        "`sync: each_batch`: a loss of power takes nothing that was answered, as far as the disk "
        "keeps what it says it has synced.");
    return;
  }
  const bool never = options.local.sync == SyncWhen::kNever;
  const std::string taken =
      never ? "`sync: never`: a loss of power, not the end of the process, takes what the system "
              "had not written yet, half a minute or so, also what a commit calls finished. "
            : "`sync: each_commit`: a loss of power, not the end of the process, takes what was "
              "finished since the last commit. ";
  switch (level) {
    case Level::kAtomic:
      text.Say(taken + "Effects and markers go together, and are handled again.");
      return;
    case Level::kGuarded:
      text.Say(taken + "It is handled again, or read again from the log: the target decides.");
      return;
    case Level::kOpaque:
      text.Say(taken + (never ? "With it go claims: what they ran may run twice, and is not "
                                "counted as uncertain."
                              : "Claims are synced, so what ran is known, and runs again as "
                                "uncertain."));
      return;
  }
}

void SayStoreCatchUp(const ServiceOptions& options, GuaranteeText& text) {
  const RuntimeOptions& runtime = options.runtime;
  if (SaidLevel(options) == Level::kAtomic) {
    text.Say(
        "A store that is gone, or is not the one that the last commit was made on, is not begun "
        "anew: its effects are in it, so the partition does not start, and says what it found "
        "(rules 2 and 28). A store that is behind the commit goes back, and its handlers run "
        "again.");
    return;
  }
  SayCompletion(runtime,
                "An owner whose store is behind the commit, is new, or is not the one that the "
                "commit was made on",
                text);
}

void SayDiskLimits(const ServiceOptions& options, GuaranteeText& text) {
  SayHosts(options, text);
  SayStoreCatchUp(options, text);
  SaySync(options, text);
  SayAge(options.local.remember, options.local.skew, text);
  SayIds(options.runtime, text);
}

void SayDiskAtomic(GuaranteeText& limits, GuaranteeText& holds) {
  limits.Say(
      "Level atomic covers the effects that a handler writes into the window's store, and no "
      "other: a call or a message that it sends beside them happens at least once. The effects are "
      "on one disk: keep backups, and read docs/operations.md before you put one back.");
  SayOnlyWatched(limits);
  holds.Say(
      "Level atomic: effect and marker are one write in the partition's store, so each id's "
      "effect happens once, through any crash, pause, rebalance on this host, redelivery or "
      "replay that the window remembers.");
}

}  // namespace

void SayDisk(const ServiceOptions& options, GuaranteeText& limits, GuaranteeText& holds) {
  const RuntimeOptions& runtime = options.runtime;
  SayDiskLimits(options, limits);
  SayLevel(
      options,
      {.twice = runtime.one_host ? ClaimedWork(runtime, "The store", "Where the store is lost too")
                                 : UnprovenWork(runtime) + ", and for what was running.",
       .reported = runtime.one_host,
       .known_while = "a partition stays on this host, with its store",
       .atomic = SayDiskAtomic},
      limits, holds);
}

}  // namespace oncemq
