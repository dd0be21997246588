// SPDX-License-Identifier: Apache-2.0
// Drives a run machine by hand: each test answers for window, handler and journal as it likes.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "oncemq/framework/run_machine.h"

namespace oncemq {

inline const Error kLostReply{Code::kTimeout, Effect::kUnknown, "no reply"};

class RunMachineTest : public ::testing::Test {
 protected:
  void Use(RunPolicy policy) {
    machine_ = std::make_unique<RunMachine>(policy, TokenSource(9, 100));
  }
  RunMachineTest() { Use({.level = Level::kGuarded}); }

  RunItem& Add(uint32_t lane, std::string_view id, Stage stage = Stage::kFresh, bool copy = false,
               uint64_t token = 0, uint32_t fingerprint = 0) {
    RunItem item;
    item.slot = static_cast<uint32_t>(run_.items.size());
    item.lane = lane;
    item.id = id;
    item.stage = stage;
    item.copy = copy;
    item.token.attempt = token;
    item.fingerprint = fingerprint;
    return run_.items.emplace_back(item);
  }
  void Start() {
    run_.safe_until = BootTime::max();
    machine_->Start(run_);
  }
  void Claim(std::vector<Answer> answers) {
    ASSERT_EQ(machine_->step(), RunStep::kClaim);
    ASSERT_EQ(machine_->claims().size(), answers.size());
    for (size_t i = 0; i < answers.size(); i++) {
      machine_->claim_answers()[i] = ClaimAnswer{};
      machine_->claim_answers()[i].answer = answers[i];
      machine_->claim_answers()[i].attempt = 1;
    }
    machine_->Claimed({});
  }
  // Handles everything; ids that `outcomes` doesn't name are done.
  std::vector<std::string> Handle(std::map<std::string, Outcome> outcomes = {}) {
    EXPECT_EQ(machine_->step(), RunStep::kHandle);
    std::vector<std::string> handled;
    while (const Grant* grant = machine_->Next(BootTime{})) {
      handled.emplace_back(grant->item->id);
      const auto wanted = outcomes.find(handled.back());
      machine_->Handled(wanted == outcomes.end() ? Outcome(Done{}) : Outcome(wanted->second));
    }
    return handled;
  }
  void Complete(Change change = Change::kMade) {
    ASSERT_EQ(machine_->step(), RunStep::kComplete);
    for (size_t i = 0; i < machine_->completions().size(); i++) {
      machine_->changes()[i] = change;
    }
    machine_->Completed({});
  }
  std::vector<std::string> Release(const Status& status = {}) {
    EXPECT_EQ(machine_->step(), RunStep::kRelease);
    std::vector<std::string> released;
    for (const ReleaseRequest& request : machine_->releases()) {
      released.emplace_back(request.id);
    }
    machine_->Released(status);
    return released;
  }
  Fate FateOf(size_t i) const {
    EXPECT_EQ(machine_->step(), RunStep::kSettled);
    return machine_->settlements()[i].fate;
  }

  std::unique_ptr<RunMachine> machine_;
  oncemq::Run run_;
};

}  // namespace oncemq
