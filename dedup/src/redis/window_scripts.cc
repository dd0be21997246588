// SPDX-License-Identifier: Apache-2.0
#include "window_scripts.h"

#include "announce_lua.h"
#include "append_lua.h"
#include "committed_lua.h"
#include "filing_lua.h"
#include "forget_lua.h"
#include "look_lua.h"
#include "oncemq/base/check.h"
#include "oncemq/base/mutant.h"
#include "open_lua.h"
#include "own_lua.h"
#include "preamble_lua.h"
#include "rights_lua.h"
#include "run_lua.h"
#include "scope_lua.h"
#include "settle_lua.h"
#include "sweep_lua.h"
#include "trim_lua.h"
#include "uncertain_lua.h"
#include "write_lua.h"

namespace oncemq {
namespace {

void ReplaceOnce(std::string& text, std::string_view old, std::string_view by) {
  const size_t at = text.find(old);
  ONCEMQ_CHECK(at != text.npos, "the script has the text that is replaced");
  text.replace(at, old.size(), by);
}

// The beginning of each script.
std::string RunPart(std::string_view clock) {
  std::string text(kRunLua);
  ReplaceOnce(text, "@clock@", clock);
  if (ONCEMQ_MUTANT("redis-failback-believed")) {
    ReplaceOnce(text, "'master_replid:(%x+)'", "'no such field'");
  }
  if (ONCEMQ_MUTANT("redis-other-run-unnoticed")) {
    ReplaceOnce(text, "kept[1] and kept[1] ~= run", "false");
  }
  return text;
}

std::string WholeScript(std::string_view clock, std::string_view body, bool files = false) {
  std::string text = RunPart(clock).append(kPreambleLua);
  if (ONCEMQ_MUTANT("redis-loss-unnoticed")) {
    ReplaceOnce(text, "or count < tonumber(ARGV[2])", "");
  }
  if (ONCEMQ_MUTANT("redis-late-announcement-counts")) {
    ReplaceOnce(text, "return tonumber(own) == 0 or", "return true or");
  }
  if (ONCEMQ_MUTANT("redis-kept-for-ever")) {
    ReplaceOnce(text, "ends ~= 0 and ends <= now", "false");
  }
  text.append(files ? kFilingLua : "").append(body);
  if (files && ONCEMQ_MUTANT("redis-filed-by-stamp-alone")) {
    ReplaceOnce(text, "math.max(filed, watermark(partition))", "filed");
  }
  return text;
}

std::string WriteBody() {
  std::string text(kWriteLua);
  if (ONCEMQ_MUTANT("redis-window-look-decides")) {
    ReplaceOnce(text, "  if same then\n    if slice", "  if true then\n    if slice");
  }
  return text;
}

std::string LookBody() {
  std::string text(kLookLua);
  if (ONCEMQ_MUTANT("redis-lease-of-the-claim-ignored")) {
    ReplaceOnce(text, "#offer > 66 and", "false and");
  }
  return text;
}

std::string OpenBody() {
  std::string text(kOpenLua);
  if (ONCEMQ_MUTANT("redis-restart-believed")) {
    ReplaceOnce(text, "known[5] ~= server_run()", "false");
  }
  return text;
}

std::string SweepBody() {
  std::string text(kSweepLua);
  if (ONCEMQ_MUTANT("redis-horizon-not-raised")) {
    ReplaceOnce(text, "redis.call('HSET', KEYS[1], 'horizon', text(horizon))", "");
  }
  return text;
}

std::string AppendBody() {
  std::string text(kAppendLua);
  if (ONCEMQ_MUTANT("redis-owned-append-not-fenced")) {
    ReplaceOnce(text, "or owner(ARGV[4]).own ~= tonumber(ARGV[5])", "");
  }
  if (ONCEMQ_MUTANT("redis-owned-answer-lost-for-ever")) {
    ReplaceOnce(text, "tonumber(ARGV[i + 1]) > number", "true");
  }
  return text;
}

std::string TrimBody() {
  std::string text(kTrimLua);
  if (ONCEMQ_MUTANT("redis-owned-trims-by-an-earlier-answer")) {
    ReplaceOnce(text, "or kept > tonumber(ARGV[6])", "");
  }
  return text;
}

}  // namespace

WindowScripts::WindowScripts(std::string_view clock)
    : look(WholeScript(clock, LookBody())),
      settle(WholeScript(clock, kSettleLua, /*files=*/true)),
      write(WholeScript(clock, WriteBody(), /*files=*/true)),
      forget(WholeScript(clock, kForgetLua, /*files=*/true)),
      own(WholeScript(clock, kOwnLua)),
      open(WholeScript(clock, OpenBody())),
      announce(WholeScript(clock, kAnnounceLua)),
      committed(WholeScript(clock, kCommittedLua)),
      sweep(WholeScript(clock, SweepBody())),
      uncertain(WholeScript(clock, kUncertainLua)),
      append(WholeScript(clock, AppendBody())),
      trim(WholeScript(clock, TrimBody())),
      scope(RunPart(clock).append(kScopeLua)),
      rights(kRightsLua) {}

}  // namespace oncemq
