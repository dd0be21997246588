// SPDX-License-Identifier: Apache-2.0
#include "window_test.h"

#include <deque>
#include <string>
#include <vector>

#include "oncemq/dedup/store_stat.h"

namespace oncemq {
namespace conformance {
namespace {

constexpr uint32_t kSources = 2;
constexpr int32_t kPartitions = 5;

// Tests and engines register while static objects are initialised, in any order: whichever comes
// second meets all of the first.
struct Registry {
  std::deque<Case> cases;
  std::deque<WindowEngine> engines;
  std::vector<Subject> subjects;
};

Registry& TheRegistry() {
  static Registry registry;
  return registry;
}

void Register(const Case& test, const Subject& subject) {
  if (!test.applies(subject)) {
    return;
  }
  const std::string suite =
      subject.engine->name + "_" + std::string(ToString(subject.level)) + "/WindowConformance";
  testing::RegisterTest(suite.c_str(), test.name, nullptr, nullptr, test.file, test.line,
                        [subject, make = test.make]() -> WindowTest* { return make(subject); });
}

template <class Request, class ClaimVerdict>
ClaimVerdict One(Window& window,
                 Status (Window::*call)(std::span<const Request>, std::span<ClaimVerdict>),
                 const Request& request) {
  ClaimVerdict answer{};
  const Status status = (window.*call)({&request, 1}, {&answer, 1});
  EXPECT_TRUE(status.has_value()) << ToString(status.error());
  return answer;
}

}  // namespace

bool AddCase(const Case& added) {
  TheRegistry().cases.push_back(added);
  for (const Subject& subject : TheRegistry().subjects) {
    Register(added, subject);
  }
  return true;
}

ClaimRequest ClaimOf(const Attempt& a) {
  return {.id = a.id,
          .token = a.token,
          .at = a.at,
          .owner_epoch = a.owner_epoch,
          .fingerprint = a.fingerprint,
          .time = a.time,
          .first = a.first,
          .lease = a.lease,
          .not_if_uncertain = a.not_if_uncertain,
          .parked_entry = a.parked_entry};
}

void OpenPartitions(const Subject& subject, Window& window) {
  const WindowCapabilities& can = subject.can();
  const bool opens = can.by_partition || (can.partition_owned && can.keeps_history);
  for (uint32_t source = 0; opens && source < kSources; source++) {
    for (int32_t partition = 0; partition < kPartitions; partition++) {
      const std::string topic = "topic-" + std::to_string(source);
      const auto known = window.Open({source, partition, topic, "the suite"});
      ASSERT_TRUE(known.has_value()) << ToString(known.error());
      ASSERT_EQ(known->source, source);
    }
  }
}

void WindowTest::SetUp() {
  ASSERT_NO_FATAL_FAILURE(Take(subject_.engine->open({subject_.level, kTimes})));
}

void WindowTest::Reopen() {
  if (!subject_.can().keeps_claims) {
    const Announcement announced{.partition = 3};
    ASSERT_TRUE(window_->Announce({&announced, 1}));
  }
  window_.reset();
  ASSERT_NO_FATAL_FAILURE(Take(subject_.engine->reopen({subject_.level, kTimes})));
}

void WindowTest::Take(Result<std::unique_ptr<Window>> opened) {
  ASSERT_TRUE(opened.has_value()) << ToString(opened.error());
  window_ = *std::move(opened);
  OpenPartitions(subject_, *window_);
}

OwnerEpoch WindowTest::Raise(int32_t partition, uint32_t source) {
  const Result<OwnerEpoch> owner_epoch = window_->RaiseOwnerEpoch(source, partition, 0);
  EXPECT_TRUE(owner_epoch.has_value()) << ToString(owner_epoch.error());
  return owner_epoch.value_or(0);
}

ClaimAnswer WindowTest::Claim(const Attempt& a) {
  return One(*window_, &Window::Claim, ClaimOf(a));
}

ClaimAnswer WindowTest::Judge(const Attempt& a) {
  return One(*window_, &Window::Judge, ClaimOf(a));
}

MarkerChange WindowTest::Complete(const Attempt& a, std::string_view result, milliseconds keep) {
  return One(*window_, &Window::Complete,
             CompleteRequest{a.id, a.token, a.at, result, a.time, keep});
}

MarkerChange WindowTest::Release(const Attempt& a) {
  return One(
      *window_, &Window::Release,
      ReleaseRequest{.id = a.id, .token = a.token, .at = a.at, .parked_entry = a.parked_entry});
}

MarkerChange WindowTest::ReleaseAsFailed(const Attempt& a) {
  return One(*window_, &Window::Release,
             ReleaseRequest{.id = a.id,
                            .token = a.token,
                            .at = a.at,
                            .failed = true,
                            .parked_entry = a.parked_entry});
}

MarkerChange WindowTest::ReleaseAsUncertain(const Attempt& a) {
  return One(*window_, &Window::Release,
             ReleaseRequest{.id = a.id,
                            .token = a.token,
                            .uncertain = true,
                            .at = a.at,
                            .parked_entry = a.parked_entry});
}

MarkerChange WindowTest::Park(const Attempt& a, uint64_t entry) {
  return One(*window_, &Window::Park, ParkRequest{a.id, a.token, entry, a.at, a.owner_epoch});
}

MarkerChange WindowTest::Renew(const Attempt& a, milliseconds lease) {
  return One(*window_, &Window::Renew,
             RenewRequest{.id = a.id, .token = a.token, .at = a.at, .lease = lease});
}

MarkerChange WindowTest::Restore(std::string_view id, const Coordinates& at, OwnerEpoch owner_epoch,
                                 LogTime time, uint32_t fingerprint) {
  return One(*window_, &Window::Restore, RestoreRequest{id, at, owner_epoch, time, fingerprint});
}

MarkerChange WindowTest::Committed(const Progress& progress) {
  const MarkerChange change = One(*window_, &Window::Committed, progress);
  // It may forget in its own time, and is through with it when it tells what it has.
  static_cast<void>(window_->Stat());
  return change;
}

MarkerView WindowTest::Peek(std::string_view id) {
  return One(*window_, &Window::Peek, id);
}

}  // namespace conformance

bool RegisterWindowConformance(const WindowEngine& engine) {
  conformance::Registry& registry = conformance::TheRegistry();
  registry.engines.push_back(engine);
  std::vector<Level> levels;
  if (engine.capabilities.guarded) {
    levels.push_back(Level::kGuarded);
  }
  if (engine.capabilities.opaque) {
    levels.push_back(Level::kOpaque);
  }
  if (engine.capabilities.atomic) {
    levels.push_back(Level::kAtomic);
  }
  for (const Level level : levels) {
    const conformance::Subject subject{&registry.engines.back(), level};
    registry.subjects.push_back(subject);
    for (const conformance::Case& test : registry.cases) {
      conformance::Register(test, subject);
    }
  }
  return true;
}

}  // namespace oncemq
