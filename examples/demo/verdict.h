// SPDX-License-Identifier: Apache-2.0
// The verdict: judges a run by what it left behind, never by what it says about itself. Each check
// is a finding; one that fails makes the whole run fail.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ledger.h"
#include "oncemq/framework/commit_metadata.h"
#include "oncemq/framework/core.h"
#include "payment.h"

namespace oncemq::demo {

// One life of a worker process.
struct WorkerEvidence {
  std::string name;
  bool reported = false;  // it ended in order and sent its last counters
  bool killed = false;    // by us; what it told last is what counts
  DeliveryCounts counts;
  int64_t calls = 0;          // of its handler, as that counts them itself
  int64_t found_booked = 0;   // of these, that found the payment booked by another worker
  std::string inside;         // the payment in whose handler it was killed
  int64_t not_committed = 0;  // that it had when it was killed, finished or not
  std::string error;          // why it ended, if nobody asked it to
  std::string halted;         // that somebody else stopped it (SIGSTOP), and for how long
};

struct PartitionEvidence {
  int32_t partition = 0;
  int64_t log_start = 0;
  int64_t log_end = 0;
  int64_t committed = -1;  // -1: the group has committed nothing
  std::optional<CommitMetadata> metadata;
};

struct Evidence {
  std::vector<Payment> payments;  // each once, as sent
  int64_t messages = 0;           // as sent, copies included
  Ledger ledger;
  std::vector<WorkerEvidence> workers;
  std::vector<PartitionEvidence> partitions;
};

// Messages that came a second time because their first delivery was not committed before a move.
int64_t Redeliveries(const Evidence& evidence);

// Postings behind the first of each payment.
struct Doubles {
  int64_t resent = 0;  // of another record with the same id: the producer sent it again
  int64_t resent_cents = 0;
  int64_t killed = 0;  // of the same record: the worker that was killed had booked it, another did
  int64_t killed_cents = 0;
  int64_t again = 0;  // of the same record, delivered again for any other reason
  int64_t again_cents = 0;
  int64_t count() const { return resent + killed + again; }
  int64_t cents() const { return resent_cents + killed_cents + again_cents; }
};

// `killed` is the worker's name; empty: none was.
Doubles CountDoubles(const std::vector<Posting>& postings, std::string_view killed);

// What a worker that was killed leaves to be delivered again, by its own counters.
struct LeftByKill {
  std::string worker;  // empty: none was killed
  int64_t done = 0;    // finished, and no commit shows it
  int64_t begun = 0;   // its handler was called, and it is not finished
};

LeftByKill WhatTheKillLeft(const std::vector<WorkerEvidence>& workers);

struct Finding {
  bool ok = false;
  std::string what;     // is checked, in a few words; the same for every run
  std::string text;     // what was compared with what
  std::string failure;  // what is wrong, in a few words; empty if nothing
};

std::vector<Finding> Judge(const Evidence& evidence);

// "verdict: OK" or "verdict: FAILED (double 2,000; ...)". Whoever was stopped from outside is named
// where it failed.
std::string VerdictLine(std::span<const Finding> findings,
                        std::span<const WorkerEvidence> workers = {});

}  // namespace oncemq::demo
