// SPDX-License-Identifier: Apache-2.0
#include "lock_test.h"

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <string>

namespace oncemq {
namespace conformance {
namespace {

constexpr milliseconds kPatience{10'000};
constexpr int kMostRounds = 5;

// Tests and engines register while static objects are initialised, in any order: whichever comes
// second meets all of the first.
struct Registry {
  std::deque<LockCase> cases;
  std::deque<LockEngineCase> engines;
};

Registry& TheRegistry() {
  static Registry registry;
  return registry;
}

void Register(const LockCase& test, const LockEngineCase& engine) {
  if (test.applies(engine.capabilities)) {
    testing::RegisterTest((engine.name + "/LockConformance").c_str(), test.name, nullptr, nullptr,
                          test.file, test.line,
                          [&engine, make = test.make]() -> LockTest* { return make(engine); });
  }
}

template <class Answer>
Answer One(LockEngine& engine,
           Status (LockEngine::*call)(std::span<const LockClaim>, std::span<Answer>),
           const LockClaim& claim) {
  Answer answer{};
  const Status status = (engine.*call)({&claim, 1}, {&answer, 1});
  EXPECT_TRUE(status.has_value()) << ToString(status.error());
  return answer;
}

}  // namespace

bool AddLockCase(const LockCase& added) {
  TheRegistry().cases.push_back(added);
  for (const LockEngineCase& engine : TheRegistry().engines) {
    Register(added, engine);
  }
  return true;
}

void LockTest::SetUp() {
  auto opened = case_.open();
  ASSERT_TRUE(opened.has_value()) << ToString(opened.error());
  engine_ = *std::move(opened);
}

int LockTest::rounds() const {
  const char* all = std::getenv("ONCEMQ_GIVING_UP_ROUNDS");
  return all == nullptr ? case_.giving_up_rounds : std::max(1, std::atoi(all));
}

Requester LockTest::NewReader(std::string_view name) {
  Requester reader = New(name);
  reader.mode = LockMode::kShared;
  return reader;
}

Requester LockTest::NewCounted(uint32_t limit) {
  Requester counted = New();
  counted.mode = LockMode::kCounted;
  counted.limit = limit;
  return counted;
}

Requester LockTest::NewBrief(milliseconds lasts) {
  Requester brief = New();
  brief.lasts = lasts;
  return brief;
}

AcquireRequest LockTest::RequestOf(const Requester& requester) {
  return {requester.name,  requester.token, requester.mode,  requester.queue,
          requester.barge, requester.lasts, requester.lasts, "a test",
          requester.epoch, false,           requester.limit};
}

void LockTest::UntilInTime(const std::function<bool(milliseconds)>& round) {
  milliseconds lasts = lease();
  for (int i = 0; i < kMostRounds && !HasFailure(); i++) {
    if (round(lasts)) {
      return;
    }
    lasts = std::min(lasts * 2, kLasting / 2);
  }
  EXPECT_TRUE(HasFailure()) << "no round was in time";
}

LockAnswer LockTest::Request(const Requester& requester) {
  const Result<LockAnswer> answer = engine_->Request(RequestOf(requester));
  EXPECT_TRUE(answer.has_value()) << ToString(answer.error());
  return answer.value_or(LockAnswer{});
}

Extended LockTest::Extend(const Requester& requester) {
  return One(*engine_, &LockEngine::Extend, {requester.name, requester.token, requester.lasts});
}

Freed LockTest::Free(const Requester& requester) {
  return One(*engine_, &LockEngine::Free, {requester.name, requester.token});
}

void LockTest::Await(const Requester& requester, milliseconds within, const std::stop_token& stop) {
  const Status done =
      engine_->Await(RequestOf(requester), SystemClock::Instance().Boot() + within, stop);
  EXPECT_TRUE(done.has_value()) << ToString(done.error());
}

LockView LockTest::Read(std::string_view name) {
  const Result<LockView> view = engine_->Read(name);
  EXPECT_TRUE(view.has_value()) << ToString(view.error());
  return view.value_or(LockView{});
}

LockAnswer LockTest::RequestUntilGranted(const Requester& requester) {
  const BootTime until = SystemClock::Instance().Boot() + kPatience;
  LockAnswer answer = Request(requester);
  while (answer.kind != Kind::kGranted && !HasFailure() && SystemClock::Instance().Boot() < until) {
    SleepFor(milliseconds(1));
    answer = Request(requester);
  }
  return answer;
}

}  // namespace conformance

bool RegisterLockConformance(const LockEngineCase& engine) {
  conformance::Registry& registry = conformance::TheRegistry();
  const LockEngineCase& kept = registry.engines.emplace_back(engine);
  for (const conformance::LockCase& test : registry.cases) {
    conformance::Register(test, kept);
  }
  return true;
}

}  // namespace oncemq
