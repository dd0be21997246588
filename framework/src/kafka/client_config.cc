// SPDX-License-Identifier: Apache-2.0
#include "client_config.h"

#include "kafka_properties.h"
#include "oncemq/base/log.h"

namespace oncemq {
namespace {

constexpr int kCooperativeSince =
    0x020a0000;  // 2.10.0; before it a commit in a rebalance loses the assignment
constexpr int kQueueBackoffSince = 0x02020000;

constexpr uint64_t kLeastRecord = 64;

LogLevel LevelOf(int syslog_level) {
  if (syslog_level <= 3) {
    return LogLevel::kError;
  }
  if (syslog_level == 4) {
    return LogLevel::kWarn;
  }
  return syslog_level <= 6 ? LogLevel::kInfo : LogLevel::kDebug;
}

// On librdkafka's own threads.
void LogLine(const rd_kafka_t*, int level, const char* facility, const char* text) {
  Log(LevelOf(level), "librdkafka", text, {{"facility", facility}});
}

using Properties = std::vector<std::pair<std::string, std::string>>;

Properties Connection(const RuntimeOptions& options) {
  return {
      {"bootstrap.servers", options.kafka.brokers},
      {"socket.nagle.disable", "true"},
      {"reconnect.backoff.ms", "50"},
      {"reconnect.backoff.max.ms", "2000"},
  };
}

// Within the session margin: there a member learns that the group has moved on without it before
// its successor may act (docs/model, clause 10C).
milliseconds DefaultHeartbeat(const CoreOptions& core) {
  const microseconds most = std::min(core.session_timeout / 4, core.session_margin);
  return std::clamp(std::chrono::floor<milliseconds>(most), milliseconds(1), milliseconds(3000));
}

// librdkafka refuses a session that is longer than the time between polls, 5 min of itself.
milliseconds DefaultPollInterval(milliseconds session) {
  return std::max<milliseconds>(std::chrono::minutes(5), session);
}

// Committed records, and no commit without a call of ours.
Properties Reader(const RuntimeOptions& options, const ClientFacts& facts) {
  Properties properties = Connection(options);
  properties.insert(
      properties.end(),
      {
          {"enable.auto.commit", "false"},
          {"enable.auto.offset.store", "false"},
          {"auto.offset.reset", "error"},  // an offset out of range is an incident, never a reset
          {"isolation.level", "read_committed"},
          {"allow.auto.create.topics", "false"},
          {"enable.partition.eof", "true"},  // tells "all is read" from markers of transactions
          // Per partition, because the queues are split; beyond it fetching pauses, for a whole
          // second before 2.2. The number stands for what small records cost beside their bytes.
          {"queued.min.messages", std::to_string(facts.prefetch_share / kLeastRecord)},
          {"queued.max.messages.kbytes", std::to_string(facts.prefetch_share >> 10)},
          {"fetch.wait.max.ms", "100"},
          {"fetch.message.max.bytes", "2097152"},
          {"fetch.error.backoff.ms", "100"},
      });
  if (rd_kafka_version() >= kQueueBackoffSince) {
    properties.emplace_back("fetch.queue.backoff.ms", "10");
  }
  return properties;
}

Properties Consumer(const RuntimeOptions& options, const ClientFacts& facts) {
  const auto session = std::chrono::duration_cast<milliseconds>(options.core.session_timeout);
  Properties properties = Reader(options, facts);
  properties.insert(
      properties.end(),
      {
          {"group.id", options.kafka.group},
          {"session.timeout.ms", std::to_string(session.count())},
          {"max.poll.interval.ms", std::to_string(DefaultPollInterval(session).count())},
          {"heartbeat.interval.ms", std::to_string(DefaultHeartbeat(options.core).count())},
          {"partition.assignment.strategy", facts.cooperative ? "cooperative-sticky" : "range"},
          {"statistics.interval.ms", std::to_string(facts.statistics.count())},
      });
  return properties;
}

Properties Observer(const RuntimeOptions& options) {
  Properties properties = Connection(options);
  properties.insert(properties.end(), {{"isolation.level", "read_uncommitted"},
                                       {"allow.auto.create.topics", "false"},
                                       // Many partitions may be read at once.
                                       {"queued.max.messages.kbytes", "1024"}});
  return properties;
}

Status Set(rd_kafka_conf_t* conf, const std::string& name, const std::string& value) {
  char why[512];
  if (rd_kafka_conf_set(conf, name.c_str(), value.c_str(), why, sizeof why) == RD_KAFKA_CONF_OK) {
    return {};
  }
  // librdkafka's text may quote the value, and the value may be a secret.
  return Error{Code::kInvalid, Effect::kNone,
               "librdkafka does not take this value of its property `" + name + "`"};
}

Result<ClientPtr> Open(rd_kafka_type_t type, const Properties& ours, const Properties& users,
                       int events) {
  ConfPtr conf(rd_kafka_conf_new());
  for (const auto& [name, value] : ours) {
    if (auto status = Set(conf.get(), name, value); !status) {
      return status.error();
    }
  }
  for (const auto& [name, value] : users) {
    if (auto status = CheckKafkaProperty(name, value); !status) {
      return status.error();
    }
    if (auto status = Set(conf.get(), name, value); !status) {
      return status.error();
    }
  }
  rd_kafka_conf_set_log_cb(conf.get(), LogLine);
  rd_kafka_conf_set_events(conf.get(), events);
  char why[512];
  ClientPtr client(rd_kafka_new(type, conf.get(), why, sizeof why));
  if (client == nullptr) {
    return Error{Code::kInvalid, Effect::kNone, std::string("no Kafka client: ") + why};
  }
  static_cast<void>(conf.release());  // the client owns it
  return client;
}

// Those of the user's properties that reach the same brokers in the same way.
Properties ConnectionOnly(const Properties& users) {
  Properties kept;
  for (const auto& property : users) {
    const std::string& name = property.first;
    const bool consumers = name.starts_with("fetch.") || name.starts_with("queued.") ||
                           name.starts_with("group.") || name.starts_with("max.");
    if (!consumers && name != "heartbeat.interval.ms") {
      kept.push_back(property);
    }
  }
  return kept;
}

}  // namespace

uint64_t PrefetchShare(uint64_t total, int32_t partitions) {
  constexpr uint64_t kUnknown = 8 << 20;
  constexpr uint64_t kLeast = 1 << 20;
  constexpr uint64_t kMost = 64 << 20;  // more is no faster
  return partitions <= 0 ? kUnknown
                         : std::clamp(total / static_cast<uint64_t>(partitions), kLeast, kMost);
}

ClientFacts ChooseFeatures(const KafkaOptions& options) {
  ClientFacts facts;
  facts.version = rd_kafka_version_str();
  if (options.assignor == KafkaOptions::Assignor::kCooperativeSticky) {
    facts.cooperative = rd_kafka_version() >= kCooperativeSince;
    if (!facts.cooperative) {
      Log(LogLevel::kWarn, "kafka",
          "cooperative-sticky needs librdkafka 2.10 or newer; this member rebalances by range",
          {{"librdkafka", facts.version}});
    }
  }
  Log(LogLevel::kInfo, "kafka", "client",
      {{"librdkafka", facts.version},
       {"assignor", facts.cooperative ? "cooperative-sticky" : "range"}});
  return facts;
}

Result<ClientPtr> OpenClient(const RuntimeOptions& options, const ClientFacts& facts) {
  return Open(RD_KAFKA_CONSUMER, Consumer(options, facts), options.kafka.properties,
              RD_KAFKA_EVENT_REBALANCE | RD_KAFKA_EVENT_OFFSET_COMMIT | RD_KAFKA_EVENT_ERROR |
                  RD_KAFKA_EVENT_STATS);
}

Result<ClientPtr> OpenObserver(const RuntimeOptions& options) {
  return Open(RD_KAFKA_CONSUMER, Observer(options), ConnectionOnly(options.kafka.properties), 0);
}

Result<ClientPtr> OpenGroupObserver(const RuntimeOptions& options) {
  Properties properties = Observer(options);
  properties.insert(properties.end(),
                    {{"group.id", options.kafka.group}, {"enable.auto.commit", "false"}});
  return Open(RD_KAFKA_CONSUMER, properties, ConnectionOnly(options.kafka.properties), 0);
}

// Readers by offset have another property for commits.
Result<ClientPtr> OpenReplayClient(const RuntimeOptions& options) {
  Properties properties = Reader(options, {});
  properties.emplace_back("auto.commit.enable", "false");
  return Open(RD_KAFKA_CONSUMER, properties, ConnectionOnly(options.kafka.properties), 0);
}

Result<ClientPtr> OpenProducer(const RuntimeOptions& options, milliseconds answer_within) {
  Properties properties = Connection(options);
  properties.insert(properties.end(),
                    {{"acks", "all"},
                     {"enable.idempotence", "true"},
                     {"linger.ms", "0"},
                     {"message.max.bytes", "100000000"},  // the broker decides
                     {"message.timeout.ms", std::to_string(answer_within.count())}});
  return Open(RD_KAFKA_PRODUCER, properties, ConnectionOnly(options.kafka.properties),
              RD_KAFKA_EVENT_DR);
}

}  // namespace oncemq
