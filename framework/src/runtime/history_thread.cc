// SPDX-License-Identifier: Apache-2.0
#include "history_thread.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "oncemq/base/outage.h"
#include "oncemq/base/start_thread.h"

namespace oncemq {
namespace {

constexpr uint32_t kMostPass = 64;    // jobs that go before a Committed
constexpr size_t kMostTogether = 64;  // announcements in one call, each with up to 4 KiB

// Whether `next` belongs to the same call: one announcement for each partition.
bool Joins(std::span<const HistoryThread::Job> jobs, const HistoryThread::Job& next) {
  const auto announced = [](const HistoryThread::Job& job) {
    const auto* const one = std::get_if<HistoryThread::Announce>(&job);
    return one == nullptr ? nullptr : &one->announcement;
  };
  const Announcement* const one = announced(next);
  return one != nullptr &&
         std::all_of(jobs.begin(), jobs.end(), [&](const HistoryThread::Job& job) {
           const Announcement* const other = announced(job);
           return other != nullptr &&
                  (other->source != one->source || other->partition != one->partition);
         });
}

}  // namespace

HistoryThread::HistoryThread(Window* window, StoreErrors& errors, Wake& wake)
    : window_(window),
      errors_(errors),
      wake_(wake),
      thread_(StartThread("oncemq-window", [this] { Work(); })) {}

HistoryThread::~HistoryThread() {
  {
    MutexLock lock(mutex_);
    ending_ = true;
    std::erase_if(waiting_, [](const Job& job) { return !std::holds_alternative<Close>(job); });
    committed_.clear();
    changed_.notify_all();
  }
  if (thread_) {
    thread_->join();
  }
  // Stores opened meanwhile.
  MutexLock lock(mutex_);
  for (const Job& job : done_) {
    if (const auto* open = std::get_if<Open>(&job); open != nullptr && open->known) {
      window_->Close(open->known->source, open->name.partition);
    }
  }
}

void HistoryThread::Add(Job job) {
  if (!thread_) {
    Make({&job, 1});
  }
  MutexLock lock(mutex_);
  if (thread_) {
    if (auto* committed = std::get_if<Committed>(&job); committed != nullptr) {
      Keep(std::move(*committed));
    } else {
      waiting_.push_back(std::move(job));
    }
    changed_.notify_all();
  } else {
    done_.push_back(std::move(job));
    wake_.Notify();
  }
}

std::deque<HistoryThread::Committed>::iterator HistoryThread::CommittedOf(uint32_t source,
                                                                          int32_t partition) {
  return std::find_if(committed_.begin(), committed_.end(), [&](const Committed& one) {
    return one.progress.source == source && one.progress.partition == partition;
  });
}

// The latest words about a partition include all earlier ones.
void HistoryThread::Keep(Committed job) {
  const auto same = CommittedOf(job.progress.source, job.progress.partition);
  if (same != committed_.end()) {
    *same = std::move(job);
  } else {
    committed_.push_back(std::move(job));
  }
}

void HistoryThread::ForgetRaise(PartitionId partition) {
  MutexLock lock(mutex_);
  std::erase_if(waiting_, [partition](const Job& job) {
    const auto* raise = std::get_if<RaiseOwnerEpoch>(&job);
    return raise != nullptr && raise->action.partition == partition;
  });
}

// There is one.
std::vector<HistoryThread::Job> HistoryThread::Next() {
  std::vector<Job> jobs;
  if (const auto* close = waiting_.empty() ? nullptr : std::get_if<Close>(&waiting_.front())) {
    const auto last = CommittedOf(close->source, close->partition);
    if (last != committed_.end()) {
      jobs.push_back(std::move(*last));
      committed_.erase(last);
      return jobs;
    }
  }
  if (!committed_.empty() && (waiting_.empty() || passed_ >= kMostPass)) {
    jobs.push_back(std::move(committed_.front()));
    committed_.pop_front();
    passed_ = 0;
    return jobs;
  }
  do {
    jobs.push_back(std::move(waiting_.front()));
    waiting_.pop_front();
  } while (jobs.size() < kMostTogether && !waiting_.empty() && Joins(jobs, waiting_.front()));
  passed_ += committed_.empty() ? 0 : static_cast<uint32_t>(jobs.size());
  return jobs;
}

bool HistoryThread::Take(std::vector<Job>& done) {
  MutexLock lock(mutex_);
  for (Job& job : done_) {
    done.push_back(std::move(job));
  }
  done_.clear();
  return !done.empty();
}

void HistoryThread::Make(std::span<Job> jobs) {
  if (jobs.size() > 1) {
    return AnnounceTogether(jobs);
  }
  std::visit([this](auto& one) { Call(one); }, jobs.front());
}

// A refusal may be about one of them, and on a disk each failure is. Each is made by itself then.
void HistoryThread::AnnounceTogether(std::span<Job> jobs) {
  std::vector<Announcement> all;
  for (Job& job : jobs) {
    auto& one = std::get<Announce>(job);
    one.announcement.metadata = one.commit.metadata;  // where it lies now
    all.push_back(one.announcement);
  }
  const BootTime begin = BootNow();
  const Status made = window_->Announce(all);
  const bool all_alike = made || (window_->capabilities().remote && IsOutage(made.error()));
  if (all_alike) {
    errors_.Window(StoreCall::kAnnounce, all.size(), BootNow() - begin, made);
  }
  for (Job& job : jobs) {
    auto& one = std::get<Announce>(job);
    one.made = made;
    if (!all_alike) {
      Call(one);
    }
  }
}

void HistoryThread::Call(RaiseOwnerEpoch& job) {
  job.owner_epoch = errors_.Window(StoreCall::kRaiseOwnerEpoch, 1, [&] {
    return window_->RaiseOwnerEpoch(job.source, job.partition, job.action.floor);
  });
}

void HistoryThread::Call(Open& job) {
  job.known = window_->Open({job.source, job.name.partition, job.name.topic, job.owner});
}

void HistoryThread::Call(Announce& job) {
  job.announcement.metadata = job.commit.metadata;  // where it lies now
  job.made = errors_.Window(StoreCall::kAnnounce, 1, [&] {
    return window_->Announce({&job.announcement, 1});
  });
}

void HistoryThread::Call(Committed& job) {
  MarkerChange change;
  (void)errors_.Window(StoreCall::kCommitted, 1, [&] {
    return window_->Committed({&job.progress, 1}, {&change, 1});
  });
}

void HistoryThread::Call(Restore& job) {
  job.made = errors_.Window(StoreCall::kRestore, job.requests.size(),
                            [&] { return window_->Restore(job.requests, job.changes); });
}

void HistoryThread::Call(Close& job) {
  window_->Close(job.source, job.partition);
}

void HistoryThread::Work() {
  for (;;) {
    std::vector<Job> jobs;
    {
      MutexLock lock(mutex_);
      changed_.wait(mutex_, [this]() REQUIRES(mutex_) {
        return ending_ || !waiting_.empty() || !committed_.empty();
      });
      if (ending_ && waiting_.empty()) {
        return;
      }
      jobs = Next();
    }
    Make(jobs);
    MutexLock lock(mutex_);
    std::move(jobs.begin(), jobs.end(), std::back_inserter(done_));
    wake_.Notify();
  }
}

}  // namespace oncemq
