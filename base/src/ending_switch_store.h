// SPDX-License-Identifier: Apache-2.0
// EndingSwitchStore: a SwitchStore of which no call is begun any more once `end` is requested. What
// is under way then is the last, wherever in a turn, or in a loop over many, it was made.
//
// Thread safety: any thread.
#pragma once

#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>

#include "oncemq/base/switch_store.h"

namespace oncemq {

class EndingSwitchStore final : public SwitchStore {
 public:
  EndingSwitchStore(std::shared_ptr<SwitchStore> store, std::stop_token end)
      : store_(std::move(store)), end_(std::move(end)) {}
  // For what has to be said at the end.
  SwitchStore& past_the_end() const { return *store_; }

  Result<Text> Read() override { return Ended() ? Result<Text>(EndedError()) : store_->Read(); }
  Result<bool> Swap(std::string_view text, uint64_t version) override {
    return Ended() ? Result<bool>(EndedError()) : store_->Swap(text, version);
  }
  Status Await(uint64_t version, BootTime until, const std::stop_token& stop) override {
    return Ended() ? Status(EndedError()) : store_->Await(version, until, stop);
  }
  Status Say(std::string_view who, std::string_view word) override {
    return Ended() ? Status(EndedError()) : store_->Say(who, word);
  }
  Result<std::map<std::string, std::string>> Hear() override {
    using Words = Result<std::map<std::string, std::string>>;
    return Ended() ? Words(EndedError()) : store_->Hear();
  }
  Status Bury(std::string_view who) override {
    return Ended() ? Status(EndedError()) : store_->Bury(who);
  }

 private:
  bool Ended() const { return end_.stop_requested(); }
  static Error EndedError() {
    return {Code::kUnavailable, Effect::kNone, "whoever asks for the switch record ends"};
  }

  const std::shared_ptr<SwitchStore> store_;
  const std::stop_token end_;
};

}  // namespace oncemq
