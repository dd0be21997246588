// SPDX-License-Identifier: Apache-2.0
#include "verdict.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <unordered_map>
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
  Finding Close(std::string checked) && {
    return {text_.empty(), std::move(checked), std::move(text_)};
  }

 private:
  std::string text_;
};

Finding EachExactlyOnce(const Evidence& evidence) {
  std::unordered_map<std::string_view, const Payment*> sent;
  for (const Payment& payment : evidence.payments) {
    sent.emplace(payment.id, &payment);
  }
  std::unordered_map<std::string_view, int64_t> posted;
  int64_t changed = 0;
  int64_t doubles = 0;
  for (const Posting& posting : evidence.effects.postings) {
    const auto found = sent.find(posting.payment.id);
    if (found == sent.end() || *found->second != posting.payment) {
      changed++;
    } else if (++posted[posting.payment.id] > 1) {
      doubles++;
    }
  }
  const auto once = static_cast<int64_t>(posted.size());
  const int64_t missing = static_cast<int64_t>(sent.size()) - once;
  Faults faults;
  faults.Count("missing", missing);
  faults.Count("double", doubles);
  faults.Count("never sent", changed);
  faults.Count("damaged lines", static_cast<int64_t>(evidence.effects.damaged));
  return std::move(faults).Close(
      Grouped(once) + " of " + Grouped(static_cast<int64_t>(sent.size())) +
      " payments posted, missing " + Grouped(missing) + ", double " + Grouped(doubles));
}

Finding OrderOfEachAccount(const Evidence& evidence) {
  std::map<uint32_t, uint32_t> latest;
  std::unordered_map<std::string_view, bool> seen;
  std::map<uint32_t, bool> broken;
  for (const Posting& posting : evidence.effects.postings) {
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
      "order kept for " + Grouped(total - static_cast<int64_t>(broken.size())) + " of " +
      Grouped(total) + " accounts, by the first posting of each payment");
}

using Balances = std::map<uint32_t, int64_t>;

void Post(Balances& balances, const Payment& payment) {
  balances[payment.from] -= payment.cents;
  balances[payment.to] += payment.cents;
}

Finding Ledger(const Evidence& evidence) {
  Balances wanted;
  Balances found;
  int64_t sent = 0;
  int64_t posted = 0;
  for (const Payment& payment : evidence.payments) {
    Post(wanted, payment);
    sent += payment.cents;
  }
  for (const Posting& posting : evidence.effects.postings) {
    Post(found, posting.payment);
    posted += posting.payment.cents;
  }
  int64_t sum = 0;
  int64_t off = 0;
  for (const auto& [account, balance] : found) {
    sum += balance;
    off += balance != wanted[account] ? 1 : 0;
  }
  for (const auto& [account, balance] : wanted) {
    off += balance != 0 && !found.contains(account) ? 1 : 0;
  }
  Faults faults;
  faults.Count("cents too many", std::max<int64_t>(posted - sent, 0));
  faults.Count("cents too few", std::max<int64_t>(sent - posted, 0));
  faults.Count("sum of balances", sum);
  faults.Count("wrong balances", off);
  return std::move(faults).Close("debits = credits, sum of balances " + Grouped(sum) + ", posted " +
                                 Money(posted) + " of " + Money(sent));
}

// Rule 51, first identity: each delivery of a process is in exactly one bucket.
Finding Deliveries(const WorkerEvidence& worker) {
  const DeliveryCounts& c = worker.counts;
  Faults faults;
  if (!worker.error.empty()) {
    faults.Say("worker " + worker.name + " ended: " + worker.error);
  } else if (!worker.reported) {
    faults.Say("worker " + worker.name + " left without a report");
  }
  if (!c.Balanced()) {
    faults.Say("deliveries of worker " + worker.name + " do not add up");
  }
  faults.Count("open at the end of worker " + worker.name, c.open);
  const Sum sum = Sum("worker " + worker.name + ": " + Grouped(c.deliveries) + " deliveries")
                      .Add(c.applied, "applied", true)
                      .Add(c.suppressed, "suppressed", true)
                      .Add(c.parked, "parked")
                      .Add(c.rejected, "rejected")
                      .Add(c.handed_back, "handed back")
                      .Add(c.open, "open", true);
  return std::move(faults).Close(sum.text() + "; " + Grouped(worker.caught_up) +
                                 " ids learned from the log");
}

// The counters and the effects come by different ways and must say the same.
Finding CallsAndEffects(const Evidence& evidence) {
  int64_t calls = 0;
  int64_t applied = 0;
  for (const WorkerEvidence& worker : evidence.workers) {
    calls += worker.counts.handler_calls;
    applied += worker.counts.applied;
  }
  const auto lines = static_cast<int64_t>(evidence.effects.postings.size());
  Faults faults;
  if (calls != lines || applied != lines) {
    faults.Say("counters and effects differ");
  }
  return std::move(faults).Close(Grouped(lines) + " effects = " + Grouped(calls) +
                                 " handler calls = " + Grouped(applied) + " applied");
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
    return std::move(faults).Close(name + ": no totals");
  }
  const Totals& t = partition.metadata->totals;
  const int64_t below = partition.committed - partition.metadata->since;
  if (partition.committed != partition.log_end) {
    faults.Say(name + " is committed to " + Grouped(partition.committed) + " of " +
               Grouped(partition.log_end));
  } else if (partition.metadata->since != partition.log_start || t.sum() != below) {
    faults.Say(name + ": totals " + Grouped(t.sum()) + " for " + Grouped(below) + " offsets");
  }
  const Sum sum = Sum(name + ": " + Grouped(partition.log_end) + " in the log = " + Grouped(below) +
                      " committed")
                      .Add(t.applied, "applied", true)
                      .Add(t.suppressed, "suppressed", true)
                      .Add(t.parked, "parked")
                      .Add(t.rejected, "rejected")
                      .Add(t.skipped, "skipped");
  return std::move(faults).Close(sum.text());
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
  return std::move(faults).Close(Grouped(evidence.messages) +
                                 " messages sent = " + Grouped(in_log) + " in the log");
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
  return std::move(faults).Close(Sum(Grouped(deliveries) + " deliveries to all workers")
                                     .Add(evidence.messages, "messages sent", true)
                                     .Add(again, "delivered again")
                                     .Add(handed_back, "handed back")
                                     .text());
}

// Judged by the others: what was suppressed too often is missing, what was not is double.
Finding Suppressed(const Evidence& evidence) {
  int64_t suppressed = 0;
  for (const WorkerEvidence& worker : evidence.workers) {
    suppressed += worker.counts.suppressed;
  }
  const int64_t copies = evidence.messages - static_cast<int64_t>(evidence.payments.size());
  const int64_t again = Redeliveries(evidence);
  const std::string head = Grouped(suppressed) + " suppressed";
  if (suppressed != copies + again) {  // whose copy was not, nobody can say here
    return Faults().Close(head + ", of " + Grouped(copies) + " re-sends by the producer and " +
                          Grouped(again) + " delivered again");
  }
  return Faults().Close(
      Sum(head).Add(copies, "re-sends by the producer", true).Add(again, "delivered again").text());
}

}  // namespace

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
  findings.push_back(OrderOfEachAccount(evidence));
  findings.push_back(Ledger(evidence));
  for (const WorkerEvidence& worker : evidence.workers) {
    findings.push_back(Deliveries(worker));
  }
  findings.push_back(CallsAndEffects(evidence));
  findings.push_back(Delivered(evidence));
  findings.push_back(Suppressed(evidence));
  findings.push_back(WholeLog(evidence));
  for (const PartitionEvidence& partition : evidence.partitions) {
    findings.push_back(Offsets(partition));
  }
  return findings;
}

std::string VerdictLine(std::span<const Finding> findings) {
  std::string failures;
  for (const Finding& finding : findings) {
    if (!finding.ok) {
      failures += failures.empty() ? "" : "; ";
      failures += finding.failure;
    }
  }
  return failures.empty() ? "verdict: OK" : "verdict: FAILED (" + failures + ")";
}

}  // namespace oncemq::demo
