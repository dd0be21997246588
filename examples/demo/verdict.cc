// SPDX-License-Identifier: Apache-2.0
#include "verdict.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "words.h"

namespace oncemq::demo {
namespace {

// Collects what is wrong, as "missing 3, double 2".
class Faults {
 public:
  void Count(std::string_view what, int64_t number) {
    if (number != 0) {
      Say(std::string(what) + " " + Grouped(number));
    }
  }
  void Say(std::string_view what) {
    text_ += text_.empty() ? "" : ", ";
    text_ += what;
  }
  Finding Close(std::string what, std::string checked) && {
    return {text_.empty(), std::move(what), std::move(checked), std::move(text_)};
  }

 private:
  std::string text_;
};

Finding EachExactlyOnce(const Evidence& evidence) {
  std::unordered_map<std::string_view, const Payment*> sent;
  for (const Payment& payment : evidence.payments) {
    sent.emplace(payment.id, &payment);
  }
  std::unordered_map<std::string_view, int64_t> booked;
  int64_t changed = 0;
  int64_t doubles = 0;
  for (const Posting& posting : evidence.ledger.postings) {
    const auto found = sent.find(posting.payment.id);
    if (found == sent.end() || *found->second != posting.payment) {
      changed++;
    } else if (++booked[posting.payment.id] > 1) {
      doubles++;
    }
  }
  const auto once = static_cast<int64_t>(booked.size());
  const int64_t missing = static_cast<int64_t>(sent.size()) - once;
  Faults faults;
  faults.Count("missing", missing);
  faults.Count("double", doubles);
  faults.Count("never sent", changed);
  faults.Count("damaged rows", static_cast<int64_t>(evidence.ledger.damaged));
  return std::move(faults).Close(
      "each payment once", Grouped(once) + " of " + Grouped(static_cast<int64_t>(sent.size())) +
                               " payments booked, missing " + Grouped(missing) + ", booked again " +
                               Grouped(doubles));
}

// What the kill was aimed at.
Finding KilledInside(const Evidence& evidence, const WorkerEvidence& killed) {
  std::string by;
  int64_t times = 0;
  for (const Posting& posting : evidence.ledger.postings) {
    if (posting.payment.id == killed.inside) {
      times++;
      by += (by.empty() ? ", by worker " : " and worker ") + posting.worker;
    }
  }
  Faults faults;
  if (killed.inside.empty()) {
    faults.Say("worker " + killed.name + " was killed outside its handler");
  } else if (times != 1) {
    faults.Say(killed.inside + " booked " + Grouped(times) + " times");
  }
  return std::move(faults).Close("the payment in hand at the kill",
                                 killed.inside + ", inside which worker " + killed.name +
                                     " was killed, is booked " + Grouped(times) +
                                     (times == 1 ? " time" : " times") + by);
}

Finding OrderOfEachAccount(const Evidence& evidence) {
  std::map<uint32_t, uint32_t> latest;
  std::unordered_map<std::string_view, bool> seen;
  std::map<uint32_t, bool> broken;
  for (const Posting& posting : evidence.ledger.postings) {
    const Payment& payment = posting.payment;
    uint32_t& last = latest[payment.from];
    // A double is judged elsewhere; here only the first posting of each payment counts.
    if (!seen.emplace(payment.id, true).second) {
      continue;
    }
    if (payment.sequence <= last) {
      broken[payment.from] = true;
    }
    last = std::max(last, payment.sequence);
  }
  Faults faults;
  faults.Count("accounts out of order", static_cast<int64_t>(broken.size()));
  const auto total = static_cast<int64_t>(latest.size());
  return std::move(faults).Close(
      "order of each account", "kept for " + Grouped(total - static_cast<int64_t>(broken.size())) +
                                   " of " + Grouped(total) +
                                   " accounts, by the first booking of each payment");
}

Finding Balances(const Evidence& evidence) {
  std::map<uint32_t, int64_t> wanted;
  int64_t sent = 0;
  for (const Payment& payment : evidence.payments) {
    wanted[payment.from] -= payment.cents;
    wanted[payment.to] += payment.cents;
    sent += payment.cents;
  }
  const Ledger& ledger = evidence.ledger;
  int64_t sum = 0;
  int64_t wrong = 0;
  for (const auto& [account, balance] : ledger.balances) {
    sum += balance;
    wrong += balance != wanted[account] ? 1 : 0;
  }
  for (const auto& [account, balance] : wanted) {
    wrong += balance != 0 && !ledger.balances.contains(account) ? 1 : 0;
  }
  Faults faults;
  if (ledger.debits != ledger.credits) {
    faults.Say("debits and credits differ");
  }
  if (ledger.debits != sent) {
    faults.Say(MoneyOf(ledger.debits > sent ? ledger.debits - sent : sent - ledger.debits) +
               (ledger.debits > sent ? " too much moved" : " too little moved"));
  }
  if (sum != 0) {
    faults.Say("sum of balances " + MoneyOf(sum));
  }
  faults.Count("wrong balances", wrong);
  const auto accounts = static_cast<int64_t>(wanted.size());
  return std::move(faults).Close(
      "debits = credits = sent",
      "debits " + MoneyOf(ledger.debits) + ", credits " + MoneyOf(ledger.credits) + ", sent " +
          MoneyOf(sent) + "; " + Grouped(wrong) + " of " + Grouped(accounts) + " balances wrong");
}

// Rule 51, first identity: each delivery of a process is in exactly one bucket. What a worker had
// open when it was killed is the next owner's.
Finding Deliveries(const WorkerEvidence& worker) {
  const DeliveryCounts& c = worker.counts;
  Faults faults;
  if (!worker.error.empty()) {
    faults.Say("worker " + worker.name + " ended: " + worker.error);
  } else if (!worker.reported && !worker.killed) {
    faults.Say("worker " + worker.name + " left without a report");
  }
  if (!c.Balanced()) {
    faults.Say("deliveries of worker " + worker.name + " do not add up");
  }
  if (!worker.killed) {
    faults.Count("open at the end of worker " + worker.name, c.open);
  }
  const Sum sum = Sum(Grouped(c.deliveries) + " deliveries")
                      .Add(c.applied, "applied", true)
                      .Add(c.suppressed, "suppressed", true)
                      .Add(c.parked, "parked")
                      .Add(c.rejected, "rejected")
                      .Add(c.handed_back, "handed back")
                      .Add(c.open, worker.killed ? "open in its last report" : "open", true);
  const std::string lost =
      worker.killed ? "; " + Grouped(worker.not_committed) + " of them not committed" : "";
  return std::move(faults).Close("deliveries of worker " + worker.name, sum.text() + lost);
}

// Payments that a killed worker had booked and not finished: the others find them booked.
int64_t FoundBooked(const Evidence& evidence) {
  int64_t found = 0;
  for (const WorkerEvidence& worker : evidence.workers) {
    found += worker.found_booked;
  }
  return found;
}

// The counters and the ledger come by different ways and must say the same, worker by worker.
Finding CallsAndBookings(const Evidence& evidence) {
  std::map<std::string_view, int64_t> booked_by;
  for (const Posting& posting : evidence.ledger.postings) {
    booked_by[posting.worker]++;
  }
  int64_t calls = 0;
  int64_t applied = 0;
  int64_t died = 0;
  Faults faults;
  for (const WorkerEvidence& worker : evidence.workers) {
    const int64_t booked = booked_by[worker.name];
    calls += worker.calls;
    applied += worker.counts.applied;
    died += worker.killed ? worker.calls - booked : 0;
    const int64_t found = worker.killed ? -FoundBooked(evidence) : worker.found_booked;
    if (booked + found != worker.counts.applied) {
      faults.Say("worker " + worker.name + " counts " + Grouped(worker.counts.applied) +
                 " applied, the ledger " + Grouped(booked) + " by it" +
                 (found > 0 ? ", and it found " + Grouped(found) + " booked" : ""));
    }
    if (worker.calls < booked) {
      faults.Say("worker " + worker.name + " booked without a call");
    }
  }
  const auto lines = static_cast<int64_t>(evidence.ledger.postings.size());
  return std::move(faults).Close("counters and ledger",
                                 Sum(Grouped(calls) + " handler calls")
                                         .Add(lines, "booked", true)
                                         .Add(died, "unwritten when their worker was killed")
                                         .Add(calls - lines - died, "wrote nothing")
                                         .text() +
                                     "; " + Grouped(applied) + " counted as applied");
}

// Rule 51, second identity: the totals of the last commit account for every offset of the log.
Finding Offsets(const PartitionEvidence& partition) {
  const std::string name = "partition " + std::to_string(partition.partition);
  Faults faults;
  if (partition.log_start != 0) {
    faults.Say(name + ": the embedded broker dropped its first " + Grouped(partition.log_start) +
               " messages");
  }
  if (!partition.metadata) {
    faults.Say(name + (partition.committed < 0 ? " has no commit" : " has a commit of others"));
    return std::move(faults).Close(name, "no totals");
  }
  const Totals& t = partition.metadata->totals;
  const int64_t below = partition.committed - partition.metadata->since;
  if (partition.committed != partition.log_end) {
    faults.Say(name + " is committed to " + Grouped(partition.committed) + " of " +
               Grouped(partition.log_end));
  } else if (partition.metadata->since != partition.log_start || t.sum() != below) {
    faults.Say(name + ": totals " + Grouped(t.sum()) + " for " + Grouped(below) + " offsets");
  }
  const Sum sum = Sum(Grouped(partition.log_end) + " in the log = " + Grouped(below) + " committed")
                      .Add(t.applied, "applied", true)
                      .Add(t.suppressed, "suppressed", true)
                      .Add(t.parked, "parked")
                      .Add(t.rejected, "rejected")
                      .Add(t.skipped, "skipped");
  return std::move(faults).Close(name, sum.text());
}

Finding WholeLog(const Evidence& evidence) {
  int64_t in_log = 0;
  for (const PartitionEvidence& partition : evidence.partitions) {
    in_log += partition.log_end - partition.log_start;
  }
  Faults faults;
  if (in_log != evidence.messages) {
    faults.Say("the log holds " + Grouped(in_log) + " of " + Grouped(evidence.messages) +
               " messages");
  }
  return std::move(faults).Close("the log", Grouped(evidence.messages) + " messages sent = " +
                                                Grouped(in_log) + " in the log");
}

// From what was sent to what the workers got. Who takes a partition over gets again what is not
// committed.
Finding Delivered(const Evidence& evidence) {
  int64_t deliveries = 0;
  int64_t handed_back = 0;
  for (const WorkerEvidence& worker : evidence.workers) {
    deliveries += worker.counts.deliveries;
    handed_back += worker.counts.handed_back;
  }
  const int64_t again = Redeliveries(evidence);
  Faults faults;
  faults.Count("messages that nobody got", std::max<int64_t>(-again, 0));
  return std::move(faults).Close("all deliveries",
                                 Sum(Grouped(deliveries) + " deliveries to all workers")
                                     .Add(evidence.messages, "messages sent", true)
                                     .Add(again, "delivered again")
                                     .Add(handed_back, "handed back")
                                     .text());
}

// Judged by the others: what was suppressed too often is missing, what was not is double. What a
// killed worker had open comes again too, but nobody had finished it.
Finding Suppressed(const Evidence& evidence) {
  int64_t suppressed = 0;
  int64_t finished_again = Redeliveries(evidence);
  for (const WorkerEvidence& worker : evidence.workers) {
    suppressed += worker.counts.suppressed;
    finished_again -= worker.killed ? worker.counts.open : 0;
  }
  const int64_t copies = evidence.messages - static_cast<int64_t>(evidence.payments.size());
  const std::string what = "suppressed";
  const std::string head = Grouped(suppressed) + " suppressed";
  if (suppressed != copies + finished_again) {  // whose copy was not, nobody can say here
    return Faults().Close(what, head + ", of " + Grouped(copies) +
                                    " re-sends by the producer and " + Grouped(finished_again) +
                                    " delivered again after they were done");
  }
  return Faults().Close(what, Sum(head)
                                  .Add(copies, "re-sends by the producer", true)
                                  .Add(finished_again, "delivered again after they were done")
                                  .text());
}

}  // namespace

Doubles CountDoubles(const std::vector<Posting>& postings, std::string_view killed) {
  std::unordered_set<std::string_view> ids;
  std::map<std::pair<int32_t, int64_t>, std::string_view> first_by;  // record: worker
  Doubles doubles;
  for (const Posting& posting : postings) {
    const auto [record, fresh] =
        first_by.try_emplace({posting.partition, posting.offset}, posting.worker);
    const int64_t cents = posting.payment.cents;
    if (ids.insert(posting.payment.id).second) {
      continue;
    }
    if (fresh) {
      doubles.resent++;
      doubles.resent_cents += cents;
    } else if (!killed.empty() && record->second == killed && posting.worker != killed) {
      doubles.killed++;
      doubles.killed_cents += cents;
    } else {
      doubles.again++;
      doubles.again_cents += cents;
    }
  }
  return doubles;
}

LeftByKill WhatTheKillLeft(const std::vector<WorkerEvidence>& workers) {
  for (const WorkerEvidence& worker : workers) {
    if (worker.killed) {
      const DeliveryCounts& counts = worker.counts;
      return {worker.name, worker.not_committed - counts.open, worker.calls - counts.applied};
    }
  }
  return {};
}

int64_t Redeliveries(const Evidence& evidence) {
  int64_t taken = 0;
  for (const WorkerEvidence& worker : evidence.workers) {
    taken += worker.counts.deliveries - worker.counts.handed_back;
  }
  return taken - evidence.messages;
}

std::vector<Finding> Judge(const Evidence& evidence) {
  std::vector<Finding> findings;
  findings.push_back(EachExactlyOnce(evidence));
  for (const WorkerEvidence& worker : evidence.workers) {
    if (worker.killed) {
      findings.push_back(KilledInside(evidence, worker));
    }
  }
  findings.push_back(OrderOfEachAccount(evidence));
  findings.push_back(Balances(evidence));
  for (const WorkerEvidence& worker : evidence.workers) {
    findings.push_back(Deliveries(worker));
  }
  findings.push_back(CallsAndBookings(evidence));
  findings.push_back(Delivered(evidence));
  findings.push_back(Suppressed(evidence));
  findings.push_back(WholeLog(evidence));
  for (const PartitionEvidence& partition : evidence.partitions) {
    findings.push_back(Offsets(partition));
  }
  return findings;
}

std::string VerdictLine(std::span<const Finding> findings,
                        std::span<const WorkerEvidence> workers) {
  std::string failures;
  for (const Finding& finding : findings) {
    if (!finding.ok) {
      failures += failures.empty() ? "" : "; ";
      failures += finding.failure;
    }
  }
  if (failures.empty()) {
    return "verdict: OK";
  }
  for (const WorkerEvidence& worker : workers) {
    failures += worker.halted.empty() ? "" : "; worker " + worker.name + " " + worker.halted;
  }
  return "verdict: FAILED (" + failures + ")";
}

}  // namespace oncemq::demo
