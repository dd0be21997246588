// SPDX-License-Identifier: Apache-2.0
// A poll loop with crew and keeper, on a scripted source.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <thread>

#include "crew.h"
#include "keeper.h"
#include "poll_loop.h"
#include "scripted_source.h"

namespace oncemq::testing {

class RunningLoop {
 public:
  RunningLoop(RuntimeOptions options, Window* window, Handler handler,
              OutcomeLog* journal = nullptr, const LockSource& locks = {})
      : wake_(*Wake::Open()), script_(*wake_) {
    options.policy.window = window != nullptr;
    if (window != nullptr) {
      options.policy.level = window->capabilities().level;
    }
    const Clock& clock = SystemClock::Instance();
    loop_ = std::make_shared<PollLoop>(options, std::make_unique<ScriptedSource>(script_));
    crew_.emplace(std::make_shared<const Handler>(std::move(handler)),
                  DriveTools{window, journal, &clock, &loop_->errors(), locks}, *wake_,
                  options.spare_workers);
    const auto poll = [loop = loop_] { loop->Poll(); };
    const bool remote = window != nullptr && window->capabilities().remote;
    keeper_.emplace(Keeper::Options{options.poll_budget, options.renew_every, remote}, window,
                    clock, loop_->errors(), stops_,
                    [this, poll] { return crew_->Spawn("poll", poll); });
    loop_->Connect({window, &*crew_, &*keeper_, wake_.get(), journal, &script_.clock(), 1});
    EXPECT_TRUE(keeper_->Start());
    EXPECT_TRUE(crew_->Spawn("poll", poll));
  }
  ~RunningLoop() { Stop(); }

  Script& script() { return script_; }
  RunReport Now() const { return loop_->Report(); }
  Result<std::vector<FoundMessage>> FindOpen(std::string_view id) const {
    return loop_->FindOpen(id, std::chrono::seconds(20));
  }
  // Without asking for it: the loop ends by itself.
  const RunReport& AwaitEnd() {
    if (!report_) {
      loop_->WaitUntilEnded();
      keeper_.reset();
      bool ended = crew_->End(loop_->jobs());
      ended &= stops_.End(std::chrono::milliseconds(100));
      report_ = loop_->Finish(ended);
    }
    return *report_;
  }
  const RunReport& Stop() {
    loop_->RequestStop();
    return AwaitEnd();
  }

 private:
  std::unique_ptr<Wake> wake_;
  Script script_;
  std::shared_ptr<PollLoop> loop_;
  StopCaller stops_;
  std::optional<Crew> crew_;
  std::optional<Keeper> keeper_;
  std::optional<RunReport> report_;
};

}  // namespace oncemq::testing
