// SPDX-License-Identifier: Apache-2.0
// Messages that are refused for good while members join, leave, stand still and are killed with -9.
// Then redrives of all that is parked while live messages still come, before the fix and after it.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "oncemq/base/clock.h"
#include "oncemq/framework/park.h"
#include "support/kafka_admin.h"
#include "support/process.h"
#include "support/temp_dir.h"
#include "support/test_producer.h"

namespace oncemq::testing {

struct ParkStormSize {
  int ids = 300'000;
  int keys = 997;  // id n has key n % keys, so numbers ascend within a key
  int32_t partitions = 24;
  size_t members = 6;
  std::chrono::seconds storm{90};  // with an act every 2 s
};

enum class ParkStormWindow { kPostgresGuarded, kPostgresAtomic, kRedisGuarded };

// What has happened.
struct ParkStormSights {
  int kills = 0;
  int pauses = 0;  // beyond a session
  int leaves = 0;
  int joins = 0;
  size_t parked = 0;  // messages, before the fix
  size_t heads = 0;
  uint64_t refused_again = 0;
  uint64_t ended = 0;                    // by redrives
  int redrives = 0;                      // calls of CommandParked
  std::chrono::milliseconds settled{0};  // after the storm, until all was committed
  std::chrono::milliseconds drained{0};  // after the fix, until nothing was parked
};

// The server of a park storm's window, and its effects.
//
// Thread safety: one thread, which stays (see Process).
class ParkStormStore {
 public:
  static std::unique_ptr<ParkStormStore> Open(ParkStormWindow window,
                                              const std::filesystem::path& dir);
  virtual ~ParkStormStore() = default;
  // ADDRESS and LEVEL of parking_member.
  virtual std::vector<std::string> MemberWords() const = 0;
  // Ids, in the order of their effects, as often as they had one.
  virtual std::vector<int64_t> Effects() = 0;
};

// The seed draws the acts; odd ones play with the assignor cooperative-sticky, and every other pair
// lets partitions own their ids.
//
// Expects before the fix: every refused message is parked with all later ones of its key. Expects
// in the end: each effect once, those of a key in order, nothing parked, everything committed.
//
// Thread safety: one thread, which stays (see Process).
class ParkStorm {
 public:
  ParkStorm(const std::string& bootstrap, const std::string& name, const ParkStormSize& size,
            ParkStormWindow window, uint64_t seed);

  void Run();

 private:
  struct Member {
    int number = 0;
    std::unique_ptr<Process> process;
    BootTime paused_until{};  // zero: it runs
  };

  void Start();
  void Kill();
  void Leave();
  void Pause();
  void ContinuePaused(bool all);
  // One that is not paused.
  Member& AnyMember();
  void Act();
  void Storm();
  void RedriveTooEarly();
  void RedriveAll();
  void Redrive(const std::vector<ParkedEntry>& heads, int send_to, int acts);
  void EndMembers();
  void SendUpTo(int end);
  bool AllCommitted();
  std::vector<ParkedEntry> Parked();
  static std::vector<ParkedEntry> HeadsOf(std::vector<ParkedEntry> parked);
  void JudgeParked(const std::vector<ParkedEntry>& parked);
  void JudgeOrder();
  RuntimeOptions Options() const;
  std::string LogOf(int number) const;
  std::string Logs() const;

  const std::string bootstrap_;
  const std::string topic_;
  const ParkStormSize size_;
  const uint64_t seed_;
  const TempDir dir_;
  std::mt19937_64 random_;
  std::unique_ptr<ParkStormStore> store_;
  KafkaAdmin admin_;
  TestProducer producer_;
  std::vector<Member> members_;
  std::vector<Member> leaving_;
  int started_ = 0;
  int sent_ids_ = 0;
  std::map<int32_t, int64_t> sent_;  // by partition
  ParkStormSights sights_;
};

}  // namespace oncemq::testing
