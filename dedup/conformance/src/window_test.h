// SPDX-License-Identifier: Apache-2.0
// What the tests of the suite are made of. A test is
//
//   WINDOW_TEST(Always, AnIdThatIsDoneIsADuplicate) { ... }
//
// where the first argument decides from capabilities and level whether it applies.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string_view>

#include "oncemq/dedup/conformance/window_conformance.h"
#include "words.h"

namespace oncemq::conformance {

// An engine at one level: the input of a test.
struct Subject {
  const WindowEngine* engine;
  Level level;

  const WindowCapabilities& can() const { return engine->capabilities; }
};

using Applies = bool (*)(const Subject&);
inline bool Always(const Subject&) {
  return true;
}
// Claims are seen by others before the effect.
inline bool IfStoresClaims(const Subject& subject) {
  return subject.can().stores_claims || subject.level != Level::kAtomic;
}

// At atomic too: what a former holder does is not written.
inline bool AtGuarded(const Subject& subject) {
  return subject.level != Level::kOpaque && IfStoresClaims(subject);
}
inline bool AtOpaque(const Subject& subject) {
  return subject.level == Level::kOpaque;
}
inline bool WithLeases(const Subject& subject) {
  return subject.can().leases_by_clock && IfStoresClaims(subject);
}
inline bool WithLeasesAtGuarded(const Subject& subject) {
  return WithLeases(subject) && AtGuarded(subject);
}
inline bool WithLeasesAtOpaque(const Subject& subject) {
  return WithLeases(subject) && AtOpaque(subject);
}
inline bool WithResults(const Subject& subject) {
  return subject.can().keeps_results && IfStoresClaims(subject);
}
inline bool WithFingerprints(const Subject& subject) {
  return subject.can().fingerprints && IfStoresClaims(subject);
}
inline bool IfAges(const Subject& subject) {
  return subject.can().ages;
}
inline bool IfAgesAndDurable(const Subject& subject) {
  return subject.can().ages && subject.can().durable;
}
inline bool IfTimed(const Subject& subject) {
  return subject.can().timed && IfStoresClaims(subject);
}
inline bool IfTimedAndDurable(const Subject& subject) {
  return IfTimed(subject) && subject.can().durable;
}
inline bool IfJudges(const Subject& subject) {
  return subject.engine->judges;
}
inline bool IfDurable(const Subject& subject) {
  return subject.can().durable;
}
inline bool IfStoresClaimsAndDurable(const Subject& subject) {
  return IfStoresClaims(subject) && IfDurable(subject);
}
// An id is recognised on whichever partition its copy comes.
inline bool IfIdsCross(const Subject& subject) {
  return !subject.can().by_partition && !subject.can().partition_owned;
}
inline bool IfPartitionsOwnIds(const Subject& subject) {
  return subject.can().partition_owned;
}
template <Applies... all>
bool All(const Subject& subject) {
  return (all(subject) && ...);
}

// The times of every test, unless it opens a window of its own. Short, for engines that must really
// wait; far apart, so that a slow machine does not spoil them.
inline constexpr WindowTimes kTimes{
    .lease = milliseconds(2'000),
    .max_lease = milliseconds(7'000),
    .handler_timeout = milliseconds(5'000),
};
// Before or after the end of one of them.
inline constexpr milliseconds kALittle(500);

// One attempt at an id; as a request of each kind. Tests say what a request differs in.
struct Attempt {
  std::string_view id = "x";
  Token token;
  Coordinates at{0, 3, 5};
  OwnerEpoch owner_epoch = 0;
  uint32_t fingerprint = 0;
  LogTime time = kNoLogTime;
  bool first = false;
  milliseconds lease{0};
  bool not_if_uncertain = false;
  uint64_t parked_entry = 0;
};

ClaimRequest ClaimOf(const Attempt& attempt);

// Thread safety: the calls on the window may be made from any thread, as the window's own.
class WindowTest : public ::testing::Test {
 public:
  explicit WindowTest(const Subject& subject) : subject_(subject) {}

 protected:
  void SetUp() override;

  Window& window() { return *window_; }
  const Subject& subject() const { return subject_; }
  bool opaque() const { return subject_.level == Level::kOpaque; }
  void Advance(milliseconds by) { subject_.engine->advance(by); }
  // What was answered so far is announced before, where that is needed.
  void Reopen();
  // Where a copy may come from besides the place of New().
  Coordinates Elsewhere() const { return {0, IfIdsCross(subject_) ? 4 : 3, 9}; }

  // An attempt with a token of its own.
  Attempt New(std::string_view id = "x") { return {.id = id, .token = {0xC0DE, ++attempts_}}; }

  // Each sends a batch of one and fails the test if the call fails.
  OwnerEpoch Raise(int32_t partition, uint32_t source = 0);
  ClaimAnswer Claim(const Attempt& attempt);
  ClaimAnswer Judge(const Attempt& attempt);
  MarkerChange Complete(const Attempt& attempt, std::string_view result = {},
                        milliseconds keep = {});
  MarkerChange Release(const Attempt& attempt);
  MarkerChange ReleaseAsFailed(const Attempt& a);
  MarkerChange ReleaseAsUncertain(const Attempt& attempt);
  MarkerChange Park(const Attempt& attempt, uint64_t entry);
  MarkerChange Renew(const Attempt& attempt, milliseconds lease = {});
  MarkerChange Restore(std::string_view id, const Coordinates& at, OwnerEpoch owner_epoch,
                       LogTime time = kNoLogTime, uint32_t fingerprint = 0);
  MarkerChange Committed(const Progress& progress);
  MarkerView Peek(std::string_view id = "x");
  MarkerState StateOf(std::string_view id = "x") { return Peek(id).state; }

 private:
  void Take(Result<std::unique_ptr<Window>> opened);

  Subject subject_;
  std::unique_ptr<Window> window_;
  uint64_t attempts_ = 0;
};

// Of a window with a store for each partition, or that knows ids by partition and keeps history:
// those that the tests use.
void OpenPartitions(const Subject& subject, Window& window);

// A test of the suite, before it is known which engines it will judge.
struct Case {
  const char* name;
  const char* file;
  int line;
  Applies applies;
  WindowTest* (*make)(const Subject&);
};

// Registers the test for every engine, those that come later included. Returns true.
bool AddCase(const Case& added);

}  // namespace oncemq::conformance

#define WINDOW_TEST(applies, name) WINDOW_TEST_F(WindowTest, applies, name)

// With a fixture of its own, made of a WindowTest.
#define WINDOW_TEST_F(fixture, applies, name)                                             \
  class name final : public fixture {                                                     \
   public:                                                                                \
    using fixture::fixture;                                                               \
    void TestBody() override;                                                             \
  };                                                                                      \
  [[maybe_unused]] const bool name##_added =                                              \
      AddCase({#name, __FILE__, __LINE__, applies,                                        \
               [](const Subject& subject) -> WindowTest* { return new name(subject); }}); \
  void name::TestBody()
