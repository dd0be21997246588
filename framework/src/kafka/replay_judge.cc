// SPDX-License-Identifier: Apache-2.0
// JudgeReplay: the dry run. It reads the set and looks up each id, and claims none.
#include <algorithm>
#include <utility>

#include "check_replay.h"
#include "client_config.h"
#include "kafka_message.h"
#include "log_offsets.h"
#include "oncemq/base/log.h"
#include "oncemq/base/outage.h"
#include "oncemq/base/random.h"
#include "oncemq/base/wait_until.h"
#include "replay_reader.h"
#include "replay_tally.h"
#include "scope.h"

namespace oncemq {
namespace {

constexpr size_t kBatch = 500;
constexpr milliseconds kReadFor{100};
constexpr milliseconds kBrokerWithin{3'000};
constexpr milliseconds kAgainIn{500};
constexpr std::chrono::seconds kTellEvery{10};

Error LostWrites() {
  return {Code::kUnavailable, Effect::kNone,
          "the window has lost changes, and a missing id proves nothing: start the service, and "
          "wait until its window is complete"};
}

// Thread safety: one thread.
class ReplayJudge {
 public:
  ReplayJudge(const RuntimeOptions& options, const ReplaySet& set, Window& window,
              std::stop_token stop)
      : options_(options),
        set_(set),
        window_(window),
        stop_(std::move(stop)),
        messages_(options, {.window = true,
                            .max_bytes = window.capabilities().max_id_bytes,
                            .times = window.capabilities().ages}),
        tally_(window.capabilities()) {
    for (const ReplayRange& range : set.ranges) {
      of_offsets_ += range.to - range.from;
    }
  }

  Result<ReplayTable> Run() {
    auto client = OpenReplayClient(options_);
    if (!client) {
      return client.error();
    }
    client_ = *std::move(client);
    Status judged = CheckSet();
    for (size_t i = 0; judged && i < set_.ranges.size(); i++) {
      judged = JudgeRange(set_.ranges[i]);
    }
    return judged ? Result<ReplayTable>(tally_.table()) : judged.error();
  }

 private:
  // Asks again while a store or broker does not answer, until the stop.
  template <class Call>
  auto Persist(Call call) {
    for (;;) {
      auto answer = call();
      const bool passes =
          !answer && (IsSilent(answer.error()) || answer.error().code == Code::kBusy);
      if (!passes || stop_.stop_requested()) {
        return answer;
      }
      Log(LogLevel::kWarn, "replay", "there is no answer, and it asks again",
          {{"replay", set_.id}, {"error", ToString(answer.error())}});
      WaitUntil(BootNow() + kAgainIn, BootNow(), stop_);
    }
  }

  // Offsets and ids mean nothing elsewhere.
  Status CheckSet() {
    const auto cluster = Persist([&] { return ClusterOf(client_.get(), kBrokerWithin); });
    if (!cluster) {
      return cluster.error();
    }
    const bool same = *cluster == set_.cluster && StoreOwner(options_) == set_.owner;
    return same ? Status()
                : Error{Code::kInvalid, Effect::kNone,
                        "the set " + set_.id + " is of another cluster or service: cluster " +
                            set_.cluster + ", " + set_.owner};
  }

  Status JudgeRange(const ReplayRange& range) {
    const auto source = Open(range);
    if (!source) {
      return source.error();
    }
    ReplayReader reader(client_.get(), range, range.from);
    std::vector<RecordPtr> records;
    while (!reader.ended()) {
      if (stop_.stop_requested()) {
        return Error{Code::kUnavailable, Effect::kNone, "stopped before the whole set was judged"};
      }
      records.clear();
      const int64_t before = reader.next();
      if (const Status read = reader.Read(kBatch, kReadFor, records); !read) {
        return read;
      }
      if (const Status judged = JudgeRecords(range, *source, std::move(records)); !judged) {
        return judged;
      }
      offsets_ += reader.next() - before;
      Tell(range, reader.next());
    }
    return {};
  }

  // The number of the topic in the window.
  Result<uint32_t> Open(const ReplayRange& range) {
    const std::string owner = "cluster " + set_.cluster + ", " + set_.owner;
    const auto& topics = options_.kafka.topics;
    const auto number = std::ranges::find(topics, range.topic) - topics.begin();
    const auto known = Persist([&] {
      return window_.Open({static_cast<uint32_t>(number), range.partition, range.topic, owner});
    });
    if (!known) {
      return known.error();
    }
    return known->lost_writes ? Result<uint32_t>(LostWrites()) : Result<uint32_t>(known->source);
  }

  Status JudgeRecords(const ReplayRange& range, uint32_t source, std::vector<RecordPtr> records) {
    const bool opaque = window_.capabilities().level == Level::kOpaque;
    std::vector<Arrival> arrivals(records.size());
    std::vector<ClaimRequest> requests;
    std::vector<ReplayRecord> asked;
    for (size_t i = 0; i < records.size(); i++) {
      const int64_t stamp = rd_kafka_message_timestamp(records[i].get(), nullptr);
      messages_.Read(records[i].release(), arrivals[i]);
      const Arrival& arrival = arrivals[i];
      const ReplayRecord record{arrival.offset, stamp, arrival.id_hash};
      if (arrival.id.empty()) {
        tally_.AddRefused(range, record);
        continue;
      }
      asked.push_back(record);
      token_.attempt++;
      requests.push_back({.id = arrival.id,
                          .token = token_,
                          .at = {source, range.partition, arrival.offset},
                          .fingerprint = arrival.fingerprint,
                          .time = arrival.time,
                          .not_if_uncertain = opaque});
    }
    std::vector<ClaimAnswer> answers(requests.size());
    const Status judged =
        requests.empty() ? Status() : Persist([&] { return window_.Judge(requests, answers); });
    for (const Arrival& arrival : arrivals) {
      messages_.Release(arrival.message);
    }
    for (size_t i = 0; judged && i < asked.size(); i++) {
      tally_.Add(range, asked[i], answers[i]);
    }
    const bool lost = !judged && judged.error().code == Code::kLostWrites;
    return lost ? Status(LostWrites()) : judged;
  }

  void Tell(const ReplayRange& range, int64_t next) {
    if (BootNow() < tell_at_) {
      return;
    }
    tell_at_ = BootNow() + kTellEvery;
    Log(LogLevel::kInfo, "replay", "judges the set",
        {{"replay", set_.id},
         {"offsets", offsets_},
         {"of_offsets", of_offsets_},
         {"topic", range.topic},
         {"partition", range.partition},
         {"next_offset", next}});
  }

  const RuntimeOptions& options_;
  const ReplaySet& set_;
  Window& window_;
  const std::stop_token stop_;
  ClientPtr client_;
  MessageReader messages_;
  ReplayTally tally_;
  Token token_{.process = SecureRandom64()};
  int64_t offsets_ = 0;  // judged so far
  int64_t of_offsets_ = 0;
  BootTime tell_at_ = BootNow() + kTellEvery;
};

}  // namespace

Result<ReplayTable> JudgeReplay(const RuntimeOptions& options, const ReplaySet& set, Window& window,
                                std::stop_token stop) {
  if (const Status fit = CheckReplay(options, &window); !fit) {
    return fit.error();
  }
  return ReplayJudge(options, set, window, std::move(stop)).Run();
}

}  // namespace oncemq
