// SPDX-License-Identifier: Apache-2.0
#include "final_check.h"

#include <string>
#include <utility>
#include <vector>

#include "verdict.h"
#include "words.h"

namespace oncemq::demo {
namespace {

Result<Evidence> Collect(const Theatre& theatre, BrokerView& view) {
  Evidence evidence;
  evidence.payments = theatre.plan().payments;
  evidence.messages = static_cast<int64_t>(theatre.plan().sends.size());
  evidence.effects = ReadEffectLog(theatre.effects());
  for (const auto& worker : theatre.workers()) {
    const WorkerReport& report = worker->report();
    evidence.workers.push_back(
        {worker->name(), report.final, report.counts, report.caught_up, report.error});
  }
  for (int32_t i = 0; i < kPartitions; ++i) {
    auto partition = view.Look(i);
    if (!partition) {
      return partition.error();
    }
    evidence.partitions.push_back(std::move(*partition));
  }
  return evidence;
}

}  // namespace

Result<bool> CheckAll(const Theatre& theatre, Screen& screen, const DemoOptions& options) {
  auto view = theatre.LookAtBroker();
  if (!view) {
    return view.error();
  }
  const auto evidence = Collect(theatre, **view);
  if (!evidence) {
    return evidence.error();
  }
  const std::vector<Finding> findings = Judge(*evidence);
  bool ok = true;
  std::string head = " 4/4 verify      ";
  for (const Finding& finding : findings) {
    screen.Line(head + screen.Mark(finding.ok) + "  " + finding.text);
    head.assign(head.size(), ' ');
    ok = ok && finding.ok;
  }
  const int64_t again = Redeliveries(*evidence);
  if (again > 0) {
    screen.Line(
        "Delivered again: while a worker leaves, the embedded broker refuses the commits of");
    screen.Line("the other one, where a real broker takes them. So its last work came once more.");
  }
  if (options.window) {
    const auto copies = (*view)->CountCopies(kPartitions, evidence->messages);
    if (!copies) {
      return copies.error();
    }
    screen.Line("Without a window there would have been " +
                Sum(Grouped(copies->count + again) + " double postings")
                    .Add(copies->count, "re-sends (" + Money(copies->cents) + " too much)", true)
                    .Add(again, "delivered again", true)
                    .text());
  }
  screen.Line(VerdictLine(findings));
  return ok;
}

}  // namespace oncemq::demo
