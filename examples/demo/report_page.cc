// SPDX-License-Identifier: Apache-2.0
#include "report_page.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <string_view>

#include "chart.h"
#include "markup.h"
#include "page_style.h"
#include "words.h"

namespace oncemq::demo {
namespace {

constexpr size_t kOpenChecks = 4;  // those that need no knowledge of queues; the others are folded
constexpr char kWith[] = "With the window";
constexpr char kWithout[] = "Without a window";

std::string PageHead(const RunOrigin& origin) {
  std::string out =
      "<!DOCTYPE html>\n"
      "<html lang=\"en\" xmlns=\"http://www.w3.org/1999/xhtml\">\n<head>\n"
      "<meta charset=\"utf-8\"/>\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n";
  out += Element("title", "oncemq " + origin.version + ", demo of " + origin.date);
  return out.append("\n<style>").append(kPageStyle).append("</style>\n</head>\n<body>\n");
}

bool AllOk(const RunReportFacts& run) {
  return std::all_of(run.findings.begin(), run.findings.end(),
                     [](const Finding& finding) { return finding.ok; });
}

std::string Tile(std::string_view name, const RunReportFacts& run) {
  const bool ok = AllOk(run);
  std::string out = ok ? "<div class=\"run ok\">" : "<div class=\"run\">";
  out += Element("span", name) + Element("b", ok ? "verdict: OK" : "verdict: FAILED");
  out += Element("span", Grouped(run.doubles.count()) + " double bookings, " +
                             MoneyOf(run.doubles.cents()) + " paid twice");
  return out + "</div>\n";
}

std::string Intro(const PageFacts& facts) {
  std::string out = Element("h1", "oncemq: a worker was killed in the middle of a payment");
  out += Element("p", OriginLine(facts.origin), "class=\"origin\"");
  out += Element(
      "p",
      "A message queue delivers a message again when it is not sure: the producer sends it twice, "
      "or a process dies before it could say that it was done. Here " +
          Grouped(facts.payments) + " payments between " + Grouped(facts.accounts) +
          " accounts went through a queue; the producer sent " +
          Grouped(facts.messages - facts.payments) +
          " of them twice, and a worker process was killed (SIGKILL) inside a handler. Two groups "
          "of workers read the same messages: one with oncemq's window of ids, one without.");
  out += "<div class=\"runs\">\n" + Tile(kWith, facts.with) + Tile(kWithout, facts.without) +
         "</div>\n";
  return out;
}

std::string CountersOf(const LeftByKill& left) {
  if (left.worker.empty()) {
    return "no worker was killed";
  }
  return "worker " + left.worker + "'s own counters say " + Grouped(left.done) +
         " done and not committed, " + Grouped(left.begun) + " begun";
}

// Compares the counters with the figures of the logs, and says no more than both show.
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
  std::string out = Element("h2", "Both runs over time");
  out += Element(
      "p",
      "Messages in each half second. Suppressed: recognised as done, so not booked again. Shaded: "
      "the consumer group changes, with and without a window; the label gives the reason and the "
      "time. The stream pauses for that, and for a moment before until all is committed. It does "
      "not pause before the kill.");
  out += Element("p", "The charts are wider than this screen: scroll them sideways.",
                 "class=\"hint\"");
  out +=
      Element("h3", kWith) + "<div class=\"chart\" tabindex=\"0\">" +
      Chart(facts.with.timeline,
            {"Applied and suppressed messages over time, with the window", "applied", "suppressed"},
            scale) +
      "</div>\n";
  out +=
      Element("h3", kWithout) + "<div class=\"chart without\" tabindex=\"0\">" +
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

const Finding* Find(const RunReportFacts& run, std::string_view what) {
  const auto found = std::find_if(run.findings.begin(), run.findings.end(),
                                  [&](const Finding& finding) { return finding.what == what; });
  return found == run.findings.end() ? nullptr : &*found;
}

// A narrow screen shows the name of the run before the text.
std::string Cell(const RunReportFacts& run, std::string_view what, std::string_view name) {
  const Finding* found = Find(run, what);
  if (found == nullptr) {
    return "<td></td>";
  }
  return "<td data-run=\"" + Escaped(name) + "\">" +
         Element("span", found->ok ? "OK" : "FAILED",
                 found->ok ? "class=\"yes\"" : "class=\"no\"") +
         " " + Escaped(found->text) + "</td>";
}

std::string ChecksTable(const PageFacts& facts, std::span<const Finding> checks) {
  std::string out = "<table>\n<tr class=\"heads\">" + Element("th", "check") +
                    Element("th", kWith) + Element("th", kWithout) + "</tr>\n";
  for (const Finding& check : checks) {
    out += "<tr>" + Element("td", check.what) + Cell(facts.with, check.what, kWith) +
           Cell(facts.without, check.what, kWithout) + "</tr>\n";
  }
  return out + "</table>\n";
}

// "9 OK, 2 FAILED": these checks in one run.
std::string Tally(const RunReportFacts& run, std::span<const Finding> checks) {
  int64_t ok = 0;
  int64_t failed = 0;
  for (const Finding& check : checks) {
    const Finding* found = Find(run, check.what);
    ok += found != nullptr && found->ok ? 1 : 0;
    failed += found != nullptr && !found->ok ? 1 : 0;
  }
  return Grouped(ok) + " OK" + (failed > 0 ? ", " + Grouped(failed) + " FAILED" : "");
}

// A check that fails with the window is never out of sight.
std::string FoldedChecks(const PageFacts& facts, std::span<const Finding> checks) {
  if (checks.empty()) {
    return {};
  }
  const bool ok =
      std::all_of(checks.begin(), checks.end(), [](const Finding& finding) { return finding.ok; });
  return (ok ? "<details>\n" : "<details open=\"open\">\n") +
         Element("summary", Grouped(static_cast<int64_t>(checks.size())) +
                                " more checks, for readers that know message queues. With the "
                                "window: " +
                                Tally(facts.with, checks) +
                                ". Without a window: " + Tally(facts.without, checks) + ".") +
         ChecksTable(facts, checks) + "</details>\n";
}

std::string Checks(const PageFacts& facts) {
  std::string out = Element("h2", "The verdict, check by check");
  out += Element("p",
                 "The same judge for both. It reads the books, the workers' counters and what the "
                 "broker keeps of the group's commits, and compares them with what was sent.");
  const std::span<const Finding> all(facts.with.findings);
  const std::span<const Finding> first = all.first(std::min(kOpenChecks, all.size()));
  return out + ChecksTable(facts, first) + FoldedChecks(facts, all.subspan(first.size()));
}

constexpr char kLimitsOnDisk[] =
    "All workers run on one host and share one directory. The run with the window is level atomic: "
    "the ledger lies in the window's own store, so that booking and id are one write. Rows of a "
    "PostgreSQL database can have this level too, with a window there (scripts/demo ledger shows "
    "it). Any other effect cannot have this level: it is guarded where its target stores the id "
    "with the effect, and opaque (at least once, and counted) where nobody can check it. The "
    "broker is embedded in the demo, and no real one.";
constexpr char kLimitsInRedis[] =
    "All workers run on one host, and share nothing but a Redis. The run with the window is level "
    "guarded: the ledger stores the id with the booking, and knows it again. An effect that nobody "
    "can check is opaque instead (at least once, and counted). The broker is embedded in the demo, "
    "and no real one. The Redis of this run lost nothing.";

std::string Limits(bool redis) {
  return Element("h2", "What this does not show") +
         Element("p", redis ? kLimitsInRedis : kLimitsOnDisk) +
         Element("p",
                 "Where each effect is a row of one database, a UNIQUE column for the id, in the "
                 "effect's own transaction, keeps all of these copies out, those after the kill "
                 "too. It does not keep the order of an account through retries, it does not see "
                 "to it that nothing is missing, and it does not reach effects elsewhere.");
}

constexpr char kKillOnDisk[] =
    "With the window, booking and id are one write (level atomic): what the killed worker had not "
    "finished left nothing behind. ";
constexpr char kKillInRedis[] =
    "What the killed worker had booked and not finished, the ledger knew when the handler was "
    "called again (level guarded). ";

std::string Words(const PageFacts& facts) {
  return Element("h2", "Words") +
         Element("p",
                 "Applied: the handler ran, and its booking is in the ledger. Suppressed: the "
                 "window knew the id, so the handler did not run. Open: given to a worker and not "
                 "finished. " +
                     std::string(facts.redis ? kKillInRedis : kKillOnDisk) +
                     "What it had finished was known to the worker that took over.") +
         Element("p", "Accounts, amounts and copies are random choices from seed " +
                          std::to_string(facts.seed) + "; the same seed repeats them.");
}

}  // namespace

std::string ReportPage(const PageFacts& facts) {
  return PageHead(facts.origin) + Intro(facts) + Pictures(facts) + Checks(facts) +
         Limits(facts.redis) + Words(facts) + "</body>\n</html>\n";
}

}  // namespace oncemq::demo
