// SPDX-License-Identifier: Apache-2.0
#include "report_page.h"

#include <algorithm>
#include <string_view>

#include "chart.h"
#include "markup.h"
#include "words.h"

namespace oncemq::demo {
namespace {

constexpr std::string_view kHead = R"(<!DOCTYPE html>
<html lang="en" xmlns="http://www.w3.org/1999/xhtml">
<head>
<meta charset="utf-8"/>
<meta name="viewport" content="width=device-width"/>
<title>oncemq demo: each payment once</title>
<style>
body { font: 16px/1.5 sans-serif; color: #1c2733; background: #fff; max-width: 960px;
  margin: 2em auto; padding: 0 1em; }
h1 { font-size: 1.6em; } h2 { font-size: 1.2em; margin-top: 2em; }
.runs { display: flex; flex-wrap: wrap; gap: 1em; }
.run { flex: 1 1 20em; padding: 0.6em 1em; border-left: 6px solid #b3261e; background: #f5f7fa; }
.run.ok { border-color: #1b7f4b; }
.run b { display: block; font-size: 1.3em; }
table { border-collapse: collapse; width: 100%; font-size: 0.85em; }
th, td { text-align: left; vertical-align: top; padding: 0.35em 0.6em;
  border-bottom: 1px solid #d5dbe2; }
.yes { color: #1b7f4b; font-weight: bold; } .no { color: #b3261e; font-weight: bold; }
svg { width: 100%; height: auto; font: 12px sans-serif; }
.effects { fill: #2f6fb0; } .others { fill: #e08a1e; }
.without .others { fill: #b3261e; }
.grid { stroke: #d5dbe2; } .at { stroke: #1c2733; stroke-dasharray: 4 3; }
.kill .at { stroke: #b3261e; stroke-width: 2; stroke-dasharray: none; }
.kill text { fill: #b3261e; font-weight: bold; }
</style>
</head>
<body>
)";

bool AllOk(const RunReportFacts& run) {
  return std::all_of(run.findings.begin(), run.findings.end(),
                     [](const Finding& finding) { return finding.ok; });
}

std::string Tile(std::string_view name, const RunReportFacts& run) {
  const bool ok = AllOk(run);
  std::string out = ok ? "<div class=\"run ok\">" : "<div class=\"run\">";
  out += Element("span", name) + Element("b", ok ? "verdict: OK" : "verdict: FAILED");
  out += Element("span", Grouped(run.doubles.count()) + " bookings too many, " +
                             MoneyOf(run.doubles.cents()) + " moved that nobody sent");
  return out + "</div>\n";
}

std::string Intro(const PageFacts& facts) {
  std::string out = Element("h1", "A worker was killed in the middle of a payment");
  out += Element(
      "p",
      "A message queue delivers a message again when it is not sure: the producer sends it twice, "
      "a "
      "process dies before it could say that it was done. Here " +
          Grouped(facts.payments) + " payments between " + Grouped(facts.accounts) +
          " accounts went through a queue; the producer sent " +
          Grouped(facts.messages - facts.payments) +
          " of them twice, and a worker process was killed (SIGKILL) inside a handler. Two groups "
          "of workers read the same messages: one with oncemq's window of ids, one without.");
  out += "<div class=\"runs\">\n" + Tile("With the window", facts.with) +
         Tile("Without a window", facts.without) + "</div>\n";
  return out;
}

std::string CountersOf(const LeftByKill& left) {
  if (left.worker.empty()) {
    return "no worker was killed";
  }
  return "worker " + left.worker + "'s own counters say " + Grouped(left.done) +
         " done and not committed, " + Grouped(left.begun) + " begun";
}

// Beside the figures of the logs; what follows from them is said where it is so.
std::string WhatBecameOf(const PageFacts& facts) {
  const LeftByKill& left = facts.without.left;
  std::string out = "Without a window: " + CountersOf(left);
  out += facts.without.doubles.killed == left.done + left.begun ? "; all of it was booked again. "
                                                                : ". ";
  out += "With the window: " + CountersOf(facts.with.left);
  return out + (AllOk(facts.with) ? "; the former were recognised by the next owner of their "
                                    "partitions, and of the latter nothing had been written."
                                  : ".");
}

std::string Pictures(const PageFacts& facts) {
  const ChartScale scale = ScaleOf(facts.with.timeline, facts.without.timeline);
  std::string out = Element("h2", "What happened when");
  out += Element(
      "p",
      "Messages in each half second. Suppressed: recognised as done, so not booked again. The "
      "stream pauses while a group changes, and not before the kill.");
  out +=
      Element("h3", "With the window") +
      Chart(facts.with.timeline,
            {"Applied and suppressed messages over time, with the window", "applied", "suppressed"},
            scale);
  out +=
      Element("h3", "Without a window") + "<div class=\"without\">" +
      Chart(facts.without.timeline,
            {"Bookings over time, without a window", "booked for the first time", "booked again"},
            scale) +
      "</div>\n";
  const Doubles& doubles = facts.without.doubles;
  out += Element(
      "p",
      Sum("Without a window " + Grouped(doubles.count()) + " bookings too many")
              .Add(doubles.resent,
                   "copies that the producer sent (" + MoneyOf(doubles.resent_cents) + ")", true)
              .Add(doubles.killed,
                   "that the kill brought back (" + MoneyOf(doubles.killed_cents) + ")", true)
              .Add(doubles.again,
                   "delivered again otherwise (" + MoneyOf(doubles.again_cents) + ")")
              .text() +
          ", by the log that it books in. " + WhatBecameOf(facts));
  return out;
}

std::string Cell(const RunReportFacts& run, const std::string& what) {
  const auto found = std::find_if(run.findings.begin(), run.findings.end(),
                                  [&](const Finding& finding) { return finding.what == what; });
  if (found == run.findings.end()) {
    return "<td></td>";
  }
  return "<td>" +
         Element("span", found->ok ? "OK" : "FAILED",
                 found->ok ? "class=\"yes\"" : "class=\"no\"") +
         " " + Escaped(found->text) + "</td>";
}

std::string Checks(const PageFacts& facts) {
  std::string out = Element("h2", "The verdict, check by check");
  out += Element("p",
                 "The same judge for both. It reads the books, the workers' counters and what the "
                 "broker keeps of the group's commits, and compares them with what was sent.");
  out += "<table>\n<tr>" + Element("th", "check") + Element("th", "with the window") +
         Element("th", "without a window") + "</tr>\n";
  for (const Finding& finding : facts.with.findings) {
    out += "<tr>" + Element("td", finding.what) + Cell(facts.with, finding.what) +
           Cell(facts.without, finding.what) + "</tr>\n";
  }
  return out + "</table>\n";
}

std::string Limits() {
  return Element("h2", "What this does not show") +
         Element("p",
                 "All workers run on one host and share one directory. The run with the window is "
                 "level atomic: the ledger lies in the window's own store, so that booking and id "
                 "are one write. An effect that lives elsewhere, in a SQL database or behind a "
                 "call, cannot have this level: it is guarded where its target stores the id with "
                 "the effect, and opaque (at least once, and counted) where nobody can check it. "
                 "The broker is embedded in the demo, and no real one.") +
         Element("p",
                 "Where each effect is a row of one database, a UNIQUE column for the id, in the "
                 "effect's own transaction, keeps all of these copies out, those after the kill "
                 "too. It does not keep the order of an account through retries, it does not see "
                 "to it that nothing is missing, and it does not reach effects elsewhere.");
}

std::string Words(const PageFacts& facts) {
  return Element("h2", "Words") +
         Element("p",
                 "Applied: the handler ran, and its booking is in the ledger. Suppressed: the "
                 "window knew the id, so the handler did not run. Open: given to a worker and not "
                 "finished. With the window, booking and id are one write (level atomic): what the "
                 "killed worker had not finished left nothing behind, and what it had finished was "
                 "known to the worker that took over. Drawn with seed " +
                     std::to_string(facts.seed) + ".");
}

}  // namespace

std::string ReportPage(const PageFacts& facts) {
  return std::string(kHead) + Intro(facts) + Pictures(facts) + Checks(facts) + Limits() +
         Words(facts) + "</body>\n</html>\n";
}

}  // namespace oncemq::demo
