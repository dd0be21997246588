// SPDX-License-Identifier: Apache-2.0
#include "watch.h"

#include <algorithm>

#include "safe_json.h"
#include "units.h"

namespace oncemq {
namespace {

constexpr size_t kLongestGroup = 249;
constexpr std::string_view kWatchPart = ".watch.";

// Not within a character: bytes that continue one in UTF-8 begin with the bits 10.
std::string_view CutText(std::string_view text, size_t most) {
  if (text.size() <= most) {
    return text;
  }
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xC0) == 0x80) {
    most--;
  }
  return text.substr(0, most);
}

// Of the service's window it keeps the source of the ids and the times of claims. Nobody can check
// a line that was printed, so the level is opaque.
void WatchInMemory(ServiceOptions& options) {
  if (options.engine != ServiceOptions::Engine::kNone) {
    options.memory.times = TimesOf(options);
    options.engine = ServiceOptions::Engine::kMemory;
  }
  options.memory.level = Level::kOpaque;
  options.memory.partition_owned = options.runtime.ids_partition_owned;
  const CoreOptions& core = options.runtime.core;
  options.memory.max_open =
      std::max(options.memory.max_open, core.in_flight + core.waiting.messages);
  options.local = {};
  options.postgres = {};
  options.postgres_at.clear();
  options.redis = {};
  options.redis_at.clear();
  RuntimeOptions& runtime = options.runtime;
  // The group of a watch has one member: all copies of an id come to its window.
  runtime.ids_partition_owned = true;
  runtime.policy.level = Level::kOpaque;
  runtime.one_host = false;
  runtime.catch_up = 0;
  runtime.incomplete = IncompletePolicy::kRun;
}

// A message that the service would refuse would end the watch of its partition.
void WatchRefusesNothing(RuntimeOptions& runtime) {
  runtime.policy.reject = RejectPolicy::kStop;
  runtime.journal.clear();
  runtime.missing_id = MissingId::kPass;
  runtime.conflicts = ConflictPolicy::kIgnore;
  if (runtime.null_key == NullKey::kRefuse) {
    runtime.null_key = NullKey::kUnordered;
  }
  runtime.kafka.out_of_range = KafkaOptions::OutOfRange::kResumeAtLogStart;
}

std::string WatchStart(const KafkaOptions& kafka) {
  switch (kafka.start) {
    case KafkaOptions::Start::kEarliest:
      return "begins at the start of the log";
    case KafkaOptions::Start::kNow:
      return "begins with the messages that arrive from now on";
    case KafkaOptions::Start::kTime:
      return "begins at " + FormatTime(kafka.start_time_ms);
  }
  return "?";
}

}  // namespace

std::string WatchGroup(std::string_view group, std::string_view mark) {
  const size_t more = kWatchPart.size() + mark.size();
  std::string name(CutText(group, kLongestGroup - std::min(more, kLongestGroup)));
  return name.append(kWatchPart).append(mark);
}

ServiceOptions WatchOptions(ServiceOptions service, const WatchRequest& request) {
  KafkaOptions& kafka = service.runtime.kafka;
  kafka.group = WatchGroup(kafka.group, request.mark);
  if (request.only_new) {
    kafka.start = KafkaOptions::Start::kNow;
  }
  WatchInMemory(service);
  WatchRefusesNothing(service.runtime);
  service.runtime.locks = {};
  service.locks = {};
  service.admin = {};
  service.log.file.clear();
  return service;
}

std::string WatchText(const ServiceOptions& service, const ServiceOptions& watch) {
  std::string topics;
  for (const std::string& topic : watch.runtime.kafka.topics) {
    topics += (topics.empty() ? "" : ", ") + SafeText(topic);
  }
  return "watching " + topics + " as group " + SafeJson(watch.runtime.kafka.group) +
         ": nothing is committed to " + SafeJson(service.runtime.kafka.group) +
         " and its window is not touched; " + WatchStart(watch.runtime.kafka);
}

}  // namespace oncemq
