// SPDX-License-Identifier: Apache-2.0
// The window in Redis: the record of uncertain calls (uncertain.lua), for ids of both kinds.
#include <algorithm>
#include <array>
#include <map>

#include "../id_digest.h"
#include "../uncertain_calls.h"
#include "oncemq/base/bytes.h"
#include "packed.h"
#include "redis_ids.h"
#include "redis_window_engine.h"

namespace oncemq {
namespace {

constexpr size_t kMostCalls = 500;  // of a script: others wait for it
constexpr size_t kMostRead = 1'000;

std::string BytesOf(const Coordinates& at) {
  std::string bytes;
  AppendPacked(bytes, at.source, 4);
  AppendPacked(bytes, static_cast<uint32_t>(at.partition), 4);
  AppendPacked(bytes, static_cast<uint64_t>(at.offset), 8);
  return bytes;
}

// False: the row is not ours.
bool ReadRow(std::string_view row, int64_t since_ms, std::vector<UncertainRecord>& records) {
  PackedReader reader(row);
  const std::string id(reader.Bytes(reader.Number(2)));
  while (reader.good() && !reader.rest().empty()) {
    UncertainRecord record{.id = id};
    record.at.source = static_cast<uint32_t>(reader.Number(4));
    record.at.partition = static_cast<int32_t>(static_cast<uint32_t>(reader.Number(4)));
    record.at.offset = static_cast<int64_t>(reader.Number(8));
    record.first.micros = static_cast<int64_t>(reader.Number(8)) * 1'000;
    const auto last_ms = static_cast<int64_t>(reader.Number(8));
    record.last.micros = last_ms * 1'000;
    record.attempt = static_cast<uint32_t>(reader.Number(4));
    if (reader.good() && last_ms >= since_ms) {
      records.push_back(std::move(record));
    }
  }
  return reader.good();
}

}  // namespace

Status RedisWindow::RecordUncertain(std::span<const UncertainCall> calls) {
  const std::string kept = std::to_string(std::max(kUncertainKept, options_.remember).count());
  for (size_t done = 0; done < calls.size();) {
    const std::span<const UncertainCall> some =
        calls.subspan(done, std::min(kMostCalls, calls.size() - done));
    auto snapshot = SnapshotFor({});
    if (!snapshot) {
      return snapshot.error();
    }
    IdDigester digester(snapshot->scope->secret);
    ScriptArguments arguments;
    arguments.Add(kept);
    for (const UncertainCall& call : some) {
      const std::string at = BytesOf(call.at);
      arguments.Keep(call.id.empty() ? "!" + at : RedisIds::DigestOf(call.id, digester));
      arguments.Add(call.id);
      arguments.Keep(at);
      arguments.Number(call.attempt);
    }
    const auto answer = RunFor({}, scripts_.uncertain, arguments, options_.replicas, &*snapshot);
    const auto taken = answer ? TakeWritten(*snapshot, *answer) : answer.error();
    if (!taken) {
      return taken.error();
    }
    done += some.size();
  }
  return {};
}

Result<std::vector<UncertainRecord>> RedisWindow::ListUncertain(WallTime since) {
  const std::string calls = base_ + "u";
  const std::string order = base_ + "ut";
  const std::string topics = base_ + "topics";
  const std::string since_ms = std::to_string(since.micros / 1'000);
  const std::array index{RedisCommand{"ZRANGEBYSCORE", order, since_ms, "+inf"},
                         RedisCommand{"HGETALL", topics}};
  const auto listed = Read(index);
  if (!listed) {
    return listed.error();
  }
  std::vector<UncertainRecord> records;
  const std::vector<RedisReply>& fields = listed->front().list;
  for (size_t done = 0; done < fields.size(); done += kMostRead) {
    RedisCommand command{"HMGET", calls};
    for (size_t i = done; i < std::min(fields.size(), done + kMostRead); i++) {
      command.push_back(fields[i].text);
    }
    const auto rows = Read({&command, 1});
    if (!rows) {
      return rows.error();
    }
    for (const RedisReply& row : rows->front().list) {
      if (!row.text.empty() && !ReadRow(row.text, since.micros / 1'000, records)) {
        return RedisStrange();
      }
    }
  }
  std::map<uint32_t, std::string> names;
  const std::vector<RedisReply>& pairs = listed->back().list;
  for (size_t i = 0; i + 1 < pairs.size(); i += 2) {
    names[static_cast<uint32_t>(ParseDecimal(pairs[i + 1].text).value_or(0))] = pairs[i].text;
  }
  for (UncertainRecord& record : records) {
    record.topic = names[record.at.source];
  }
  SortByLastCall(records);
  return records;
}

Status RedisWindow::MarkUncertain(std::span<const std::string_view> ids,
                                  std::span<MarkerView> views) {
  const auto snapshot = SnapshotFor({});
  if (!snapshot || ids.empty()) {
    return snapshot ? Status() : Status(snapshot.error());
  }
  IdDigester digester(snapshot->scope->secret);
  std::vector<std::string> digests;
  for (const std::string_view id : ids) {
    digests.push_back(RedisIds::DigestOf(id, digester));
  }
  const std::string calls = base_ + "u";
  RedisCommand command{"HMGET", calls};
  command.insert(command.end(), digests.begin(), digests.end());
  const auto rows = Read({&command, 1});
  if (!rows || rows->front().list.size() != ids.size()) {
    return rows ? RedisStrange() : rows.error();
  }
  for (size_t i = 0; i < ids.size(); i++) {
    const bool recorded = !rows->front().list[i].text.empty();
    views[i].uncertain |= recorded && views[i].state != MarkerState::kNone;
  }
  return {};
}

}  // namespace oncemq
