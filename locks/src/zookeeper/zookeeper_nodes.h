// SPDX-License-Identifier: Apache-2.0
// What lies in ZooKeeper for a name, as text and back (docs/formats.md). Without I/O.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "oncemq/base/clock.h"
#include "oncemq/clients/zookeeper_session.h"
#include "oncemq/locks/lock_engine.h"

namespace oncemq {

// Any bytes as one part of a path, and back: nothing that is not ours has such a form.
std::string EncodePart(std::string_view bytes);
std::optional<std::string> DecodePart(std::string_view part);

// Where the names of a space lie.
struct ZooKeeperPaths {
  explicit ZooKeeperPaths(std::string_view space);
  std::string Name(std::string_view name) const { return root + "/" + EncodePart(name); }

  std::vector<std::string> above;  // of root, from the top
  std::string root;
  std::string seal;
};

// The node of one request: its child of the name.
struct ZooKeeperNode {
  LockMode mode = LockMode::kExclusive;
  uint64_t session = 0;
  uint64_t number = 0;  // of the request in its session
  int32_t order = 0;    // given by the server
  std::string child;
};

// Without its order.
std::string ChildPrefix(LockMode mode, uint64_t session, uint64_t number);
// In the order in which they came; what is not ours is left out.
std::vector<ZooKeeperNode> QueueOf(const std::vector<std::string>& children);
// Whether the server has run out of numbers there: then only the moments of their making tell.
bool OutOfNumbers(const std::vector<ZooKeeperNode>& queue);
std::vector<LockMode> ModesOf(const std::vector<ZooKeeperNode>& queue);
// Whether no child came or went between two looks at a parent.
bool SameChildren(const ZooKeeperReply::Stat& before, const ZooKeeperReply::Stat& behind);

// What a node says.
struct ZooKeeperWords {
  uint32_t epoch = 0;
  milliseconds lease{0};
  milliseconds queue_lease{0};
  std::string who;
};
std::string ToText(const ZooKeeperWords& words);
std::optional<ZooKeeperWords> ParseWords(std::string_view text);

// Decimal digits of 32 bits, nothing else.
std::optional<uint32_t> ParseEpoch(std::string_view text);

}  // namespace oncemq
