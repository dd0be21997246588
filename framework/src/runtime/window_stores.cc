// SPDX-License-Identifier: Apache-2.0
#include "window_stores.h"

#include <algorithm>
#include <utility>

#include "oncemq/base/bytes.h"
#include "oncemq/base/log.h"

namespace oncemq {

// nullopt while it is with the history thread. An answer too old is of an assignment without a
// begin.
std::optional<Status> WindowStores::Prepare(PartitionId partition, const PartitionName& name,
                                            Assignment& assignment, BootTime now) {
  const AssignFacts& facts = assignment.facts;
  const std::string owner = "cluster " + assignment.cluster + ", " + options_.owner;
  if (history_thread_ == nullptr) {
    return Fit(partition, name, window_->Open({facts.source, facts.partition, name.topic, owner}),
               assignment);
  }
  const auto found = opened_.find(partition);
  if (found != opened_.end() && !found->second.known) {
    return std::nullopt;
  }
  if (found != opened_.end() && now < found->second.at + kGoodFor) {
    const Result<StoreKnowledge> known = *std::move(found->second.known);
    opened_.erase(found);
    return Fit(partition, name, known, assignment);
  }
  opened_[partition] = {};
  history_thread_->Add(HistoryThread::Open{
      .partition = partition, .name = name, .source = facts.source, .owner = owner});
  return std::nullopt;
}

Status WindowStores::Fit(PartitionId partition, const PartitionName& name,
                         const Result<StoreKnowledge>& known, Assignment& assignment) {
  if (!known) {
    return known.error();  // asked for again twice a second, or a stop: the member says which
  }
  AssignFacts& facts = assignment.facts;
  facts.source = known->source;
  assignment.store_lost_writes |= known->lost_writes;
  if (Status fits = FitStore(*known, options_.rules, assignment); !fits) {
    CloseStore({partition, facts.source, facts.partition});
    stores_.erase(partition);
    closing_.erase(partition);
    return fits;
  }
  assignment.lost_since = known->lost_since;
  BeginInLog(assignment);
  Log(LogLevel::kInfo, "runtime", "the partition's store is open",
      {{"topic", name.topic},
       {"partition", facts.partition},
       {"knows_from", known->from},
       {"knows_to", known->to},
       {"read_from", facts.read_from},
       {"start", facts.start},
       {"incarnation", Hex(known->incarnation)}});
  closing_.erase(partition);  // only now: a store not opened still has to be closed
  stores_[partition] = {
      .known_from = facts.known_from,
      .progress = {
          .source = facts.source, .partition = facts.partition, .incarnation = facts.incarnation}};
  return {};
}

void WindowStores::NotifyCommitted(const Progress& progress) {
  if (history_thread_ != nullptr) {
    return history_thread_->Add(HistoryThread::Committed{progress});
  }
  MarkerChange change;
  static_cast<void>(errors_.Window(StoreCall::kCommitted, 1, [&] {
    return window_->Committed({&progress, 1}, {&change, 1});
  }));
}

void WindowStores::RaiseFrom(PartitionId partition, int64_t from) {
  const auto found = stores_.find(partition);
  if (found != stores_.end()) {
    found->second.known_from = std::max(found->second.known_from, from);
  }
}

bool WindowStores::Close(PartitionId partition) {
  closing_.erase(partition);
  unbegun_.erase(partition);
  const auto found = stores_.find(partition);
  if (found == stores_.end()) {
    return false;
  }
  CloseStore({partition, found->second.progress.source, found->second.progress.partition});
  stores_.erase(found);
  return history_thread_ != nullptr;
}

void WindowStores::CloseStore(const HistoryThread::Close& store) {
  if (history_thread_ != nullptr) {
    return history_thread_->Add(store);
  }
  window_->Close(store.source, store.partition);
}

void WindowStores::CloseDue(BootTime now, const std::function<bool(PartitionId)>& in_use) {
  // While an Open is under way, or its answer waits, a Close would come after it.
  std::vector<PartitionId> due;
  for (const auto& [partition, at] : closing_) {
    if (!opened_.contains(partition) && (now >= at || !in_use(partition))) {
      due.push_back(partition);
    }
  }
  for (const auto& [partition, until] : unbegun_) {
    if (!opened_.contains(partition) && now >= until) {
      due.push_back(partition);
    }
  }
  for (const PartitionId partition : due) {
    Close(partition);
  }
  CloseUnused(now);
}

// Stores opened for an assignment already over by then.
void WindowStores::CloseUnused(BootTime now) {
  std::erase_if(opened_, [&](const auto& one) {
    const auto& [partition, answer] = one;
    if (!answer.known || now < answer.at + kGoodFor) {
      return false;
    }
    if (*answer.known && !stores_.contains(partition)) {
      CloseStore({partition, (*answer.known)->source, answer.number});
    }
    return true;
  });
}

void WindowStores::CloseAll() {
  while (!stores_.empty()) {
    Close(stores_.begin()->first);
  }
  CloseUnused(BootTime::max());
}

}  // namespace oncemq
