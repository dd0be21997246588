// SPDX-License-Identifier: Apache-2.0
#include "kafka_properties.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "edit_distance.h"
#include "oncemq/base/bytes.h"
#include "quoted.h"

namespace oncemq {
namespace {

constexpr PropertyUse kAllowed = PropertyUse::kAllowed;
constexpr PropertyUse kNumber = PropertyUse::kNumber;
constexpr PropertyUse kSecret = PropertyUse::kSecret;
constexpr PropertyUse kInShell = PropertyUse::kInShell;
constexpr PropertyUse kRefused = PropertyUse::kRefused;

constexpr std::string_view kLoadsCode = "it loads code into the process";
constexpr std::string_view kSourceOwnsIt = "the Kafka source sets it";
constexpr std::string_view kCommitsOwnIt =
    "only finished messages are committed, so commits belong to the runtime";

constexpr KafkaProperty kProperties[] = {
    // Connection
    {"broker.address.family", kAllowed},
    {"broker.address.ttl", kNumber},
    {"client.dns.lookup", kAllowed},
    {"client.id", kAllowed},
    {"client.rack", kAllowed},
    {"connections.max.idle.ms", kNumber},
    {"debug", kAllowed},
    {"enable.metrics.push", kAllowed},
    {"log.connection.close", kAllowed},
    {"metadata.max.age.ms", kNumber},
    {"metadata.recovery.rebootstrap.trigger.ms", kNumber},
    {"metadata.recovery.strategy", kAllowed},
    {"reconnect.backoff.max.ms", kNumber},
    {"reconnect.backoff.ms", kNumber},
    {"retry.backoff.max.ms", kNumber},
    {"retry.backoff.ms", kNumber},
    {"socket.connection.setup.timeout.ms", kNumber},
    {"socket.keepalive.enable", kAllowed},
    {"socket.max.fails", kNumber},
    {"socket.nagle.disable", kAllowed},
    {"socket.receive.buffer.bytes", kNumber},
    {"socket.send.buffer.bytes", kNumber},
    {"socket.timeout.ms", kNumber},
    {"topic.metadata.refresh.fast.interval.ms", kNumber},
    {"topic.metadata.refresh.interval.ms", kAllowed},  // -1: never
    {"topic.metadata.refresh.sparse", kAllowed},

    // Security
    {"https.ca.location", kAllowed},
    {"https.ca.pem", kAllowed},
    {"sasl.kerberos.keytab", kInShell},
    {"sasl.kerberos.min.time.before.relogin", kNumber},
    {"sasl.kerberos.principal", kInShell},
    {"sasl.kerberos.service.name", kInShell},
    {"sasl.mechanism", kAllowed},
    {"sasl.mechanisms", kAllowed},
    {"sasl.oauthbearer.client.id", kAllowed},
    {"sasl.oauthbearer.client.secret", kSecret},
    {"sasl.oauthbearer.extensions", kSecret},
    {"sasl.oauthbearer.method", kAllowed},
    {"sasl.oauthbearer.scope", kAllowed},
    {"sasl.oauthbearer.token.endpoint.url", kAllowed},
    {"sasl.password", kSecret},
    {"sasl.username", kSecret},
    {"security.protocol", kAllowed},
    {"ssl.ca.location", kAllowed},
    {"ssl.ca.pem", kAllowed},
    {"ssl.certificate.location", kAllowed},
    {"ssl.certificate.pem", kAllowed},
    {"ssl.cipher.suites", kAllowed},
    {"ssl.crl.location", kAllowed},
    {"ssl.curves.list", kAllowed},
    {"ssl.endpoint.identification.algorithm", kAllowed},
    {"ssl.key.location", kAllowed},
    {"ssl.key.password", kSecret},
    {"ssl.key.pem", kSecret},
    {"ssl.keystore.location", kAllowed},
    {"ssl.keystore.password", kSecret},
    {"ssl.sigalgs.list", kAllowed},

    // Fetching and membership
    {"check.crcs", kAllowed},
    {"fetch.error.backoff.ms", kNumber},
    {"fetch.max.bytes", kNumber},
    {"fetch.message.max.bytes", kNumber},
    {"fetch.min.bytes", kNumber},
    {"fetch.queue.backoff.ms", kNumber},
    {"fetch.wait.max.ms", kNumber},
    {"heartbeat.interval.ms", kNumber},
    {"max.partition.fetch.bytes", kNumber},
    {"max.poll.interval.ms", kNumber},
    {"queued.max.messages.kbytes", kNumber},
    {"queued.min.messages", kNumber},
    {"receive.message.max.bytes", kNumber},

    // Has an option of its own
    {"auto.offset.reset", kRefused,
     "an offset out of range is an incident, never a reset; a group without commits starts where "
     "`kafka.start` says"},
    {"bootstrap.servers", kRefused, "write `kafka.brokers`"},
    {"group.id", kRefused, "write `kafka.group`"},
    {"log_level", kRefused, "write `log.level`"},
    {"metadata.broker.list", kRefused, "write `kafka.brokers`"},
    {"partition.assignment.strategy", kRefused, "write `kafka.assignor`"},
    {"session.timeout.ms", kRefused,
     "write `kafka.session_timeout`; the runtime counts its right to act by it"},

    // Moves the position behind the runtime's back
    {"auto.commit.enable", kRefused, kCommitsOwnIt},
    {"auto.commit.interval.ms", kRefused, "write `kafka.commit_interval`"},
    {"enable.auto.commit", kRefused, kCommitsOwnIt},
    {"enable.auto.offset.store", kRefused, kCommitsOwnIt},
    {"offset.store.method", kRefused, kCommitsOwnIt},
    {"offset.store.path", kRefused, kCommitsOwnIt},
    {"offset.store.sync.interval.ms", kRefused, kCommitsOwnIt},

    // Weakens what the guarantee stands on
    {"allow.auto.create.topics", kRefused, "a misspelt topic must be an error, not a new topic"},
    {"api.version.request", kRefused, "headers and commit metadata need it on"},
    {"broker.version.fallback", kRefused, "brokers before 0.11 have no message headers"},
    {"enable.partition.eof", kRefused, kSourceOwnsIt},
    {"enable.sasl.oauthbearer.unsecure.jwt", kRefused, "it logs in with unsigned tokens"},
    {"enable.ssl.certificate.verification", kRefused,
     "without it anybody can play the broker; name your authority in `ssl.ca.location`"},
    {"group.instance.id", kRefused,
     "a static member that the group has forgotten joins again without a word and without waiting "
     "for its commits, so that a late one may throw back the partition's next owner"},
    {"group.protocol", kRefused, "only the classic group protocol is covered so far"},
    {"group.protocol.type", kRefused, "only consumer groups are covered"},
    {"group.remote.assignor", kRefused, "only the classic group protocol is covered so far"},
    {"isolation.level", kRefused,
     "it is always read_committed: records of an aborted transaction must not be handled"},
    {"sasl.oauthbearer.config", kRefused, "only the unsecured token handler reads it"},

    // Loads or runs code
    {"plugin.library.paths", kRefused, kLoadsCode},
    {"sasl.kerberos.kinit.cmd", kRefused, "it is run by a shell"},
    {"ssl.engine.id", kRefused, kLoadsCode},
    {"ssl.engine.location", kRefused, kLoadsCode},
    {"ssl.providers", kRefused, kLoadsCode},

    // Nobody here would hear it
    {"internal.termination.signal", kRefused, kSourceOwnsIt},
    {"log.queue", kRefused, "librdkafka's log goes into ours"},
    {"log.thread.name", kRefused, "librdkafka's log goes into ours"},
    {"statistics.interval.ms", kRefused, kSourceOwnsIt},
};

bool IsShellSafe(std::string_view value) {
  return !value.empty() && value.front() != '-' &&
         std::all_of(value.begin(), value.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  std::string_view("._/@:-").find(c) != std::string_view::npos;
         });
}

Error Refused(std::string_view name, std::string_view why) {
  std::string text = "librdkafka's property " + Quoted(name) + " is refused: ";
  return {Code::kInvalid, Effect::kNone, text += why};
}

std::string NearestAllowed(std::string_view name) {
  std::vector<std::string_view> allowed;
  for (const KafkaProperty& property : kProperties) {
    if (property.use != kRefused) {
      allowed.push_back(property.name);
    }
  }
  return DidYouMean(name, allowed);
}

}  // namespace

std::span<const KafkaProperty> KafkaProperties() {
  return kProperties;
}

const KafkaProperty* FindKafkaProperty(std::string_view name) {
  const auto* const found =
      std::find_if(std::begin(kProperties), std::end(kProperties),
                   [&](const KafkaProperty& property) { return property.name == name; });
  return found != std::end(kProperties) ? found : nullptr;
}

std::optional<int32_t> KafkaNumber(std::string_view value) {
  const bool octal = value.size() > 1 && value.front() == '0';
  const auto number = octal ? std::nullopt : ParseDecimal(value);
  if (!number || value.front() == '-' || *number > std::numeric_limits<int32_t>::max()) {
    return std::nullopt;
  }
  return static_cast<int32_t>(*number);
}

Status CheckKafkaProperty(std::string_view name, std::string_view value) {
  const KafkaProperty* property = FindKafkaProperty(name);
  if (property == nullptr) {
    return Refused(name, "it is not among those that are passed on" + NearestAllowed(name));
  }
  if (property->use == kRefused) {
    return Refused(name, property->why);
  }
  if (value.find('\0') != std::string_view::npos) {
    return Refused(name, "its value holds a zero byte");
  }
  if (property->use == kNumber && !KafkaNumber(value)) {
    return Refused(name, "its value must be a whole number in plain digits");
  }
  if (property->use == kInShell && !IsShellSafe(value)) {
    return Refused(name,
                   "its value ends up in a shell command, so only letters, digits and . _ / @ : - "
                   "are taken");
  }
  return {};
}

Status CheckHeartbeat(std::string_view name, std::string_view value, microseconds session_margin) {
  if (name != "heartbeat.interval.ms") {
    return {};
  }
  const auto heartbeat = KafkaNumber(value);
  if (!heartbeat || milliseconds(*heartbeat) > session_margin) {
    const auto most = std::chrono::floor<milliseconds>(session_margin).count();
    return Error{Code::kInvalid, Effect::kNone,
                 "`heartbeat.interval.ms` must be a number in plain digits, and at most the "
                 "session margin (" +
                     std::to_string(most) +
                     " ms): by a heartbeat a member learns that the group has moved on without it"};
  }
  return {};
}

std::string PrintableKafkaProperty(std::string_view name, std::string_view value) {
  const KafkaProperty* property = FindKafkaProperty(name);
  const bool open = property != nullptr && property->use != kSecret && property->use != kRefused;
  return open ? std::string(value) : "(not shown)";
}

}  // namespace oncemq
