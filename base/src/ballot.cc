// SPDX-License-Identifier: Apache-2.0
#include "ballot.h"

namespace oncemq {

Result<bool> Ballot::Hold(uint32_t epoch, bool leaves, milliseconds lease, BootTime now) {
  const SwitchBeat mine{++beat_, leaves ? epoch : 0};
  if (const Status said = store_->Say(who_, Format(mine)); !said) {
    return said.error();
  }
  const auto words = store_->Hear();
  if (!words) {
    return words.error();
  }
  std::map<std::string, SwitchBeat> heard;
  for (const auto& [who, word] : *words) {
    if (const auto beat = ParseSwitchBeat(word)) {
      heard.emplace(who, *beat);
    }
  }
  if (!votes_) {
    votes_.emplace(lease);
  }
  votes_->Heard(heard, now);
  for (const std::string& who : votes_->Dead(now)) {
    static_cast<void>(store_->Bury(who));
  }
  living_ = votes_->living(now);
  return votes_->Quorum(epoch, now);
}

}  // namespace oncemq
