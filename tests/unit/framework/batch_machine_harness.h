// SPDX-License-Identifier: Apache-2.0
// Drives a batch machine by hand: each test answers for window, handler and journal as it likes.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "oncemq/framework/batch_machine.h"

namespace oncemq {

inline const Error kLostReply{Code::kTimeout, Effect::kUnknown, "no reply"};

class BatchMachineTest : public ::testing::Test {
 protected:
  void Use(BatchPolicy policy) {
    machine_ = std::make_unique<BatchMachine>(policy, TokenSource(9, 100));
  }
  BatchMachineTest() { Use({.level = Level::kGuarded}); }

  BatchItem& Add(uint32_t lane, std::string_view id, Stage stage = Stage::kFresh, bool copy = false,
                 uint64_t token = 0, uint32_t fingerprint = 0) {
    BatchItem item;
    item.slot = static_cast<uint32_t>(batch_.items.size());
    item.lane = lane;
    item.id = id;
    item.stage = stage;
    item.copy = copy;
    item.token.attempt = token;
    item.fingerprint = fingerprint;
    return batch_.items.emplace_back(item);
  }
  void Start() {
    batch_.safe_until = BootTime::max();
    machine_->Start(batch_);
  }
  void Claim(std::vector<ClaimVerdict> answers) {
    ASSERT_EQ(machine_->step(), BatchStep::kClaim);
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
    EXPECT_EQ(machine_->step(), BatchStep::kHandle);
    std::vector<std::string> handled;
    while (const Grant* grant = machine_->Next(BootTime{})) {
      handled.emplace_back(grant->item->id);
      const auto wanted = outcomes.find(handled.back());
      machine_->Handled(wanted == outcomes.end() ? Outcome(Done{}) : Outcome(wanted->second));
    }
    return handled;
  }
  void Complete(MarkerChange change = MarkerChange::kMade) {
    ASSERT_EQ(machine_->step(), BatchStep::kComplete);
    for (size_t i = 0; i < machine_->completions().size(); i++) {
      machine_->changes()[i] = change;
    }
    machine_->Completed({});
  }
  std::vector<std::string> Release(const Status& status = {}) {
    EXPECT_EQ(machine_->step(), BatchStep::kRelease);
    std::vector<std::string> released;
    for (const ReleaseRequest& request : machine_->releases()) {
      released.emplace_back(request.id);
    }
    machine_->Released(status);
    return released;
  }
  DeliveryFate FateOf(size_t i) const {
    EXPECT_EQ(machine_->step(), BatchStep::kSettled);
    return machine_->settlements()[i].fate;
  }

  std::unique_ptr<BatchMachine> machine_;
  oncemq::MessageBatch batch_;
};

}  // namespace oncemq
