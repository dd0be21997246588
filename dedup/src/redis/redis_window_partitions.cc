// SPDX-License-Identifier: Apache-2.0
// The window in Redis: the history of each partition, ageing, and statistics.
#include <algorithm>
#include <array>
#include <atomic>
#include <limits>

#include "../other_owner.h"
#include "../remember_times.h"
#include "../window_check.h"
#include "oncemq/base/bytes.h"
#include "oncemq/base/log.h"
#include "packed.h"
#include "redis_window_engine.h"

namespace oncemq {
namespace {

constexpr int kSweepsAtOnce = 1;      // for one call of Committed(): others wait for it
constexpr int kSweepBuckets = 1'000;  // of a step
constexpr uint64_t kOwnerEpochEnd = uint64_t{1} << 53;  // Lua's numbers are exact below

int64_t DecimalOf(const RedisReply& reply) {
  return ParseDecimal(reply.text).value_or(0);
}

// HGETALL.
std::map<std::string, std::string> FieldsOf(const RedisReply& reply) {
  std::map<std::string, std::string> fields;
  for (size_t i = 0; i + 1 < reply.list.size(); i += 2) {
    fields[reply.list[i].text] = reply.list[i + 1].text;
  }
  return fields;
}

int64_t DecimalOf(const std::map<std::string, std::string>& fields, const std::string& name,
                  int64_t missing) {
  const auto found = fields.find(name);
  return found == fields.end() ? missing : ParseDecimal(found->second).value_or(missing);
}

// `asked`: before the server was. `server_micros`: its time.
Result<StoreKnowledge> ReadKnown(std::string_view answer, BootTime asked,
                                 std::atomic<int64_t>& server_micros) {
  PackedReader reader(answer);
  reader.Bytes(9);
  std::array<int64_t, 7> numbers{};
  std::string_view rest = reader.rest();
  for (int64_t& number : numbers) {
    const size_t end = rest.find('\n');
    const auto value = ParseDecimal(rest.substr(0, end));
    if (!reader.good() || !value || end == rest.npos) {
      return Error{Code::kCorrupt, Effect::kNone, "what is known of a partition cannot be read"};
    }
    number = *value;
    rest.remove_prefix(end + 1);
  }
  StoreKnowledge known;
  known.source = static_cast<uint32_t>(numbers[0]);
  known.from = numbers[1];
  known.to = numbers[2];
  known.offset = numbers[3];
  known.lost_writes = numbers[4] != 0;
  const microseconds since(numbers[5]);
  known.lost_since = asked - since;
  server_micros = numbers[6];
  known.metadata = std::string(rest);
  return known;
}

PartitionStat ReadPartition(const std::string& name, const RedisReply& reply) {
  const auto fields = FieldsOf(reply);
  const size_t colon = name.find(':');
  const int64_t watermark = DecimalOf(fields, "watermark", -1);
  PartitionStat one;
  one.source = static_cast<uint32_t>(ParseDecimal(name.substr(0, colon)).value_or(0));
  one.partition = static_cast<int32_t>(ParseDecimal(name.substr(colon + 1)).value_or(0));
  one.owner_epoch = static_cast<OwnerEpoch>(DecimalOf(fields, "own", 0));
  one.frontier = DecimalOf(fields, "frontier", -1);
  one.watermark = watermark < 0 ? kNoLogTime : LogTime(milliseconds(watermark));
  one.known_from = DecimalOf(fields, "from", 0);
  one.known_to = DecimalOf(fields, "to", 0);
  one.announced = DecimalOf(fields, "at", -1);
  return one;
}

}  // namespace

// The topic gets its number here, for ever: two members with other lists of topics agree. The first
// opening of each partition tells of a loss.
Result<StoreKnowledge> RedisWindow::Open(const StoreName& name) {
  ScriptArguments arguments;
  arguments.Add(name.topic);
  arguments.Number(name.partition);
  arguments.Add(name.owner);
  const BootTime asked = BootNow();
  ServerSnapshot under;
  const auto answer = RunFor({}, scripts_.open, arguments, /*replicas=*/0, &under);
  if (!answer) {
    return answer.error();
  }
  if (answer->starts_with('O')) {
    return OtherOwner(ScopeText(options_.scope), answer->substr(1), name.owner);
  }
  auto known = ReadKnown(*answer, asked, server_micros_);
  if (!known) {
    return known;
  }
  known->incarnation = ParseHex(under.scope->incarnation).value_or(0);
  const Partition partition{known->source, name.partition};
  {
    MutexLock lock(mutex_);
    const auto opened = opened_.find(partition);
    known->lost_writes |= opened != opened_.end() && opened->second < under.losses;
  }
  if (known->lost_writes) {
    // The server may have lost longer times, too. Without an answer the next call tells the loss.
    if (const auto extended = FindScope("extend", /*again=*/true); !extended) {
      return extended.error();
    }
  }
  // As of the answer: a loss that was counted since is told to the next call.
  MutexLock lock(mutex_);
  uint64_t& opened = opened_.try_emplace(partition, under.losses).first->second;
  opened = std::max(opened, under.losses);
  return known;
}

// Nothing is held for the partition. When it was opened stays known: batches of it may still be at
// work, and a loss must be told to them too.
void RedisWindow::Close(uint32_t, int32_t) {}

Result<OwnerEpoch> RedisWindow::RaiseOwnerEpoch(uint32_t source, int32_t partition,
                                                OwnerEpoch floor) {
  if (partition < 0) {
    return InvalidRequest("only a partition is owned, not number " + std::to_string(partition));
  }
  if (floor >= kOwnerEpochEnd) {
    return InvalidRequest("an ownership in Redis is below 2^53");
  }
  ScriptArguments arguments;
  arguments.Keep(PartitionName(source, partition));
  arguments.Number(floor);
  const std::array partitions{Partition{source, partition}};
  const auto answer = RunFor(partitions, scripts_.owner_epoch, arguments);
  if (!answer) {
    return answer.error();
  }
  PackedReader reader(*answer);
  reader.Bytes(9);
  const OwnerEpoch owner_epoch = reader.Number(8);
  server_micros_ = static_cast<int64_t>(reader.Number(8));
  return reader.good() ? Result<OwnerEpoch>(owner_epoch) : RedisStrange();
}

// A commit that rests on lost changes must not be sent: so the script itself looks at the count.
Status RedisWindow::Announce(std::span<const Announcement> announcements) {
  if (Status fit = CheckAnnouncements(announcements); !fit) {
    return fit;
  }
  ScriptArguments arguments;
  std::vector<Partition> partitions;
  arguments.Number(NextAnnouncement());
  for (const Announcement& one : announcements) {
    partitions.emplace_back(one.source, one.partition);
    if (!one.commits) {
      continue;
    }
    arguments.Keep(PartitionName(one.source, one.partition));
    arguments.Number(one.owner_epoch);
    arguments.Number(one.from);
    arguments.Number(one.to);
    arguments.Number(one.offset);
    arguments.Add(one.metadata);
    arguments.Add(one.complete ? "1" : "0");
  }
  // Without a commit only replicas may lack something, and they have it with the script.
  if (announcements.empty() || (!announcements[0].commits && options_.replicas == 0)) {
    return {};
  }
  const auto answer = RunFor(partitions, scripts_.announce, arguments, options_.replicas);
  if (!answer) {
    return answer.error();
  }
  if (*answer == "F") {
    return NewerOwner();
  }
  reports_.Announced(std::string_view(*answer).substr(9));
  return {};
}

Status RedisWindow::Committed(std::span<const Progress> progress, std::span<MarkerChange> answers) {
  if (Status fit = CheckProgress(progress, answers.size()); !fit) {
    return fit;
  }
  ScriptArguments arguments;
  std::vector<Partition> partitions;
  for (const Progress& one : progress) {
    const int64_t watermark = std::max<int64_t>(one.watermark.time_since_epoch().count(), 0);
    partitions.emplace_back(one.source, one.partition);
    arguments.Keep(PartitionName(one.source, one.partition));
    arguments.Number(one.owner_epoch);
    arguments.Number(LuaOffset(one.frontier));
    arguments.Keep(one.watermark == kNoLogTime ? "" : std::to_string(LuaOffset(watermark)));
  }
  if (progress.empty()) {
    return {};
  }
  const auto answer = RunFor(partitions, scripts_.committed, arguments);
  if (!answer) {
    return answer.error();
  }
  constexpr size_t kBefore = 17;
  if (answer->size() != kBefore + progress.size()) {
    return RedisStrange();
  }
  PackedReader reader(*answer);
  reader.Bytes(9);
  kept_ = milliseconds(static_cast<int64_t>(reader.Number(8)));
  for (size_t i = 0; i < progress.size(); i++) {
    answers[i] = (*answer)[kBefore + i] == '1' ? MarkerChange::kMade : MarkerChange::kFenced;
  }
  if (options_.partition_owned) {
    return {};  // nothing lies in slices
  }
  // Only the space depends on it.
  if (const auto swept = Sweep(kSweepsAtOnce, BootNow() + options_.call, false); !swept) {
    LogSeldom(LogLevel::kWarn, "window",
              "Redis could not forget old ids; a later commit tries again",
              {{"key", key_}, {"error", ToString(swept.error())}});
  }
  return {};
}

// Some buckets at a time; the rest goes with a later commit, of any process.
Result<uint64_t> RedisWindow::Sweep(int steps, BootTime until, bool force) {
  ScriptArguments arguments;
  arguments.Number(kSweepBuckets);
  arguments.Add(force ? "1" : "0");
  uint64_t gone = 0;
  for (bool more = true; more && steps > 0 && BootNow() < until; steps--) {
    const auto swept = RunFor({}, scripts_.sweep, arguments);
    if (!swept) {
      return swept.error();
    }
    PackedReader reader(*swept);
    reader.Bytes(1);
    gone += reader.Number(8);
    more = reader.rest() == "1";
  }
  return gone;
}

Result<uint64_t> RedisWindow::DropAged(milliseconds within) {
  return Sweep(std::numeric_limits<int>::max(), BootNow() + within, /*force=*/true);
}

Result<std::vector<StoreStat>> RedisWindow::Stat() {
  const std::string slices = base_ + "s";
  const std::string watermarks = base_ + "w";
  const std::array first{RedisCommand{"HGETALL", key_}, RedisCommand{"HGETALL", slices},
                         RedisCommand{"ZRANGE", watermarks, "0", "-1"}};
  // More commands than a script has: their time says nothing of the server.
  const auto scope = ReadUnguarded(first);
  if (!scope) {
    return scope.error();
  }
  std::vector<std::string> keys;
  for (const auto& [slice, kept] : FieldsOf((*scope)[1])) {
    keys.push_back(base_ + "x:" + slice);
  }
  const size_t tallies = keys.size();
  for (const RedisReply& partition : (*scope)[2].list) {
    keys.push_back(base_ + "p:" + partition.text);
  }
  std::vector<RedisCommand> second;
  for (size_t i = 0; i < keys.size(); i++) {
    second.push_back(i < tallies ? RedisCommand{"HGET", keys[i], "n"}
                                 : RedisCommand{"HGETALL", keys[i]});
  }
  const auto more = second.empty() ? Result<std::vector<RedisReply>>(std::vector<RedisReply>())
                                   : ReadUnguarded(second);
  if (!more) {
    return more.error();
  }
  const auto fields = FieldsOf(scope->front());
  StoreStat stat;
  stat.directory = base_;
  stat.identity = options_.scope;
  stat.level = *options_.level;
  stat.incarnation = ParseHex(fields.count("inc") != 0 ? fields.at("inc") : "").value_or(0);
  stat.remembers = {milliseconds(DecimalOf(fields, "remember", 0)),
                    milliseconds(DecimalOf(fields, "skew", 0))};
  stat.buckets = tallies;
  for (size_t i = 0; i < tallies; i++) {
    stat.history += static_cast<uint64_t>(DecimalOf((*more)[i]));
  }
  stat.open = static_cast<uint64_t>(DecimalOf(fields, "open", 0));
  stat.parked = static_cast<uint64_t>(DecimalOf(fields, "parked", 0));
  const LogTime horizon = HorizonOf(static_cast<uint64_t>(DecimalOf(fields, "horizon", 0)));
  stat.horizon = horizon == LogTime::min() ? kNoLogTime : horizon;
  for (size_t i = tallies; i < keys.size(); i++) {
    PartitionStat& one =
        stat.partitions.emplace_back(ReadPartition((*scope)[2].list[i - tallies].text, (*more)[i]));
    const auto owned = FieldsOf((*more)[i]);
    stat.history += static_cast<uint64_t>(DecimalOf(owned, "ids", 0));
    stat.parked += static_cast<uint64_t>(DecimalOf(owned, "parked", 0));
    // In the order of the watermarks.
    one.pins = one.watermark == kNoLogTime || one.watermark == stat.partitions.front().watermark;
  }
  std::sort(stat.partitions.begin(), stat.partitions.end(),
            [](const PartitionStat& a, const PartitionStat& b) {
              return std::pair(a.source, a.partition) < std::pair(b.source, b.partition);
            });
  return std::vector<StoreStat>{std::move(stat)};
}

}  // namespace oncemq
