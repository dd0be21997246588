// SPDX-License-Identifier: Apache-2.0
#include "oncemq/base/raise_record.h"

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "oncemq/base/check.h"

namespace oncemq {
namespace {

Error Invalid(const char* why) {
  return {Code::kInvalid, Effect::kNone, why};
}

// S2. A longer lease alone is a change, too.
Result<SwitchRecord> Raised(const SwitchRecord& before, const RaiseOptions& least) {
  const milliseconds longest = std::max(before.longest, least.longest.value_or(before.longest));
  if (before.epoch >= least.epoch && before.longest == longest) {
    return before;
  }
  if (before.epoch == std::numeric_limits<uint32_t>::max()) {
    return Invalid("this was the last epoch");
  }
  const std::vector<std::string> names = StoresInForce(before);
  if (least.seals && !std::all_of(names.begin(), names.end(), least.seals)) {
    return Invalid(
        "a store in force cannot be sealed: what is held there would be held twice in another "
        "epoch");
  }
  SwitchRecord now = before;
  now.epoch = std::max(least.epoch, before.epoch + 1);
  ONCEMQ_CHECK(now.epoch > before.epoch, "a raised record has a later epoch (S2)");
  now.longest = longest;
  now.why = least.why;
  return now;
}

}  // namespace

Result<RaisedRecord> RaiseRecord(SwitchStore& store, const RaiseOptions& least) {
  if (least.epoch > kHighestRaise) {
    return Invalid("behind such an epoch there would be too few for switches to come");
  }
  const auto text = store.Read();
  if (!text) {
    return text.error();
  }
  RaisedRecord raised;
  if (text->text.empty()) {
    raised.now = {.epoch = least.epoch, .from = least.from, .why = least.why};
    raised.now.longest = least.longest.value_or(raised.now.longest);
  } else {
    const auto before = ParseSwitchRecord(text->text);
    const auto now = before ? Raised(*before, least) : before;
    if (!now) {
      return now.error();
    }
    raised = {*before, *now};
    if (*now == *before) {
      return raised;
    }
  }
  const auto fits = ParseSwitchRecord(Format(raised.now));
  if (!fits) {
    return Invalid("epoch, store or longest lease are none that a record can have");
  }
  raised.now = *fits;
  const auto swapped = store.Swap(Format(raised.now), text->version);
  if (!swapped) {
    return swapped.error();
  }
  if (!*swapped) {
    return Error{Code::kFenced, Effect::kNone, "somebody else changed the record at the same time"};
  }
  return raised;
}

}  // namespace oncemq
