// SPDX-License-Identifier: Apache-2.0
// A group over a window that all of its members share, on a real broker. Members are processes that
// see each other in the server of the window only, as on hosts of their own.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime_fixture.h"
#include "support/process.h"
#include "support/tcp_proxy.h"

namespace oncemq::testing {

// Ids 0 to n; a fifth of them comes twice, half of those in another partition. Key = id modulo 97;
// ids above `n` never appear.
inline constexpr int kStormKeys = 97;
inline bool CrossesPartitions(int64_t id) {
  return id % 10 == 3;
}

// The server of the window, and the effects of the members.
//
// Thread safety: one thread, which stays (see Process).
class StormStore {
 public:
  virtual ~StormStore() = default;
  // Arguments of shared_member: the window through proxy(), the number of the member, the target.
  virtual std::vector<std::string> MemberWords(int number) const = 0;
  virtual TcpProxy& proxy() = 0;
  virtual void Kill9() = 0;
  virtual void Restart() = 0;
  // All markers, while the server runs; nothing where an application cannot do that.
  virtual void LoseAll() {}
  // To a server that lacks the last changes; nothing where there is none.
  virtual void FailOver() {}
  virtual int64_t Effects() = 0;
  // Expects each id below `ids` once, and those of a key in order, but for those whose copy travels
  // through another partition.
  virtual void Judge(int ids) = 0;
};

// Thread safety: one thread.
class SharedWindowStorm : public KafkaRuntimeTest {
 protected:
  static constexpr int kPartitions = 8;
  // How many ids; ONCEMQ_SQL_MESSAGES, if it is set.
  static int Messages();
  static int Copies(int ids) { return ids / 5; }

  void Begin(std::unique_ptr<StormStore> store);
  // The copies in other partitions come with their originals, or only when they are asked for.
  enum class Crossing { kNow, kLater };
  void Produce(int begin, int end, Crossing crossing = Crossing::kNow);
  void ProduceCrossing(int begin, int end);
  // The number of the member.
  int Start();
  Process& member(int number) { return *members_[static_cast<size_t>(number)]; }
  int members() const { return static_cast<int>(members_.size()); }
  std::string TextOf(int member) const;
  // Whether a member has written that into its log.
  bool AnySaid(const std::string& words) const;
  bool Reached(int64_t effects);
  // Members come, are killed and paused; the server is killed twice, falls silent, loses all it has
  // and fails over if it can, and answers of it are lost.
  void Storm(int ids);
  // Calls arrive, their answers do not.
  void SwallowReplies();
  // Nothing goes either way for 5 s.
  void BlackHole();
  // Waits for the last commits, lets all members leave, and judges.
  void End(int ids);

  std::unique_ptr<StormStore> store_;
  // False: no copy travels through another partition, and the window is told so.
  bool ids_cross_ = true;

 private:
  void SendId(int id, int32_t partition);
  std::string LogOf(int member) const { return dir_.path() / ("member-" + std::to_string(member)); }
  int64_t Committed();

  const TempDir dir_;
  std::unique_ptr<TestProducer> producer_;
  std::vector<std::unique_ptr<Process>> members_;
};

}  // namespace oncemq::testing
