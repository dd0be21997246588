// SPDX-License-Identifier: Apache-2.0
// librdkafka's own brokers in this process, for what a member does when brokers misbehave.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace oncemq::testing {

// Brokers are numbered from 1. Each call throws std::runtime_error where it is refused.
//
// Thread safety: any thread.
class MockCluster {
 public:
  explicit MockCluster(int brokers);
  ~MockCluster();
  MockCluster(const MockCluster&) = delete;
  MockCluster& operator=(const MockCluster&) = delete;

  std::string address() const;  // host:port, separated by commas
  void CreateTopic(const std::string& topic, int partitions);
  void SetLeader(const std::string& topic, int32_t partition, int32_t broker);
  void SetCoordinator(const std::string& group, int32_t broker);
  // Down: connections are closed, and new ones refused.
  void SetDown(int32_t broker);
  void SetUp(int32_t broker);
  // Of all brokers.
  void SetRoundTrip(std::chrono::milliseconds time);
  // The next requests of the kind, by the protocol's number, are answered so.
  void AnswerNext(int16_t api, const std::vector<int>& errors);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace oncemq::testing
