// SPDX-License-Identifier: Apache-2.0
#include "window_scripts.h"

#include "announce_lua.h"
#include "append_lua.h"
#include "committed_lua.h"
#include "filing_lua.h"
#include "forget_lua.h"
#include "look_lua.h"
#include "oncemq/base/check.h"
#include "open_lua.h"
#include "owner_epoch_lua.h"
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
  return text;
}

std::string CompleteScript(std::string_view clock, std::string_view body, bool files = false) {
  std::string text = RunPart(clock).append(kPreambleLua);
  text.append(files ? kFilingLua : "").append(body);
  return text;
}

}  // namespace

WindowScripts::WindowScripts(std::string_view clock)
    : look(CompleteScript(clock, kLookLua)),
      settle(CompleteScript(clock, kSettleLua, /*files=*/true)),
      write(CompleteScript(clock, kWriteLua, /*files=*/true)),
      forget(CompleteScript(clock, kForgetLua, /*files=*/true)),
      owner_epoch(CompleteScript(clock, kOwnerEpochLua)),
      open(CompleteScript(clock, kOpenLua)),
      announce(CompleteScript(clock, kAnnounceLua)),
      committed(CompleteScript(clock, kCommittedLua)),
      sweep(CompleteScript(clock, kSweepLua)),
      uncertain(CompleteScript(clock, kUncertainLua)),
      append(CompleteScript(clock, kAppendLua)),
      trim(CompleteScript(clock, kTrimLua)),
      scope(RunPart(clock).append(kScopeLua)),
      rights(kRightsLua) {}

}  // namespace oncemq
