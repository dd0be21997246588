// SPDX-License-Identifier: Apache-2.0
// What an operator does to topics and groups, and what a test asks about them.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

namespace oncemq::testing {

struct TopicSpec {
  std::string name = {};
  int32_t partitions = 1;
  // Topic configuration, for example {"cleanup.policy", "compact"}.
  std::map<std::string, std::string> config = {};
};

// A compacted topic that is cleaned as soon as its segment is full or a tenth of a second old.
// The newest segment is never cleaned, so write once more after the messages that shall go.
std::map<std::string, std::string> QuickCompaction();

struct CommittedOffset {
  int64_t offset = 0;
  std::string metadata = {};
};

struct Watermarks {
  int64_t low = 0;   // first offset that still exists
  int64_t high = 0;  // offset of the next message, open transactions counted
};

// Each call throws std::runtime_error with the broker's words when it is refused or not answered
// in time, and returns when what it did can be seen by others.
//
// Thread safety: any thread; the calls are independent.
// Blocks: every call, for `timeout` at most (creating and deleting topics: twice that).
class KafkaAdmin {
 public:
  explicit KafkaAdmin(const std::string& bootstrap,
                      std::chrono::milliseconds timeout = std::chrono::seconds(15));
  ~KafkaAdmin();
  KafkaAdmin(const KafkaAdmin&) = delete;
  KafkaAdmin& operator=(const KafkaAdmin&) = delete;

  void CreateTopic(const TopicSpec& spec);
  void DeleteTopic(const std::string& topic);
  // So many in all; more than there are.
  void AddPartitions(const std::string& topic, int32_t partitions);
  int32_t PartitionCount(const std::string& topic);
  // Everything below `before` goes: a gap between a committed offset and the log's start.
  void DeleteRecords(const std::string& topic, int32_t partition, int64_t before);
  Watermarks QueryWatermarks(const std::string& topic, int32_t partition);

  // By partition; partitions without a commit are left out.
  std::map<int32_t, CommittedOffset> Committed(const std::string& group, const std::string& topic);
  // The operator's reset, forwards or backwards; the commit's metadata is gone after it. Refused
  // while the group has members.
  void AlterOffsets(const std::string& group, const std::string& topic,
                    const std::map<int32_t, int64_t>& offsets);
  // The same with metadata, as a member of any version writes it.
  void Commit(const std::string& group, const std::string& topic,
              const std::map<int32_t, CommittedOffset>& commits);
  // With its commits. Refused while it has members.
  void DeleteGroup(const std::string& group);
  std::size_t MemberCount(const std::string& group);
  // A member that was killed counts until its session is over. False when it outlasts `timeout`.
  bool WaitUntilEmpty(const std::string& group, std::chrono::milliseconds timeout);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace oncemq::testing
