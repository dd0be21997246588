// SPDX-License-Identifier: Apache-2.0
// From our options to a librdkafka client.
#pragma once

#include "oncemq/framework/runtime.h"
#include "rdkafka_ptr.h"

namespace oncemq {

// What this librdkafka can be trusted with (docs/design.md, "Which librdkafka may do what"):
// decided once, said in the log.
struct ClientFacts {
  std::string version;                // of librdkafka, at run time
  bool cooperative = false;           // incremental rebalancing
  uint64_t prefetch_share = 8 << 20;  // bytes that one partition's queue may hold
  milliseconds statistics{5'000};     // between two reports of the client, 0 for none
};

// The share of one partition; `partitions`: of all topics, 0 where nobody knows. A client is made
// before it knows what it will be assigned, so each may be the one that gets all of them.
uint64_t PrefetchShare(uint64_t total, int32_t partitions);

// Logs which features are off, and why.
ClientFacts ChooseFeatures(const KafkaOptions& options);

// A consumer that has not subscribed. kInvalid names the property that can't be, and never its
// value.
Result<ClientPtr> OpenClient(const RuntimeOptions& options, const ClientFacts& facts);

// The same with read_uncommitted and outside the group, to ask for the true end of a log.
Result<ClientPtr> OpenObserver(const RuntimeOptions& options);

// An observer to ask for the commits of the group. It never joins and commits nothing.
Result<ClientPtr> OpenGroupObserver(const RuntimeOptions& options);

// A reader of committed records without a group, so it can't commit.
Result<ClientPtr> OpenReplayClient(const RuntimeOptions& options);

// A producer with reports on its main queue, each within the time.
Result<ClientPtr> OpenProducer(const RuntimeOptions& options, milliseconds answer_within);

}  // namespace oncemq
