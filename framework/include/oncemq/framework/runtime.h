// SPDX-License-Identifier: Apache-2.0
// Runtime: one member of a consumer group that runs a handler for every message, once per id as far
// as the level of the window and the handler's effect carry (docs/guarantees.md).
//
//   options.ids_partition_owned = true;   // copies of an id come through one partition
//   auto window = OpenMemoryWindow({.level = Level::kGuarded}, SystemClock::Instance());
//   auto runtime = Runtime::Open(options, window->get(), OnPayment);
//   // Blocks until it is stopped, then drains.
//   const RunReport report = (*runtime)->Run(stop_source.get_token());
//
// Failure: Open refuses what cannot keep its promise, with the reason. While it runs, a store or
// broker that does not answer stops the work, not the process; the member keeps its place in the
// group and goes on by itself.
//
// Thread safety: Run from one thread; Report from any.
#pragma once

#include <memory>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "oncemq/framework/batch_machine.h"
#include "oncemq/framework/core.h"
#include "oncemq/framework/handler.h"

namespace oncemq {

struct KafkaOptions {
  // host:port, separated by commas.
  std::string brokers;
  // Consumer group, 1 to 249 characters without spaces; part of the scope.
  std::string group;
  // Names as Kafka allows them, no patterns; each stands once.
  std::vector<std::string> topics;
  // For a group without commits. In one that has any, a partition without a commit is a new one and
  // begins at the start of its log.
  enum class Start { kEarliest, kNow, kTime };
  Start start = Start::kEarliest;
  // With kTime: milliseconds since 1970.
  int64_t start_time_ms = 0;
  enum class Assignor { kRange, kCooperativeSticky };
  Assignor assignor = Assignor::kRange;
  // Where records are gone from the log that the group has not handled. kResumeAtLogStart: the next
  // assignment skips them, says so and counts them as skipped, in the commit too.
  enum class OutOfRange { kStop, kResumeAtLogStart };
  OutOfRange out_of_range = OutOfRange::kStop;
  // Records that the client may hold ahead, in bytes over all partitions of the topics; at least 1
  // MiB and at most 64 MiB for each of them.
  uint64_t prefetch_bytes = 512ull << 20;
  // Messages of a partition in its park topic, at most. Each needs about 150 bytes in the owner. At
  // the bound the partition stops.
  uint32_t park_most = 100'000;
  // Passed to librdkafka, from an allow-list.
  std::vector<std::pair<std::string, std::string>> properties;
};

enum class IdFrom : uint8_t { kHeader, kKey, kCoordinates };

// Where a window does not know what a commit calls finished, and the log cannot tell it either.
enum class IncompletePolicy : uint8_t {
  kStop,  // the partition does not start
  kRun,   // it does, and says so: copies of those ids run again
};

enum class ConflictPolicy : uint8_t { kDetect, kIgnore };

// What becomes of a message whose id is missing or empty, where a window is used.
enum class MissingId : uint8_t {
  kRefuse,       // as BatchPolicy::reject says
  kPass,         // handled without the window, at least once; Context::id() is empty then
  kCoordinates,  // topic, partition and offset are its id: only redeliveries are recognised
};

// What becomes of a message without a key; an empty key is a key.
enum class NullKey : uint8_t {
  kUnordered,  // a lane of its own: in no order to any other
  kRefuse,     // as BatchPolicy::reject says
  kOneLane,    // with Order::kKey: in order among themselves, in each partition
};

// Where Context::Lock takes names from: a domain, or the assignment of the partition itself. Never
// both: they do not exclude each other.
struct LockUse {
  // The runtime lets go of it when it is destroyed. A handler that hangs beyond that keeps it for
  // as long as a call of Lock, and gets kUnavailable from those that come after it is gone.
  std::shared_ptr<LockDomain> domain;
  // Rule 50: who owns the partition holds the name, and no store is asked. The lease's fence is the
  // ownership fence. It lasts while commits keep the partition, and is lost when Context::stop() is
  // requested. Its handlers still wait for each other.
  bool elided = false;
  // Your statement that whoever takes a name does so in a handler of one and the same partition;
  // elision demands it. Replays and outside actors go through that partition.
  bool names_partition_owned = false;
  // Your statement that every effect checks the fence at its target; elision demands it at the
  // level guarded: two may hold a name between session timeout and notice, and only fences part
  // them.
  bool effects_check_fences = false;
};

struct RuntimeOptions {
  KafkaOptions kafka;
  // Its scope is filled in from app / namespace / group / handler.
  CoreOptions core;
  // Its level is that of the window; one that is said here too must be the same.
  BatchPolicy policy;
  // With the next two and the group: the scope of every id.
  std::string app = "default";
  std::string name_space = "default";
  std::string handler = "default";
  IdFrom id_from = IdFrom::kHeader;
  // Your statement that all copies of an id travel through one partition: the same id in another
  // one is another operation. Open demands it for a window that is not shared, unless ids are
  // coordinates, and of a shared one that it was opened with the same.
  bool ids_partition_owned = false;
  // Your statement that all members of the group run on this host, on the same directory; Open
  // demands it at the level atomic with a window on disk: another host has other effects (rule 49).
  bool one_host = false;
  // With IdFrom::kHeader.
  std::string id_header = "message-id";
  MissingId missing_id = MissingId::kRefuse;
  NullKey null_key = NullKey::kUnordered;
  // The same id with another payload (rule 18): refused as BatchPolicy::reject says, or taken for a
  // copy. Needs a window that keeps fingerprints.
  ConflictPolicy conflicts = ConflictPolicy::kDetect;
  // 0: handlers run on the poll thread until one turns out to block.
  uint32_t workers = 0;
  // Workers that are started then.
  uint32_t workers_when_blocking = 4;
  // A call of the handler that lasts longer hangs: another worker stands in for its thread, until
  // it returns.
  milliseconds hang_after{10'000};
  // Workers that stand in at a time, at most.
  uint32_t spare_workers = 64;
  // Longest time that inline handlers keep the poll thread.
  milliseconds poll_budget{100};
  // For running handlers, at a revocation and at the end.
  milliseconds drain_deadline{10'000};
  // Claims of longer batches are renewed so often; at most a third of the window's lease.
  milliseconds renew_every{10'000};
  // Offsets of a partition's log that a new owner may re-read to complete its window, or a server's
  // that lost changes; 0: never.
  int64_t catch_up = 1'000'000;
  // For how long ids are taken from what is read; 0: as long as that takes. With kRun the rest, up
  // to the start, is still read, and passed over: this bounds no waiting time.
  milliseconds catch_up_time{0};
  // And where these do not suffice. Nothing: kStop for a window on disk, which is there to know,
  // and kRun for one in memory, which forgets with its process anyway.
  std::optional<IncompletePolicy> incomplete;
  LockUse locks;
  // File for refused messages, with RejectPolicy::kJournal; a relative name is taken from the
  // working directory.
  std::string journal;
};

// The cause of a partition's wait.
enum class Holder : uint8_t {
  kNone,       // nothing waits, or the partition is not this member's
  kHandler,    // it runs, or asked for another attempt
  kStore,      // the window or the journal
  kLock,       // the handler waits for a name
  kCommit,     // it is not acknowledged, or has no room
  kBroker,     // it does not answer, or brings no records
  kIdClaimed,  // another claim of the message's id
  kStopped,    // a person is needed
  kTurn,       // other messages come first
};
std::string_view ToString(Holder holder);

// The message that holds up the commits of a partition.
struct HeldBy {
  OpenMessage message;
  // For how long it has been the lowest one.
  milliseconds held_for{0};
  // Where its batch stands, if it is with a worker.
  Holder with = Holder::kNone;
  // When the handler is called again, from the report on.
  std::optional<milliseconds> next_try;
};

// A time in which the store of the window lacked lost ids of a partition, at the level opaque. A
// copy that began in another partition then may have run once more, and nobody was told. An upper
// bound.
struct UnprotectedTime {
  WallTime since;
  std::optional<WallTime> until;  // nothing: it lasts, or another member has ended it
  microseconds lasted{0};         // until then, or until the report
};

// An open message of an asked id.
struct FoundMessage {
  std::string topic;
  int32_t partition = 0;
  OpenMessage message;
  std::optional<milliseconds> next_try;  // from the answer on
};

// Burrow's words for the commits and the lag of the last minute.
enum class LagTrend : uint8_t {
  kOk,
  kWarn,    // commits move, and the lag never falls
  kStop,    // there is a lag, and no commit
  kStall,   // there is a lag, and commits do not move
  kRewind,  // a commit went back
};
std::string_view ToString(LagTrend trend);

struct PartitionMeasures {
  // The age of the lowest unfinished message, by its record. Without a record or its time it is the
  // time since the last step of the partition.
  std::optional<milliseconds> lag_time;
  // Messages in its park topic. Nothing, if the topic is not read.
  std::optional<int64_t> parked;
  // Offsets left to read until its window is complete.
  int64_t catch_up_left = 0;
  LagTrend trend = LagTrend::kOk;
};

// How the Kafka client fares with a partition.
struct ClientReport {
  // As in its statistics, such as "active". Empty if it is not known.
  std::string fetch_state;
  // Since the last record, and since the last bytes of the partition's broker.
  std::optional<milliseconds> record_ago = {};
  std::optional<milliseconds> answer_ago = {};
};

// One partition that the group has given to this member, now or earlier, seen from outside.
struct PartitionReport {
  std::string topic;
  int32_t partition = 0;
  PartitionStatus status;  // phase kNone: not this member's any more, or not begun
  uint32_t source = 0;     // the topic's number in Coordinates
  // False: this member has never worked on it.
  bool begun = true;
  // What it waits for, before it begins or later; empty: it does not wait.
  std::string waiting = {};
  // For programs. Without a text it is kBroker where no broker answers.
  Holder waits_for = Holder::kNone;
  // Why nothing more of it is handled until it is assigned anew; empty: it is not stopped.
  std::string stopped = {};
  // The end of its log, as the broker said it last, and the offsets from the lowest unfinished one
  // to there, those of no message included. Nothing: not known, or it is not this member's.
  std::optional<int64_t> log_end = {};
  std::optional<int64_t> lag = {};
  // Nothing: its commits move, or nothing is open.
  std::optional<HeldBy> oldest = {};
  // For how long there has been something to do, and nothing of it was finished.
  milliseconds unmoved{0};
  // The last one that this member has seen.
  std::optional<UnprotectedTime> unprotected = {};
  PartitionMeasures measures = {};

  // Whether this member has it now.
  bool owned() const {
    return status.phase != PartitionPhase::kNone || !waiting.empty() || !stopped.empty();
  }
  ClientReport client = {};
};

// A topic that no broker knows.
struct MissingTopic {
  std::string topic;
  milliseconds missing_for{0};
};

struct RunState {
  bool joined = false;  // the group has assigned partitions to this member, perhaps none
  bool stopping = false;
  bool window_fails = false;  // its last call has failed, and work waits for it
  std::string starting = {};  // reason for a start without a runtime
};

struct RunReport {
  DeliveryCounts counts;                    // the first identity: counts.Balanced()
  std::vector<PartitionReport> partitions;  // totals of the second identity, per partition
  int64_t caught_up = 0;                    // ids that the log gave back to the window
  int64_t stood_in = 0;                     // workers whose handler hung and that were replaced
  int64_t window_errors = 0;                // calls that the window did not carry out; repeated
  int64_t journal_errors = 0;               // likewise of the journal
  // Partitions that were stopped, each with its last reason, at most 1,000 bytes of it. Bytes as a
  // handler or a broker gave them.
  std::vector<std::string> stops;
  // No broker answers: where, and the last error. Empty: one does.
  std::string unreached;
  std::string error;   // why Run ended by itself; empty: because it was asked to
  bool clean = false;  // everything was given back in order, in time
  // Missing topics of this service. They are picked up once they exist.
  std::vector<MissingTopic> missing = {};
  // Since the last answer of a broker, or the start; 0 where one answers. `lag` is as old.
  milliseconds unreached_for{0};
  milliseconds age{0};  // since the poll thread has reported this
  RunMeasures measures = {};
  RunState state = {};
};

// What holds at the level of this window (nullptr: none), in one line. docs/guarantees.md
std::string GuaranteeLine(const WindowCapabilities* window,
                          MissingId missing_id = MissingId::kRefuse, bool one_host = false);

class Runtime {
 public:
  // `window` is borrowed and may be nullptr (no ids: order and commits only). Logs what holds.
  static Result<std::unique_ptr<Runtime>> Open(RuntimeOptions options, Window* window,
                                               Handler handler);
  virtual ~Runtime() = default;

  // Consumes until `stop` is requested, then drains within the deadline and leaves the group.
  virtual RunReport Run(std::stop_token stop) = 0;

  // As of the last round of the poll thread, RunReport::age ago.
  virtual RunReport Report() const = 0;

  // The open messages with this id, one of each partition. kUnavailable before and after Run,
  // kTimeout where the poll thread is busy for longer than `within`.
  virtual Result<std::vector<FoundMessage>> FindOpen(std::string_view id,
                                                     milliseconds within) const = 0;

  // What holds, in one line: the one that it logs.
  virtual const std::string& guarantee() const = 0;
};

}  // namespace oncemq
