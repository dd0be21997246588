// SPDX-License-Identifier: Apache-2.0
// The guarantee with the window in Redis.
#include "guarantee_text.h"
#include "oncemq/clients/redis_endpoint.h"

namespace oncemq {
namespace {

void SayKeys(const ServiceOptions& options, GuaranteeText& text) {
  const auto endpoint = ParseRedisEndpoint(options.redis_at);
  const std::string keys =
      options.redis.prefix + ":" + (endpoint ? " of " + ToString(*endpoint) : "");
  if (options.redis.partition_owned) {
    text.Say(
        "The owner of a partition decides, in memory. Before each commit it takes what is new "
        "to a stream under the keys " +
        keys +
        ", which the next owner reads, on any host. It holds all finished ids of its "
        "partitions in memory, 50 bytes each.");
    return;
  }
  text.Say(
      "Redis decides: the window of all members of the group, on any host, lies under the keys " +
      keys + ". Leases follow the clock of that server.");
}

// By a restart, a failover, FLUSHALL and deletions.
void SayLostWrites(const ServiceOptions& options, GuaranteeText& text) {
  const int replicas = options.redis.replicas;
  text.Say(
      "Redis answers before its disk has the change. A restart takes all of the window where "
      "nothing is persisted (`appendonly no`), and with `appendfsync everysec` about the last "
      "second; `always` takes nothing that was answered.");
  text.Say(replicas == 0
               ? std::string(
                     "A failover takes what the replica did not have yet. `replicas: N` lets each "
                     "commit wait until N replicas have what it calls finished.")
               : "A failover takes what the replica did not have yet: no commit calls anything "
                 "finished that fewer than " +
                     std::to_string(replicas) +
                     " replicas have (`replicas`). While there are fewer, the work stops within a "
                     "session.");
  text.Say(
      "Lost changes are recognised: each process counts its changes in Redis, and finds fewer "
      "than it was answered, or another incarnation of the window. Each partition is assigned "
      "anew then, before anything else of it runs, and the log says so (rule 31).");
  if (options.redis.level == Level::kOpaque && !options.runtime.ids_partition_owned) {
    text.Say(
        "Until a partition knows its ids again, their copies in other partitions may run once more "
        "without being told as uncertain. The log and `oncemq status` say from when to when, an "
        "upper bound.");
  }
  SayCompletion(options.runtime, "An owner whose window is new, or behind the commit,", text);
  text.Say(
      "A single key that is deleted or evicted goes unseen, and its id is new. So a server that "
      "may evict (`maxmemory-policy` is not `noeviction`) is refused, at the start and after "
      "a failover, and the keys of an application belong to one user of Redis (docs/windows.md).");
}

}  // namespace

void SayRedis(const ServiceOptions& options, GuaranteeText& limits, GuaranteeText& holds) {
  SayKeys(options, limits);
  SayLostWrites(options, limits);
  const RedisWindowOptions& window = options.redis;
  SayServer(options,
            {.subject = "Redis",
             .server = "Redis",
             .kind = "Redis",
             .call = window.call,
             .remember = window.remember,
             .skew = window.skew,
             .owned = window.partition_owned},
            limits, holds);
}

}  // namespace oncemq
