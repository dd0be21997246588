// SPDX-License-Identifier: Apache-2.0
#include "final_check.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "oncemq/base/clock.h"
#include "report_page.h"
#include "run_origin.h"
#include "verdict.h"
#include "words.h"

namespace oncemq::demo {
namespace {

Result<Evidence> Collect(const Theatre& theatre, const Side& side) {
  Evidence evidence;
  evidence.payments = theatre.plan().payments;
  evidence.messages = static_cast<int64_t>(theatre.plan().sends.size());
  evidence.workers = side.Evidence();
  auto ledger = side.ReadBooks();
  if (!ledger) {
    return ledger.error();
  }
  evidence.ledger = *std::move(ledger);
  const auto view = theatre.OpenBrokerView(side);
  if (!view) {
    return view.error();
  }
  for (int32_t i = 0; i < kPartitions; ++i) {
    auto partition = (*view)->Read(i);
    if (!partition) {
      return partition.error();
    }
    evidence.partitions.push_back(std::move(*partition));
  }
  return evidence;
}

Result<RunReportFacts> JudgeSide(const Theatre& theatre, const Side& side) {
  const auto evidence = Collect(theatre, side);
  if (!evidence) {
    return evidence.error();
  }
  RunReportFacts facts;
  facts.findings = Judge(*evidence);
  facts.left = WhatTheKillLeft(evidence->workers);
  facts.doubles = CountDoubles(evidence->ledger.postings, facts.left.worker);
  facts.workers = evidence->workers;
  facts.timeline.marks = theatre.moments(side).marks();
  facts.timeline.waits = theatre.moments(side).waits();
  facts.timeline.steps = side.window() ? theatre.sampler().steps()
                                       : StepsOf(evidence->ledger.postings, theatre.begin_ms());
  return facts;
}

void Show(const std::vector<Finding>& findings, std::string head, Screen& screen) {
  for (const Finding& finding : findings) {
    screen.Line(head + screen.Mark(finding.ok) + "  " + finding.what + ": " + finding.text);
    head.assign(head.size(), ' ');
  }
}

// Without colour, and each line with the name of its run: the verdict below is about the other one.
void ShowFailuresWithout(const std::vector<Finding>& findings, Screen& screen) {
  for (const Finding& finding : findings) {
    if (!finding.ok) {
      screen.Line(std::string(17, ' ') + "without a window FAILED  " + finding.what + ": " +
                  finding.text);
    }
  }
}

// By the log of the run, and next to that by the counters of the killed worker.
void ShowDoubles(const RunReportFacts& without, Screen& screen) {
  const Doubles& doubles = without.doubles;
  screen.Line(" 6/6 without     the same stream without a window: " +
              Sum(Grouped(doubles.count()) + " bookings too many")
                  .Add(doubles.resent, "copies by the producer", true)
                  .Add(doubles.killed, "brought back by the kill", true)
                  .Add(doubles.again, "delivered again otherwise")
                  .text());
  const LeftByKill& left = without.left;
  screen.Line(std::string(17, ' ') + "(counters of worker " + left.worker + " at its kill: " +
              Grouped(left.done) + " done and not committed, " + Grouped(left.begun) + " begun)");
}

int64_t AccountsOf(const PaymentPlan& plan) {
  std::set<uint32_t> accounts;
  for (const Payment& payment : plan.payments) {
    accounts.insert({payment.from, payment.to});
  }
  return static_cast<int64_t>(accounts.size());
}

bool WritePage(const std::string& path, const PageFacts& facts) {
  std::ofstream file(path, std::ios::trunc);
  file << ReportPage(facts);
  return file.flush().good();
}

}  // namespace

Result<bool> CheckAll(const Theatre& theatre, Screen& screen, const DemoOptions& options) {
  auto with = JudgeSide(theatre, theatre.with());
  if (!with) {
    return with.error();
  }
  auto without = JudgeSide(theatre, theatre.without());
  if (!without) {
    return without.error();
  }
  const PaymentPlan& plan = theatre.plan();
  const PageFacts page{.origin = OriginOf(ONCEMQ_VERSION, SystemClock::Instance().Wall()),
                       .payments = static_cast<int64_t>(plan.payments.size()),
                       .messages = static_cast<int64_t>(plan.sends.size()),
                       .accounts = AccountsOf(plan),
                       .seed = options.seed,
                       .redis = options.redis,
                       .with = *std::move(with),
                       .without = *std::move(without)};
  const RunReportFacts& run = options.window ? page.with : page.without;
  const std::vector<Finding>& judged = run.findings;
  std::string head = " 5/6 verify      ";
  if (!options.window) {
    screen.Line(head + "the run without a window:");
    head.assign(head.size(), ' ');
  }
  Show(judged, head, screen);
  ShowDoubles(page.without, screen);
  if (options.window) {
    ShowFailuresWithout(page.without.findings, screen);
  }
  const bool written = WritePage(options.report, page);
  screen.Line((written ? " Report          " : " Report          cannot write ") +
              std::filesystem::absolute(options.report).string());
  screen.Line(VerdictLine(judged, run.workers));
  return std::all_of(judged.begin(), judged.end(), [](const Finding& one) { return one.ok; });
}

}  // namespace oncemq::demo
