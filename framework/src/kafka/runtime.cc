// SPDX-License-Identifier: Apache-2.0
// Runtime::Open: checks that the options can keep their promise, and puts the parts together.
#include "oncemq/framework/runtime.h"

#include <exception>
#include <set>
#include <utility>

#include "crew.h"
#include "journal.h"
#include "kafka_names.h"
#include "kafka_properties.h"
#include "kafka_source.h"
#include "keeper.h"
#include "lock_use.h"
#include "oncemq/base/log.h"
#include "oncemq/base/random.h"
#include "oncemq/base/stop_caller.h"
#include "park_topic.h"
#include "poll_loop.h"
#include "scope.h"
#include "wake.h"

namespace oncemq {
namespace {

constexpr milliseconds kCallbacksWithin{1'000};  // for stop callbacks, once every handler has ended

class KafkaRuntime final : public Runtime {
 public:
  KafkaRuntime(const RuntimeOptions& options, Window* window, Handler handler,
               std::unique_ptr<Wake> wake, std::unique_ptr<OutcomeLog> journal,
               std::unique_ptr<KafkaSource> source, OpenedLocks locks)
      : options_(options),
        guarantee_(GuaranteeLine(window != nullptr ? &window->capabilities() : nullptr,
                                 options.missing_id, options.one_host)),
        window_(window),
        handler_(std::make_shared<const Handler>(std::move(handler))),
        wake_(std::move(wake)),
        journal_(std::move(journal)),
        locks_(std::move(locks)),
        source_(source.get()),
        loop_(std::make_shared<PollLoop>(options_, std::move(source))) {
    Log(LogLevel::kInfo, "runtime", "opened",
        {{"group", options_.kafka.group},
         {"guarantee", guarantee_},
         {"retries", RetryLine(options_.policy.retry)}});
  }

  RunReport Run(std::stop_token stop) override {
    if (std::exchange(ran_, true)) {
      return Refused("a runtime runs once");
    }
    const Clock& clock = SystemClock::Instance();
    const auto poll = [loop = loop_] { loop->Poll(); };
    StopCaller stops;
    Crew crew(handler_, {window_, journal_.get(), &clock, &loop_->errors(), locks_.source}, *wake_,
              options_.spare_workers);
    auto keeper = std::make_unique<Keeper>(
        Keeper::Options{options_.poll_budget, options_.renew_every,
                        window_ != nullptr && window_->capabilities().remote},
        window_, clock, loop_->errors(), stops, [&] { return crew.Spawn("oncemq-poll", poll); });
    loop_->Connect({window_, &crew, keeper.get(), wake_.get(), journal_.get(), &clock,
                    SecureRandom64(), StoreOwner(options_)});
    std::string failure = NoRecord();
    if (!failure.empty()) {
      // Without a place for refused messages nothing is consumed.
    } else if (!keeper->Start()) {
      failure = "the system gives no thread";
    } else if (const Status joined = source_->Join(); !joined) {
      failure = ToString(joined.error());
    } else if (!crew.Spawn("oncemq-poll", poll)) {
      failure = "the system gives no thread";
    } else {
      const std::stop_callback on_stop(stop, [this] { loop_->RequestStop(); });
      loop_->WaitUntilEnded();
    }
    keeper.reset();
    const bool handlers_ended = crew.End(loop_->jobs());
    const bool callbacks_ended = stops.End(kCallbacksWithin);
    if (!handlers_ended || !callbacks_ended) {
      Log(LogLevel::kError, "runtime", "handlers did not return in time; their threads are let go");
    }
    RunReport report = loop_->Finish(handlers_ended && callbacks_ended);
    return failure.empty() ? report : Refused(failure);
  }

  RunReport Report() const override { return loop_->Report(); }
  Result<std::vector<FoundMessage>> FindOpen(std::string_view id,
                                             milliseconds within) const override {
    return loop_->FindOpen(id, within);
  }
  const std::string& guarantee() const override { return guarantee_; }

 private:
  // Why refused messages have no place until a person acts. Empty where they have one or no broker
  // answers.
  std::string NoRecord() {
    const Status ready = journal_ == nullptr ? Status() : journal_->Check();
    const bool never =
        !ready && (ready.error().code == Code::kInvalid || ready.error().code == Code::kNotFound);
    return never ? ready.error().message : "";
  }
  static RunReport Refused(std::string why) {
    RunReport report;
    report.error = std::move(why);
    return report;
  }

  const RuntimeOptions options_;
  const std::string guarantee_;
  Window* const window_;
  const std::shared_ptr<const Handler> handler_;
  const std::unique_ptr<Wake> wake_;
  const std::unique_ptr<OutcomeLog> journal_;
  const OpenedLocks locks_;
  KafkaSource* const source_;  // the loop's
  bool ran_ = false;
  const std::shared_ptr<PollLoop> loop_;
};

Error Invalid(std::string text) {
  return {Code::kInvalid, Effect::kNone, std::move(text)};
}

Status CheckNames(const RuntimeOptions& options) {
  if (options.kafka.brokers.empty() || options.kafka.group.empty() ||
      options.kafka.topics.empty()) {
    return Invalid("brokers, a group and at least one topic are needed");
  }
  if (const Status brokers = CheckBrokers(options.kafka.brokers); !brokers) {
    return Invalid("brokers " + brokers.error().message);
  }
  if (const Status group = CheckGroup(options.kafka.group); !group) {
    return Invalid("the group " + group.error().message);
  }
  std::set<std::string_view> seen;
  for (const std::string& topic : options.kafka.topics) {
    if (const Status name = CheckTopic(topic); !name) {
      return Invalid("topics: " + name.error().message);
    }
    if (!seen.insert(topic).second) {
      return Invalid("topics: `" + topic + "` stands here twice");
    }
  }
  return {};
}

struct Limit {
  std::string_view name;
  uint64_t value;
  uint64_t least;
  uint64_t most;
};

// The most: what the service file allows too. Deliveries and lanes get their room at once, for all
// that may be in flight.
Status CheckLimits(const RuntimeOptions& options) {
  const CoreOptions& core = options.core;
  const Limit limits[] = {
      {"in_flight", core.in_flight, 1, 4'000'000},
      {"in_flight_bytes", core.in_flight_bytes, 1, 1ull << 40},
      {"waiting.messages", core.waiting.messages, 1, 4'000'000},
      {"waiting.bytes", core.waiting.bytes, 1, 1ull << 40},
      {"partition_credit", core.partition_credit, 1, 4'000'000},
      {"span", core.span, 1, 100'000'000},
      {"batch", core.batch, 1, 10'000},
      {"lane_batch", core.lane_batch, 1, 10'000},
      {"park_most", options.kafka.park_most, 1, 100'000'000},
      {"workers", options.workers, 0, 1'024},
      {"workers_when_blocking", options.workers_when_blocking, 1, 1'024},
      {"spare_workers", options.spare_workers, 0, 1'024},
  };
  for (const Limit& limit : limits) {
    if (limit.value < limit.least || limit.value > limit.most) {
      return Invalid(std::string(limit.name) + " must be " + std::to_string(limit.least) + " to " +
                     std::to_string(limit.most) + ", not " + std::to_string(limit.value));
    }
  }
  return {};
}

Status CheckTimes(const RuntimeOptions& options) {
  const CoreOptions& core = options.core;
  const microseconds above_zero[] = {core.session_timeout, core.commit_interval, core.store_retry,
                                     options.policy.store_retry};
  const milliseconds also_above_zero[] = {options.poll_budget, options.renew_every,
                                          options.hang_after};
  const milliseconds not_below_zero[] = {options.drain_deadline, options.policy.retry.first,
                                         options.policy.retry.most};
  // In the unit of the option: the longest time of one does not fit into another.
  const auto outside = []<class Time>(Time least, Time time) {
    return time < least || time > Time(std::chrono::hours(24));
  };
  bool wrong = outside(microseconds(0), core.session_margin);
  for (const microseconds time : above_zero) {
    wrong |= outside(microseconds(1), time);
  }
  for (const milliseconds time : also_above_zero) {
    wrong |= outside(milliseconds(1), time);
  }
  for (const milliseconds time : not_below_zero) {
    wrong |= outside(milliseconds(0), time);
  }
  if (wrong) {
    return Invalid(
        "all times are above zero and at most a day; only the session margin, the drain deadline "
        "and the back-off may be zero");
  }
  if (core.session_margin * 2 > core.session_timeout) {
    return Invalid("core.session_margin may take at most half of core.session_timeout");
  }
  for (const auto& [name, value] : options.kafka.properties) {
    if (Status status = CheckHeartbeat(name, value, core.session_margin); !status) {
      return status;
    }
  }
  return {};
}

// A store that outlives its process may come back without effects or markers that a commit counts.
// The runtime notices the loss only where the window keeps the history of commits, which it opens
// and compares with the commit (rules 2, 27, 31).
Status CheckDurable(const WindowCapabilities& can) {
  const std::string window = "the window `" + std::string(can.engine) + "` ";
  if (can.durable && can.shared && !can.keeps_history) {
    return Invalid(window +
                   "is shared and durable, and keeps no history of commits: a loss by a restore or "
                   "a failover would not be noticed");
  }
  if (can.durable && !can.keeps_history) {
    return Invalid(window +
                   "is one store, and partitions come and go with theirs: use "
                   "OpenPartitionWindows");
  }
  return {};
}

// What one id names is the same for the runtime and its window. A window of one process that was
// opened for more than a partition needs no such promise.
Status CheckIds(const RuntimeOptions& options, const WindowCapabilities& can) {
  const std::string window =
      "the window `" + std::string(can.engine) + "` was opened for ids that ";
  if (options.id_from == IdFrom::kCoordinates ||
      options.ids_partition_owned == can.partition_owned) {
    return {};
  }
  if (can.partition_owned) {
    return Invalid(window +
                   "their partitions own, so a copy in another partition would run: say "
                   "ids_partition_owned if none comes there, or open it without partition_owned");
  }
  return !can.shared || can.still_crossing
             ? Status()
             : Invalid(window +
                       "cross partitions, and ids_partition_owned says that the same id in another "
                       "partition is another operation: open it with partition_owned");
}

Status CheckRefusals(const RuntimeOptions& options) {
  const RejectPolicy reject = options.policy.reject;
  if (reject == RejectPolicy::kJournal && options.journal.empty()) {
    return Invalid("to journal refused messages, a journal file is needed");
  }
  if (options.policy.retry.at_end == AtEnd::kPark && reject == RejectPolicy::kStop) {
    return Invalid("at_end: to park messages, a journal or a park topic is needed");
  }
  if (reject == RejectPolicy::kPark && options.core.order == Order::kPartition) {
    return Invalid(
        "with the order of the whole partition all later messages would follow a parked one: "
        "refused messages can stop the partition, or go to a journal");
  }
  if (options.core.waiting.park && reject == RejectPolicy::kStop) {
    return Invalid("waiting.park: to park messages, a journal or a park topic is needed");
  }
  return CheckRetryPolicy(options.policy.retry);
}

Status CheckPromise(const RuntimeOptions& options, const Window* window) {
  if (window != nullptr) {
    const WindowCapabilities& can = window->capabilities();
    const Level level = options.policy.level.value_or(can.level);
    const bool carried = (level == Level::kGuarded && can.guarded) ||
                         (level == Level::kOpaque && can.opaque) ||
                         (level == Level::kAtomic && can.atomic);
    if (!carried) {
      return Invalid("the window `" + std::string(can.engine) + "` can't carry the level " +
                     std::string(ToString(level)));
    }
    if (options.conflicts == ConflictPolicy::kDetect && !can.fingerprints) {
      return Invalid("the window `" + std::string(can.engine) +
                     "` can't tell payloads apart; say that conflicts are ignored");
    }
    if (can.level != level) {
      return Invalid("the window was opened " + std::string(ToString(can.level)) +
                     " and the policy says " + std::string(ToString(level)));
    }
    if (Status durable = CheckDurable(can); !durable) {
      return durable;
    }
    if (can.stores_claims && can.times.lease > milliseconds(0) &&
        options.renew_every * 3 > can.times.lease) {
      return Invalid("renew_every, " + std::to_string(options.renew_every.count()) +
                     " ms, may be at most a third of the window's lease, which is " +
                     std::to_string(can.times.lease.count()) +
                     " ms: a renewal that fails is repeated before the claim ends");
    }
    if (!can.shared && !options.ids_partition_owned && options.id_from != IdFrom::kCoordinates) {
      return Invalid("the window `" + std::string(can.engine) +
                     "` sees only the partitions of its own process: say ids_partition_owned if "
                     "all copies of an id travel through one partition");
    }
    if (const Status ids = CheckIds(options, can); !ids) {
      return ids;
    }
    if (level == Level::kAtomic && options.missing_id == MissingId::kPass) {
      return Invalid(
          "at the level atomic an effect is written with the marker of its id, so a message "
          "without "
          "an id can't pass");
    }
    if (level == Level::kAtomic && can.by_partition && !options.one_host) {
      return Invalid(
          "at the level atomic the effects live in this host's directory: say one_host if all "
          "members of the group run here");
    }
    if (options.id_from == IdFrom::kHeader && options.id_header.empty()) {
      return Invalid("the header that carries the id has no name");
    }
  }
  if (window != nullptr && !window->capabilities().durable && options.catch_up == 0 &&
      options.incomplete == IncompletePolicy::kStop) {
    return Invalid(
        "a window that is forgotten with its process is incomplete at every start, and without "
        "catch_up it stays so: say that it may run incomplete");
  }
  return CheckRefusals(options);
}

// Rule 29. At guarded the target knows what it has; at atomic the effects are where the markers
// are.
bool ReliesOnMap(const RuntimeOptions& options, const Window* window) {
  if (window == nullptr || options.missing_id == MissingId::kPass) {
    return true;
  }
  const WindowCapabilities& can = window->capabilities();
  const bool stays = options.one_host && can.keeps_claims;
  return can.level == Level::kOpaque && !(can.durable && (can.shared || stays));
}

// Rule 11. Commits tell the next owner the calls that it may not find in a window; at guarded and
// atomic the target knows them.
bool NamesSuspects(const Window* window) {
  if (window == nullptr || window->capabilities().level != Level::kOpaque) {
    return false;
  }
  // One that lasts may lose claims, and tells.
  return !window->capabilities().shared || window->capabilities().durable;
}

struct Records {
  std::unique_ptr<OutcomeLog> log;  // nullptr: nothing is put on record
  ParkTopic* park = nullptr;        // the same, with RejectPolicy::kPark
};

Result<Records> OpenRecords(const RuntimeOptions& options) {
  Records records;
  if (options.policy.reject == RejectPolicy::kJournal) {
    auto journal = Journal::Open(options.journal, options.kafka.topics);
    if (!journal) {
      return journal.error();
    }
    records.log = *std::move(journal);
  } else if (options.policy.reject == RejectPolicy::kPark) {
    auto topic = ParkTopic::Open(options);
    if (!topic) {
      return topic.error();
    }
    records.park = topic->get();
    records.log = *std::move(topic);
  }
  return records;
}

// Sets the options given by others and by the window.
void Complete(RuntimeOptions& options, const Window* window) {
  options.core.scope.id =
      ScopeOf({options.app, options.name_space, options.kafka.group, options.handler});
  options.core.relies_on_map = ReliesOnMap(options, window);
  options.core.suspects = NamesSuspects(window);
  options.core.refusals = {.parks = options.policy.reject == RejectPolicy::kPark,
                           .deaths = options.policy.retry.deaths};
  options.policy.window = window != nullptr;
  if (window != nullptr) {
    options.policy.level = window->capabilities().level;
    options.policy.max_result_bytes = window->capabilities().max_result_bytes;
    options.core.partition_owned = window->capabilities().partition_owned;
  }
  if (window == nullptr ||
      (window->capabilities().shared && !window->capabilities().keeps_history)) {
    options.catch_up = 0;
  } else if (!options.incomplete) {
    options.incomplete =
        window->capabilities().durable ? IncompletePolicy::kStop : IncompletePolicy::kRun;
  }
}

Result<std::unique_ptr<Runtime>> OpenKafkaRuntime(RuntimeOptions options, Window* window,
                                                  Handler handler) {
  for (const Status& status : {CheckNames(options), CheckLimits(options), CheckTimes(options),
                               CheckPromise(options, window)}) {
    if (!status) {
      return status.error();
    }
  }
  if (handler == nullptr) {
    return Invalid("there is no handler");
  }
  Complete(options, window);
  auto wake = Wake::Open();
  if (!wake) {
    return wake.error();
  }
  auto records = OpenRecords(options);
  if (!records) {
    return records.error();
  }
  IdNeeds needs;
  if (window != nullptr) {
    needs = {true, window->capabilities().max_id_bytes, window->capabilities().ages};
  }
  // Moved: whoever keeps the options beyond our end, as a thread that hangs does, keeps no locks.
  auto locks = OpenLocks(std::exchange(options.locks, {}), options.policy.level);
  if (!locks) {
    return locks.error();
  }
  auto source =
      KafkaSource::Open(options, needs, (*wake)->fd(), SystemClock::Instance(), records->park);
  if (!source) {
    return source.error();
  }
  return std::unique_ptr<Runtime>(std::make_unique<KafkaRuntime>(
      options, window, std::move(handler), *std::move(wake), std::move(records->log),
      *std::move(source), *std::move(locks)));
}

}  // namespace

Result<std::unique_ptr<Runtime>> Runtime::Open(RuntimeOptions options, Window* window,
                                               Handler handler) {
  try {
    return OpenKafkaRuntime(std::move(options), window, std::move(handler));
  } catch (const std::exception& error) {  // no memory for the tables of these limits, as a rule
    return Error{Code::kFull, Effect::kNone,
                 std::string("the runtime can't be set up: ") + error.what()};
  }
}

}  // namespace oncemq
