// SPDX-License-Identifier: Apache-2.0
// Describe: the options as a service file that would give the same ones, but for its secrets.
#include <algorithm>
#include <string>
#include <string_view>

#include "kafka_properties.h"
#include "oncemq/framework/service_options.h"
#include "oncemq/locks/lock_engines.h"
#include "units.h"

namespace oncemq {
namespace {

using std::chrono::duration_cast;

// A YAML value: plain where nothing can be misread, else quoted, with "${" kept as it is.
std::string Value(std::string_view text) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("._/-").find(c) != std::string_view::npos;
  };
  if (!text.empty() && text.front() != '-' && std::all_of(text.begin(), text.end(), plain)) {
    return std::string(text);
  }
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string out = "\"";
  for (size_t i = 0; i < text.size(); i++) {
    const char c = text[i];
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += {'\\', c};
    } else if (c == '$' && text.substr(i).starts_with("${")) {
      out += "$$";
    } else if (byte < 0x20 || byte == 0x7F) {
      out += {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
    } else {
      out.push_back(c);
    }
  }
  return out + "\"";
}

class Lines {
 public:
  void Head(std::string_view name) { text_ += std::string(name) + ":\n"; }
  void Add(std::string_view name, std::string_view value, size_t depth = 1) {
    text_ += std::string(depth * 2, ' ') + std::string(name) + ": " + std::string(value) + "\n";
  }
  void Add(std::string_view name, uint64_t value) { Add(name, std::to_string(value)); }
  template <class Rep, class Period>
  void Add(std::string_view name, std::chrono::duration<Rep, Period> value) {
    Add(name, FormatDuration(duration_cast<milliseconds>(value)));
  }
  void Item(std::string_view value) { text_ += "  - " + std::string(value) + "\n"; }
  std::string Take() { return std::move(text_); }

 private:
  std::string text_;
};

std::string_view Name(Order order) {
  return order == Order::kUnordered   ? "unordered"
         : order == Order::kPartition ? "partition"
                                      : "key";
}

std::string_view Name(LogLevel level) {
  constexpr std::string_view kNames[] = {"debug", "info", "warn", "error", "off"};
  return kNames[static_cast<size_t>(level)];
}

std::string_view Name(LogOptions::Format format) {
  return format == LogOptions::Format::kText   ? "text"
         : format == LogOptions::Format::kJson ? "json"
                                               : "auto";
}

std::string Start(const KafkaOptions& kafka) {
  return kafka.start == KafkaOptions::Start::kTime  ? Value(FormatTime(kafka.start_time_ms))
         : kafka.start == KafkaOptions::Start::kNow ? "now"
                                                    : "earliest";
}

std::string Id(const RuntimeOptions& runtime) {
  return runtime.id_from == IdFrom::kHeader ? "{header: " + Value(runtime.id_header) + "}"
         : runtime.id_from == IdFrom::kKey  ? "key"
                                            : "coordinates";
}

std::string_view Name(MissingId policy) {
  return policy == MissingId::kPass          ? "pass"
         : policy == MissingId::kCoordinates ? "coordinates"
                                             : "refuse";
}

std::string_view Name(NullKey policy) {
  return policy == NullKey::kRefuse    ? "refuse"
         : policy == NullKey::kOneLane ? "one_lane"
                                       : "unordered";
}

std::string_view Name(AtEnd end) {
  return end == AtEnd::kStop ? "stop" : end == AtEnd::kPark ? "park" : "keep_trying";
}

void DescribeKafka(const RuntimeOptions& runtime, Lines& lines) {
  const KafkaOptions& kafka = runtime.kafka;
  const bool range = kafka.assignor == KafkaOptions::Assignor::kRange;
  lines.Head("kafka");
  lines.Add("brokers", Value(kafka.brokers));
  lines.Add("group", Value(kafka.group));
  lines.Add("start", Start(kafka));
  lines.Add("assignor", range ? "range" : "cooperative-sticky");
  const bool stops = kafka.out_of_range == KafkaOptions::OutOfRange::kStop;
  lines.Add("out_of_range", stops ? "stop" : "resume_at_log_start");
  lines.Add("prefetch", FormatByteCount(kafka.prefetch_bytes));
  lines.Add("session_timeout", runtime.core.session_timeout);
  lines.Add("commit_interval", runtime.core.commit_interval);
  if (!kafka.properties.empty()) {
    lines.Add("properties", "");
    for (const auto& [name, value] : kafka.properties) {
      lines.Add(name, Value(PrintableKafkaProperty(name, value)), 2);
    }
  }
  lines.Head("topics");
  for (const std::string& topic : kafka.topics) {
    lines.Item(Value(topic));
  }
}

std::string_view Name(SyncWhen sync) {
  return sync == SyncWhen::kNever       ? "never"
         : sync == SyncWhen::kEachBatch ? "each_batch"
                                        : "each_commit";
}

// A store's address may have a user in it.
std::string WithoutUser(std::string_view address) {
  const size_t at = address.rfind('@');
  size_t begin = address.find(':') + 1;
  begin += address.substr(begin).starts_with("//") ? 2 : 0;
  if (at == std::string_view::npos || begin > at) {
    return std::string(at == std::string_view::npos ? address : "(not shown)");
  }
  return std::string(address.substr(0, begin)) + "(not shown)" + std::string(address.substr(at));
}

// Whose ids a window keeps.
void DescribeIds(const ServiceOptions& options, Lines& lines) {
  if (const std::optional<Level> level = LevelOf(options)) {
    lines.Add("level", ToString(*level));
  }
  lines.Add("ids", options.runtime.ids_partition_owned ? "partition_owned" : "crossing");
  lines.Add("id", Id(options.runtime));
  if (options.runtime.id_from != IdFrom::kCoordinates) {
    lines.Add("missing_id", Name(options.runtime.missing_id));
  }
  const bool detect = options.runtime.conflicts == ConflictPolicy::kDetect;
  lines.Add("conflicts", detect ? "detect" : "ignore");
}

// `unsaid`: the policy of an engine where the file says nothing of incomplete windows.
void DescribeTimes(const ServiceOptions& options, IncompletePolicy unsaid, Lines& lines) {
  const WindowTimes& times = TimesOf(options);
  lines.Add("lease", times.lease);
  lines.Add("max_lease", times.max_lease);
  lines.Add("handler_timeout", times.handler_timeout);
  lines.Add("catch_up", static_cast<uint64_t>(options.runtime.catch_up));
  lines.Add("catch_up_time", options.runtime.catch_up_time);
  const IncompletePolicy policy = options.runtime.incomplete.value_or(unsaid);
  lines.Add("incomplete", policy == IncompletePolicy::kStop ? "stop" : "run");
}

void DescribeMemory(const ServiceOptions& options, Lines& lines) {
  DescribeIds(options, lines);
  lines.Add("remember", uint64_t{options.memory.remember});
  lines.Add("max_parked", uint64_t{options.memory.max_parked});
  DescribeTimes(options, IncompletePolicy::kRun, lines);
}

void DescribeDisk(const ServiceOptions& options, Lines& lines) {
  const LocalWindowOptions& local = options.local;
  lines.Add("directory", Value(local.directory));
  DescribeIds(options, lines);
  lines.Add("one_host", options.runtime.one_host ? "true" : "false");
  lines.Add("sync", Name(local.sync));
  lines.Add("remember", local.remember);
  lines.Add("skew", local.skew);
  lines.Add("generation", uint64_t{local.generation});
  lines.Add("memory", FormatByteCount(local.memory_bytes));
  lines.Add("max_open", uint64_t{local.max_open});
  lines.Add("cache", FormatByteCount(local.cache_bytes));
  lines.Add("max_parked", uint64_t{local.max_parked});
  DescribeTimes(options, IncompletePolicy::kStop, lines);
}

template <class Options>
void DescribeServerWindow(const ServiceOptions& options, const Options& window, Lines& lines) {
  DescribeIds(options, lines);
  lines.Add("remember", window.remember);
  lines.Add("skew", window.skew);
  DescribeTimes(options, IncompletePolicy::kStop, lines);
  lines.Add("connections", uint64_t{window.max_connections});
  lines.Add("connect", window.connect);
  lines.Add("call", window.call);
  lines.Add("expect_scope", window.expect_scope ? "true" : "false");
}

void DescribePostgres(const ServiceOptions& options, Lines& lines) {
  lines.Add("at", Value(WithoutUser(options.postgres_at)));
  lines.Add("schema", Value(options.postgres.schema));
  DescribeServerWindow(options, options.postgres, lines);
  lines.Add("idle", options.postgres.idle);
}

void DescribeRedis(const ServiceOptions& options, Lines& lines) {
  lines.Add("at", Value(WithoutUser(options.redis_at)));
  lines.Add("prefix", Value(options.redis.prefix));
  DescribeServerWindow(options, options.redis, lines);
  lines.Add("replicas", static_cast<uint64_t>(options.redis.replicas));
}

void DescribeWindow(const ServiceOptions& options, Lines& lines) {
  lines.Head("window");
  lines.Add("engine", ToString(options.engine));
  switch (options.engine) {
    case ServiceOptions::Engine::kNone:
      return;
    case ServiceOptions::Engine::kMemory:
      return DescribeMemory(options, lines);
    case ServiceOptions::Engine::kRocksDb:
      return DescribeDisk(options, lines);
    case ServiceOptions::Engine::kPostgres:
      return DescribePostgres(options, lines);
    case ServiceOptions::Engine::kRedis:
      return DescribeRedis(options, lines);
  }
}

void DescribeLocks(const ServiceOptions& options, Lines& lines) {
  const ServiceLocks& locks = options.locks;
  const LockUse& use = options.runtime.locks;
  const auto add = [&](std::string_view name, const std::string& value) {
    if (!value.empty()) {
      lines.Add(name, Value(value));
    }
  };
  if (!locks.any() && !use.elided) {
    return;
  }
  lines.Head("locks");
  if (use.elided) {
    lines.Add("elided", "true");
    lines.Add("names_partition_owned", use.names_partition_owned ? "true" : "false");
    lines.Add("effects_check_fences", use.effects_check_fences ? "true" : "false");
    return;
  }
  add("catalogue", locks.catalogue);
  add("application", locks.application);
  add("scope", locks.scope);
  add("secret", locks.secret.empty() ? "" : "(not shown)");
  add("at", WithoutUser(locks.at));
  add("space", locks.space);
  lines.Add("lease", locks.lease);
  std::string needs;
  for (const LockNeed& need : kLockNeeds) {
    if (locks.needs.*need.requested) {
      needs.append(needs.empty() ? "[" : ", ").append(need.name);
    }
  }
  if (!needs.empty()) {
    lines.Add("needs", needs + "]");
  }
}

void DescribeRetry(const RetryPolicy& retry, Lines& lines) {
  lines.Head("retry");
  lines.Add("first", retry.first);
  lines.Add("most", retry.most);
  lines.Add("jitter_percent", uint64_t{retry.jitter_percent});
  lines.Add("attempts", uint64_t{retry.attempts});
  lines.Add("give_up_after", retry.give_up_after);
  lines.Add("at_end", Name(retry.at_end));
  lines.Add("deaths", uint64_t{retry.deaths});
}

void DescribeLimits(const RuntimeOptions& runtime, Lines& lines) {
  lines.Head("runtime");
  lines.Add("workers", uint64_t{runtime.workers});
  lines.Add("workers_when_blocking", uint64_t{runtime.workers_when_blocking});
  lines.Add("hang_after", runtime.hang_after);
  lines.Add("spare_workers", uint64_t{runtime.spare_workers});
  lines.Add("poll_budget", runtime.poll_budget);
  lines.Add("drain_deadline", runtime.drain_deadline);
  lines.Head("limits");
  const CoreOptions& core = runtime.core;
  lines.Add("in_flight", uint64_t{core.in_flight});
  lines.Add("in_flight_bytes", FormatByteCount(core.in_flight_bytes));
  lines.Add("waiting", uint64_t{core.waiting.messages});
  lines.Add("waiting_bytes", FormatByteCount(core.waiting.bytes));
  lines.Add("over_waiting", core.waiting.park ? "park" : "hold");
  lines.Add("partition_credit", uint64_t{core.partition_credit});
  if (runtime.policy.reject == RejectPolicy::kPark) {
    lines.Add("parked", uint64_t{runtime.kafka.park_most});
  }
  lines.Add("span", uint64_t{core.span});
  lines.Add("batch", uint64_t{core.batch});
  lines.Add("lane_batch", uint64_t{core.lane_batch});
}

}  // namespace

std::string Describe(const ServiceOptions& options) {
  const RuntimeOptions& runtime = options.runtime;
  Lines lines;
  lines.Head("scope");
  lines.Add("app", Value(runtime.app));
  lines.Add("namespace", Value(runtime.name_space));
  lines.Add("handler", Value(runtime.handler));
  DescribeKafka(runtime, lines);
  DescribeWindow(options, lines);
  lines.Head("order");
  lines.Add("mode", Name(runtime.core.order));
  if (runtime.core.order == Order::kKey) {
    lines.Add("null_key", Name(runtime.null_key));
  }
  const bool journal = runtime.policy.reject == RejectPolicy::kJournal;
  const bool park = runtime.policy.reject == RejectPolicy::kPark;
  lines.Add("reject",
            journal ? "{journal: " + Value(runtime.journal) + "}"
            : park  ? "park"
                    : "stop",
            0);
  DescribeRetry(runtime.policy.retry, lines);
  DescribeLimits(runtime, lines);
  DescribeLocks(options, lines);
  lines.Head("log");
  lines.Add("level", Name(options.log.level));
  lines.Add("format", Name(options.log.format));
  if (!options.log.file.empty()) {
    lines.Add("file", Value(options.log.file));
  }
  if (!options.admin.socket.empty() || !options.admin.listen.empty()) {
    lines.Head("admin");
  }
  if (!options.admin.socket.empty()) {
    lines.Add("socket", Value(options.admin.socket));
  }
  if (!options.admin.listen.empty()) {
    lines.Add("listen", Value(options.admin.listen));
    lines.Add("metrics_by_partition", options.admin.metrics_by_partition ? "true" : "false");
  }
  return lines.Take();
}

}  // namespace oncemq
