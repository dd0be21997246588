// SPDX-License-Identifier: Apache-2.0
// A member of a classic consumer group that speaks the broker's protocol by hand, so that nothing
// is sent but what a test says: no client's heartbeat beside it, and no client that gives up.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace oncemq::testing {

// Kafka's error codes, as far as a test wants to tell them apart.
inline constexpr int16_t kNoError = 0;
inline constexpr int16_t kUnknownMember = 25;

// Throws std::runtime_error when the connection fails or an answer doesn't come within 10 s.
//
// Thread safety: one thread. Blocks: every call.
class BareMember {
 public:
  BareMember(const std::string& bootstrap, std::string group);
  // Closes the connection and says nothing to the group.
  ~BareMember();
  BareMember(const BareMember&) = delete;
  BareMember& operator=(const BareMember&) = delete;

  // Joins as the only member, and takes an empty assignment.
  void Join(std::chrono::milliseconds session);
  // A plain commit as this member of this generation; the broker's answer.
  int16_t Commit(const std::string& topic, int32_t partition, int64_t offset);

 private:
  std::string Request(int16_t api, int16_t version, const std::string& body);
  void SendAll(std::string_view bytes);
  std::string Receive(size_t bytes);

  const std::string group_;
  int socket_ = -1;
  int32_t requests_ = 0;
  int32_t generation_ = -1;
  std::string member_;
};

}  // namespace oncemq::testing
