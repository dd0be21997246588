// SPDX-License-Identifier: Apache-2.0
// What people and switches ask of the locks in etcd, and how they are opened.
#include <algorithm>
#include <set>

#include "etcd_locks.h"
#include "kept_who.h"
#include "wait_queue.h"

namespace oncemq {
namespace {

constexpr size_t kPage = 1'000;
constexpr size_t kLargestRead = 100;

// It was only read.
Error StrangeRead() {
  return {Code::kCorrupt, Effect::kNone, "etcd has something there that is not ours"};
}

EtcdOp IfSame(const EtcdEntry& entry, EtcdOp then) {
  EtcdOp op{.kind = EtcdOp::Kind::kTxn};
  op.txn.push_back({.if_all = {EtcdSame(entry.key, entry.created)}, .then = {std::move(then)}});
  return op;
}

}  // namespace

Result<EtcdLocks::Queue> EtcdLocks::QueueOf(std::string_view name) {
  if (const Status done = RemoveOverdue(); !done) {
    return done.error();
  }
  auto answer = client_->Run(EtcdQueueOf(keys_.Queue(name), most_ + 1));
  if (!answer) {
    return answer.error();
  }
  if (answer->replies.size() != 1) {
    return StrangeRead();
  }
  Queue queue;
  queue.entries = std::move(answer->replies.front().entries);
  const std::vector<LockMode> modes = EtcdModesOf(queue.entries);
  for (size_t i = 0; i < queue.entries.size(); i++) {
    auto requested = EtcdRequestOf(queue.entries[i].value);
    if (!requested) {
      return StrangeRead();
    }
    queue.requested.push_back(*std::move(requested));
    queue.holds.push_back(!WaitsFor(modes, i));
  }
  return queue;
}

Result<size_t> EtcdLocks::Recall(std::string_view name) {
  const auto queue = QueueOf(name);
  if (!queue) {
    return queue.error();
  }
  size_t notified = 0;
  EtcdTxn txn;
  for (size_t i = 0; i < queue->entries.size() && queue->holds[i]; i++) {
    EtcdRequest requested = queue->requested[i];
    requested.back = true;
    txn.then.push_back(IfSame(queue->entries[i], {.kind = EtcdOp::Kind::kPut,
                                                  .key = queue->entries[i].key,
                                                  .value = BytesOf(requested),
                                                  .keep_lease = true}));
    if (txn.then.size() < kLargestRead && i + 1 < queue->entries.size() && queue->holds[i + 1]) {
      continue;
    }
    const auto answer = client_->Run(txn);
    if (!answer) {
      return answer.error();
    }
    for (const EtcdReply& reply : answer->replies) {
      notified += reply.succeeded ? 1 : 0;
    }
    txn.then.clear();
  }
  return notified;
}

Result<Freed> EtcdLocks::Evict(std::string_view name, const Fence& fence) {
  const auto queue = QueueOf(name);
  if (!queue) {
    return queue.error();
  }
  for (size_t i = 0; i < queue->entries.size() && queue->holds[i]; i++) {
    const EtcdEntry& entry = queue->entries[i];
    if (Fence{queue->requested[i].epoch, static_cast<uint64_t>(entry.created)} == fence) {
      const auto answer =
          client_->Run(IfSame(entry, {.kind = EtcdOp::Kind::kDelete, .key = entry.key}));
      if (!answer) {
        return answer.error();
      }
      const bool ended = !answer->replies.empty() && answer->replies.front().succeeded;
      return ended ? Freed::kYes : Freed::kNotHeld;
    }
  }
  return Freed::kNotHeld;
}

// What another engine extended it does not write down: of its holds this is the most they have.
Result<LockView> EtcdLocks::Read(std::string_view name) {
  const auto queue = QueueOf(name);
  if (!queue) {
    return queue.error();
  }
  const BootTime now = SystemClock::Instance().Boot();
  LockView view{std::string(name), {}};
  MutexLock lock(mutex_);
  for (size_t i = 0; i < queue->entries.size(); i++) {
    const EtcdEntry& entry = queue->entries[i];
    const EtcdRequest& requested = queue->requested[i];
    const bool holds = queue->holds[i];
    const auto ours = claims_.UntilOf(entry.key);
    const auto left = ours ? std::chrono::ceil<milliseconds>(*ours - now)
                           : (holds ? requested.lease : requested.queue_lease);
    view.parties.push_back(
        {.holds = holds,
         .mode = EtcdModeOf(entry.key).value_or(LockMode::kExclusive),
         .fence = holds ? Fence{requested.epoch, static_cast<uint64_t>(entry.created)} : Fence{},
         .left = std::max(milliseconds(0), left),
         .who = requested.who.substr(0, kLongestKeptWho)});
  }
  return view;
}

// Page by page; what lies behind the first key of a name is passed over, and so are keys of others.
Result<std::vector<std::string>> EtcdLocks::Names(std::string_view after, size_t limit) {
  if (const Status done = RemoveOverdue(); !done) {
    return done.error();
  }
  std::vector<std::string> names;
  std::string from = after.empty() ? keys_.names() : EtcdEndOf(keys_.Queue(after));
  while (names.size() < limit) {
    const auto page =
        client_->Run(EtcdOp{.kind = EtcdOp::Kind::kRange,
                            .key = from,
                            .end = EtcdEndOf(keys_.names()),
                            .limit = static_cast<int64_t>(std::min(kPage, limit - names.size())),
                            .keys_only = true});
    if (!page) {
      return page.error();
    }
    if (page->replies.size() != 1 || page->replies.front().entries.empty()) {
      break;
    }
    for (const EtcdEntry& entry : page->replies.front().entries) {
      auto name = keys_.NameOf(entry.key);
      from = name ? EtcdEndOf(keys_.Queue(*name)) : entry.key + std::string(1, '\0');
      if (name && (names.empty() || names.back() != *name)) {
        names.push_back(*std::move(name));
      }
    }
  }
  return names;
}

Result<uint32_t> EtcdLocks::Seal(uint32_t epoch) {
  for (;;) {
    const auto there = client_->Run(EtcdOp{.kind = EtcdOp::Kind::kRange, .key = keys_.seal()});
    if (!there) {
      return there.error();
    }
    if (there->replies.size() != 1) {
      return StrangeRead();
    }
    const auto& entries = there->replies.front().entries;
    const auto sealed = EtcdEpochOf(entries);
    if (!sealed) {
      return StrangeRead();
    }
    if (epoch <= *sealed) {
      return *sealed;
    }
    const auto written = client_->Run(EtcdTxn{
        .if_all = {{.what = EtcdCompare::What::kChanged,
                    .key = keys_.seal(),
                    .number = entries.empty() ? 0 : entries.front().changed}},
        .then = {
            {.kind = EtcdOp::Kind::kPut, .key = keys_.seal(), .value = std::to_string(epoch)}}});
    if (!written) {
      return written.error();
    }
    if (written->succeeded) {
      return epoch;
    }
  }
}

Result<std::shared_ptr<LockEngine>> OpenEtcdLocks(std::string_view address,
                                                  const EtcdLockOptions& options) {
  if (options.session < std::chrono::seconds(2) || options.session > std::chrono::hours(1)) {
    return Error{Code::kInvalid, Effect::kNone, "a session of etcd lasts from 2 s to an hour"};
  }
  const auto endpoint = ParseEtcdEndpoint(address);
  if (!endpoint) {
    return endpoint.error();
  }
  auto client =
      EtcdClient::Open(*endpoint, {options.connect, options.call}, options.max_connections);
  if (!client) {
    return client.error();
  }
  auto locks = std::make_shared<EtcdLocks>(*std::move(client), options);
  if (!locks->Start()) {
    return Error{Code::kUnavailable, Effect::kNone, "the system gives no thread"};
  }
  return std::shared_ptr<LockEngine>(std::move(locks));
}

}  // namespace oncemq
