// SPDX-License-Identifier: Apache-2.0
#include "redlock_master.h"

#include <algorithm>
#include <utility>

#include "../redis/redis_forms.h"
#include "oncemq/base/log.h"
#include "oncemq/base/outage.h"
#include "oncemq/base/start_thread.h"

namespace oncemq {
namespace {

constexpr milliseconds kShortestPause{20};
constexpr milliseconds kLongestPause{500};
constexpr size_t kLargestBatch = 256;
// What does not find room ends there with its lease.
constexpr size_t kMostKept = 10'000;
// One for the thread, the others for people.
constexpr size_t kConnections = 8;

}  // namespace

bool RedlockServers::Take(size_t master, std::string_view id) {
  MutexLock lock(mutex_);
  for (size_t other = 0; other < ids_.size(); other++) {
    if (other != master && ids_[other] == id && !id.empty()) {
      return false;
    }
  }
  ids_[master] = id;
  return true;
}

RedlockMaster::RedlockMaster(RedisEndpoint endpoint, const RedisTimes& times, size_t index,
                             std::shared_ptr<RedlockServers> servers)
    : endpoint_(std::move(endpoint)), times_(times), index_(index), servers_(std::move(servers)) {}

void RedlockMaster::End() {
  MutexLock lock(mutex_);
  ending_ = true;
  changed_.notify_all();
}

RedlockMaster::~RedlockMaster() {
  End();
  if (thread_) {
    thread_->join();
  }
}

bool RedlockMaster::Start() {
  thread_ = StartThread("oncemq-redlock", [this] { Run(); });
  return thread_.has_value();
}

Status RedlockMaster::FirstTry() {
  MutexLock lock(mutex_);
  while (!first_) {
    changed_.wait(mutex_);
  }
  return *first_;
}

std::shared_ptr<RedisClient> RedlockMaster::client() {
  MutexLock lock(mutex_);
  return up_ ? client_ : nullptr;
}

void RedlockMaster::Request(std::shared_ptr<const RedlockQuestion> question,
                            std::shared_ptr<RedlockRound> round, std::optional<BootTime> keep) {
  Job job{std::move(question), std::move(round), keep};
  MutexLock lock(mutex_);
  if (up_) {
    jobs_.push_back(std::move(job));
    changed_.notify_all();
    return;
  }
  Answer(job, Error{why_.code, Effect::kNone, why_.message});
  Keep(std::move(job));
}

void RedlockMaster::Keep(Job job) {
  if (job.keep) {
    job.round = nullptr;
    jobs_.push_back(std::move(job));
  }
  if (jobs_.size() > kMostKept) {
    jobs_.pop_front();
  }
}

void RedlockMaster::Answer(Job& job, RedlockAnswer answer) const {
  if (job.round != nullptr) {
    job.round->Answer(index_, std::move(answer));
  }
}

void RedlockMaster::Run() {
  for (milliseconds pause{0};;) {
    Jobs jobs;
    {
      MutexLock lock(mutex_);
      while (up_ && !ending_ && jobs_.empty()) {
        changed_.wait(mutex_);
      }
      if (ending_ && (!up_ || jobs_.empty())) {
        return;
      }
      if (up_) {
        jobs.swap(jobs_);
      } else if (pause > milliseconds(0)) {
        changed_.wait_for(mutex_, pause);
        if (ending_) {
          return;
        }
      }
    }
    if (!jobs.empty()) {
      pause = kShortestPause;
      Do(std::move(jobs));
    } else {
      pause = std::clamp(pause * 2, kShortestPause, kLongestPause);
      Reached(Reach());
    }
  }
}

// Asks what it is each time it has been away: it may be another one now.
Status RedlockMaster::Reach() {
  std::shared_ptr<RedisClient> client;
  {
    MutexLock lock(mutex_);
    client = client_;
  }
  if (client == nullptr) {
    auto opened = RedisClient::Open(endpoint_, times_, kConnections);
    if (!opened) {
      return opened.error();
    }
    client = *std::move(opened);
  }
  const auto info = client->Run(RedisCommand{"INFO"});
  if (!info) {
    return info.error();
  }
  if (const Status fit = CheckRedisKeeps(info->text, "locks"); !fit) {
    return fit;
  }
  if (RedisInfo(info->text, "loading") == "1") {
    return Error{Code::kUnavailable, Effect::kNone, "a Redis loads its data"};
  }
  if (!servers_->Take(index_, RedisInfo(info->text, "run_id"))) {
    return Error{
        Code::kInvalid, Effect::kNone,
        ToString(endpoint_) + " and another address of redlock:// lead to the same server"};
  }
  MutexLock lock(mutex_);
  client_ = std::move(client);
  return {};
}

void RedlockMaster::Reached(const Status& status) {
  MutexLock lock(mutex_);
  up_ = status.has_value();
  if (!status) {
    // A wrong one is said once; one that is away may be so for long.
    if (IsMisconfigured(status.error()) && !IsMisconfigured(why_)) {
      Log(LogLevel::kWarn, "redlock", "a master cannot be used",
          {{"master", ToString(endpoint_)}, {"error", ToString(status.error())}});
    }
    why_ = status.error();
  }
  if (!first_) {
    first_ = status;
    changed_.notify_all();
  }
}

void RedlockMaster::Do(Jobs jobs) {
  std::shared_ptr<RedisClient> client;
  {
    MutexLock lock(mutex_);
    client = client_;
  }
  const BootTime now = BootNow();
  std::erase_if(
      jobs, [now](const Job& job) { return job.round == nullptr && job.keep && *job.keep <= now; });
  for (size_t first = 0; first < jobs.size();) {
    const RedlockQuestion& question = *jobs[first].question;
    std::vector<RedisCommand> lists;
    milliseconds within = milliseconds::max();
    size_t end = first;
    for (; end < jobs.size() && jobs[end].question->script == question.script &&
           (end == first || lists.size() < kLargestBatch);
         end++) {
      within = std::min(within, jobs[end].question->within);
      for (const auto& list : jobs[end].question->lists) {
        lists.emplace_back(list.begin(), list.end());
      }
    }
    auto replies = client->Call(*question.script, question.keys, lists, within);
    if (!replies) {
      Failed(std::move(jobs), first, end, replies.error());
      return;
    }
    for (auto from = replies->begin(); first < end; first++) {
      const auto to = from + static_cast<std::ptrdiff_t>(jobs[first].question->lists.size());
      Answer(jobs[first],
             std::vector<RedisReply>(std::make_move_iterator(from), std::make_move_iterator(to)));
      from = to;
    }
  }
}

void RedlockMaster::Failed(Jobs jobs, size_t first, size_t sent, const Error& error) {
  const Error not_sent{error.code, Effect::kNone, error.message};
  MutexLock lock(mutex_);
  up_ = false;
  why_ = not_sent;
  Jobs later;
  later.swap(jobs_);
  for (size_t i = first; i < jobs.size(); i++) {
    Answer(jobs[i], i < sent ? error : not_sent);
    Keep(std::move(jobs[i]));
  }
  for (Job& job : later) {
    Answer(job, not_sent);
    Keep(std::move(job));
  }
}

}  // namespace oncemq
