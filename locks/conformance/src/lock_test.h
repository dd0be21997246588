// SPDX-License-Identifier: Apache-2.0
// What the tests of the suite are made of. A test is
//
//   LOCK_TEST(Always, AFreeNameIsGranted) { ... }
//
// where the first argument decides from the capabilities whether it applies.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string_view>

#include "oncemq/locks/conformance/lock_conformance.h"

namespace oncemq::conformance {

using LockApplies = bool (*)(const LockCapabilities&);
inline bool Always(const LockCapabilities&) {
  return true;
}
inline bool IfFair(const LockCapabilities& can) {
  return can.fair;
}
inline bool IfUnfair(const LockCapabilities& can) {
  return can.unfair && can.fair;
}
inline bool IfShared(const LockCapabilities& can) {
  return can.shared;
}
inline bool IfSharedAndFair(const LockCapabilities& can) {
  return can.shared && can.fair;
}
inline bool IfSharedAndUnfair(const LockCapabilities& can) {
  return can.shared && can.fair && can.unfair;
}
inline bool IfCounted(const LockCapabilities& can) {
  return can.counted && can.fair && can.fence;
}
inline bool IfNotCounted(const LockCapabilities& can) {
  return !can.counted;
}
inline bool IfCountedAndShared(const LockCapabilities& can) {
  return IfCounted(can) && can.shared;
}
inline bool IfCountedAndUnfair(const LockCapabilities& can) {
  return IfCounted(can) && can.unfair;
}
inline bool IfCountedAndWakes(const LockCapabilities& can) {
  return IfCounted(can) && can.wakes;
}
inline bool IfFenced(const LockCapabilities& can) {
  return can.fence;
}
// Not of a switchboard, which seals its stores itself.
inline bool IfSeals(const LockCapabilities& can) {
  return can.seals && can.epochs;
}
inline bool IfSealsAndFenced(const LockCapabilities& can) {
  return IfSeals(can) && can.fence;
}
inline bool IfLists(const LockCapabilities& can) {
  return can.lists;
}
inline bool IfWakes(const LockCapabilities& can) {
  return can.wakes && can.fair;
}

using Kind = LockAnswer::Kind;

// Outlives every test: only a release, an eviction or a wake moves anything.
constexpr milliseconds kLasting{60'000};

// One who asks. Tests say what it differs in.
struct Requester {
  Token token;
  std::string_view name = "x";
  LockMode mode = LockMode::kExclusive;
  bool queue = true;
  bool barge = false;
  milliseconds lasts{kLasting};  // its lease and its place
  uint32_t epoch = 0;
  uint32_t limit = 0;  // of a counted one
};

// Thread safety: the calls on the engine may be made from any thread, as the engine's own.
class LockTest : public ::testing::Test {
 public:
  explicit LockTest(const LockEngineCase& engine) : case_(engine) {}

 protected:
  void SetUp() override;

  LockEngine& engine() { return *engine_; }
  const std::shared_ptr<LockEngine>& shared_engine() { return engine_; }
  const LockCapabilities& can() const { return case_.capabilities; }
  milliseconds lease() const { return case_.lease; }
  int rounds() const;
  void Pass(milliseconds by) { case_.pass(by); }

  // One with a token of its own.
  Requester New(std::string_view name = "x") {
    return {.token = {0xC0DE, ++requesters_}, .name = name};
  }
  Requester NewReader(std::string_view name = "x");
  Requester NewCounted(uint32_t limit);
  // One whose hold or place ends by itself.
  Requester NewBrief(milliseconds lasts);
  static AcquireRequest RequestOf(const Requester& requester);
  // Where a machine stands still for as long as a lease, nobody can say what must be held then.
  // `round` gets a lease and answers whether all that it judged was in time; it judges nothing
  // else. It is played once where it was, else again with longer leases. Fails the test if it never
  // is.
  void UntilInTime(const std::function<bool(milliseconds)>& round);

  // Each fails the test if the call fails.
  LockAnswer Request(const Requester& requester);
  Extended Extend(const Requester& requester);
  Freed Free(const Requester& requester);
  void Await(const Requester& requester, milliseconds within, const std::stop_token& stop = {});
  LockView Read(std::string_view name = "x");
  // Asks until granted, and not for ever: some engines hear a moment later that a hold has ended.
  LockAnswer RequestUntilGranted(const Requester& requester);

 private:
  const LockEngineCase& case_;
  std::shared_ptr<LockEngine> engine_;
  uint64_t requesters_ = 0;
};

struct LockCase {
  const char* name;
  const char* file;
  int line;
  LockApplies applies;
  LockTest* (*make)(const LockEngineCase&);
};

// Registers the test for every engine, those that come later included. Returns true.
bool AddLockCase(const LockCase& added);

}  // namespace oncemq::conformance

#define LOCK_TEST(applies, name)                                                       \
  class name final : public LockTest {                                                 \
   public:                                                                             \
    using LockTest::LockTest;                                                          \
    void TestBody() override;                                                          \
  };                                                                                   \
  [[maybe_unused]] const bool name##_added =                                           \
      AddLockCase({#name, __FILE__, __LINE__, applies,                                 \
                   [](const LockEngineCase& e) -> LockTest* { return new name(e); }}); \
  void name::TestBody()
