// SPDX-License-Identifier: Apache-2.0
#include "drive.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "scripted_source.h"
#include "support/log_file.h"

namespace oncemq::testing {
namespace {

TEST(Drive, PastSafeUntilNoHandlerStartsAlsoRightAfterAQuickOne) {
  const auto wake = *Wake::Open();
  Script script(*wake);
  ScriptedSource source(script);
  Job job(RunPolicy{.window = false}, TokenSource(1), source.NewView());
  ManualClock clock;
  job.run.safe_until = clock.Boot() + milliseconds(10);
  const Script::Record record;
  for (uint32_t i = 0; i < 3; i++) {
    RunItem item;
    item.slot = item.lane = i;
    item.message = const_cast<void*>(static_cast<const void*>(&record));
    job.run.items.push_back(item);
  }
  int calls = 0;
  StoreErrors errors;
  const Handler stopped_behind_the_first = [&](const Message&, Context&) -> Outcome {
    calls++;
    clock.Advance(milliseconds(20));  // SIGSTOP, SIGCONT
    return Done{};
  };
  EXPECT_EQ(DriveRun(job, stopped_behind_the_first, {nullptr, nullptr, &clock, &errors}),
            Driven::kSettled);
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(job.machine.settlements()[0].fate, Fate::kApplied);
  EXPECT_EQ(job.machine.settlements()[1].fate, Fate::kWithdrawn);
}

TEST(Drive, TheWordsOfAnExceptionAreTheReasonOfTheRetry) {
  const auto wake = *Wake::Open();
  Script script(*wake);
  ScriptedSource source(script);
  Job job(RunPolicy{.window = false}, TokenSource(1), source.NewView());
  ManualClock clock;
  job.run.safe_until = BootTime::max();
  const Script::Record record;
  for (uint32_t i = 0; i < 2; i++) {
    RunItem item;
    item.slot = item.lane = i;
    item.message = const_cast<void*>(static_cast<const void*>(&record));
    job.run.items.push_back(item);
  }
  int calls = 0;
  StoreErrors errors;
  const Handler throws = [&calls](const Message&, Context&) -> Outcome {
    if (++calls == 1) {
      throw std::runtime_error("no connection");
    }
    throw 42;
  };
  ASSERT_EQ(DriveRun(job, throws, {nullptr, nullptr, &clock, &errors}), Driven::kSettled);
  EXPECT_EQ(job.machine.settlements()[0].fate, Fate::kRetry);
  EXPECT_EQ(job.machine.settlements()[0].text, "no connection");
  EXPECT_EQ(job.machine.settlements()[1].text, "something that is no std::exception");
}

TEST(Drive, AnExceptionIsLoggedWithTheIdAndTheAttemptOfItsMessage) {
  const auto wake = *Wake::Open();
  Script script(*wake);
  ScriptedSource source(script);
  Job job(RunPolicy{.window = false}, TokenSource(1), source.NewView());
  ManualClock clock;
  job.run.safe_until = BootTime::max();
  const Script::Record record;
  RunItem item;
  item.id = "pay-7";
  item.message = const_cast<void*>(static_cast<const void*>(&record));
  job.run.items.push_back(item);
  StoreErrors errors;
  const Handler throws = [](const Message&, Context&) -> Outcome {
    throw std::runtime_error("no connection");
  };
  LogFile log;
  ASSERT_EQ(DriveRun(job, throws, {nullptr, nullptr, &clock, &errors}), Driven::kSettled);
  const std::string text = log.End();
  EXPECT_NE(text.find("the handler threw"), text.npos) << text;
  EXPECT_NE(text.find(R"("id":"pay-7","attempt":1,)"), text.npos) << text;
}

}  // namespace
}  // namespace oncemq::testing
