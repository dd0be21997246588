// SPDX-License-Identifier: Apache-2.0
#include "zookeeper_lock_session.h"

#include <algorithm>

namespace oncemq {
namespace {

using Call = ZooKeeperCall;
using Reply = ZooKeeperReply;

}  // namespace

Result<std::shared_ptr<ZooKeeperLockSession>> ZooKeeperLockSession::Start(
    const ZooKeeperEndpoint& endpoint, const ZooKeeperTimes& times, const ZooKeeperPaths& paths,
    HoldListeners& listeners) {
  const std::shared_ptr<ZooKeeperLockSession> lock_session(
      new ZooKeeperLockSession(times, paths, listeners));
  auto session = ZooKeeperSession::Start(
      endpoint, times,
      {[raw = lock_session.get()](std::string_view path) { raw->waits_.Changed(path); },
       [raw = lock_session.get()] { raw->Ended(); }});
  if (!session) {
    return session.error();
  }
  lock_session->session_ = *std::move(session);
  return lock_session;
}

ZooKeeperLockSession::~ZooKeeperLockSession() = default;

// The servers delete what was ours. Whoever waits asks again, in another session; those who held
// are told before, as they may be passed by then.
void ZooKeeperLockSession::Ended() {
  With([](SessionClaims& claims) { claims.Clear(); });
  listeners_.HoldsMayBeLost();
  waits_.WakeAll();
}

Status ZooKeeperLockSession::Fits(milliseconds lease) const {
  const milliseconds longest = LongestLease();
  if (lease <= longest) {
    return {};
  }
  return Error{Code::kInvalid, Effect::kNone,
               "the longest lease in this ZooKeeper is " + std::to_string(longest.count()) +
                   " ms: three quarters of its session timeout"};
}

Result<Reply> ZooKeeperLockSession::Run(const Call& call) {
  auto replies = session_->Run({&call, 1});
  if (!replies) {
    return replies.error();
  }
  return std::move(replies->front());
}

Result<std::vector<ZooKeeperNode>> ZooKeeperLockSession::Queue(std::string_view name) {
  const std::string path = paths_.Name(name);
  const Call calls[] = {{.kind = Call::Kind::kSync, .path = path},
                        {.kind = Call::Kind::kChildren, .path = path}};
  const auto replies = session_->Run(calls);
  if (!replies) {
    return replies.error();
  }
  return Ordered(name, (*replies)[1].children);
}

// A container that gave out all of its numbers repeats them; it takes two thousand million asks
// without a pause of a minute to come there.
Result<std::vector<ZooKeeperNode>> ZooKeeperLockSession::Ordered(
    std::string_view name, const std::vector<std::string>& children) {
  std::vector<ZooKeeperNode> queue = QueueOf(children);
  if (!OutOfNumbers(queue)) {
    return queue;
  }
  std::vector<Call> calls;
  for (const ZooKeeperNode& node : queue) {
    calls.push_back({.path = paths_.Name(name) + "/" + node.child});
  }
  const auto replies = session_->Run(calls);
  if (!replies) {
    return replies.error();
  }
  std::vector<std::pair<uint64_t, ZooKeeperNode>> made;
  for (size_t i = 0; i < queue.size(); i++) {
    if ((*replies)[i].kind == Reply::Kind::kDone) {
      made.emplace_back((*replies)[i].stat.created, std::move(queue[i]));
    }
  }
  std::sort(made.begin(), made.end(),
            [](const auto& one, const auto& other) { return one.first < other.first; });
  queue.clear();
  for (auto& [created, node] : made) {
    queue.push_back(std::move(node));
  }
  return queue;
}

Result<ZooKeeperLockSession::Seal> ZooKeeperLockSession::KnownSeal() {
  {
    MutexLock lock(mutex_);
    if (seal_) {
      return *seal_;
    }
  }
  return ReadSeal();
}

Result<ZooKeeperLockSession::Seal> ZooKeeperLockSession::ReadSeal() {
  const Call calls[] = {{.kind = Call::Kind::kSync, .path = paths_.seal},
                        {.kind = Call::Kind::kGet, .path = paths_.seal}};
  auto replies = session_->Run(calls);
  if (replies && (*replies)[1].kind == Reply::Kind::kNoNode) {
    if (const Status made = MakeRoot(); !made) {
      return made.error();
    }
    replies = session_->Run(calls);
  }
  if (!replies) {
    return replies.error();
  }
  const Reply& read = (*replies)[1];
  const auto epoch = ParseEpoch(read.data);
  if (read.kind != Reply::Kind::kDone || !epoch) {
    return Error{Code::kCorrupt, Effect::kNone, "the seal in ZooKeeper is not ours"};
  }
  MutexLock lock(mutex_);
  seal_ = Seal{*epoch, read.stat.version};
  return *seal_;
}

void ZooKeeperLockSession::ForgetSeal() {
  MutexLock lock(mutex_);
  seal_.reset();
}

Status ZooKeeperLockSession::MakeRoot() {
  std::vector<Call> calls;
  for (const std::string& path : paths_.above) {
    calls.push_back({.kind = Call::Kind::kCreate, .path = path});
  }
  calls.push_back({.kind = Call::Kind::kCreate, .path = paths_.root});
  calls.push_back({.kind = Call::Kind::kCreate, .path = paths_.seal, .data = "0"});
  const auto replies = session_->Run(calls);
  if (!replies) {
    return replies.error();
  }
  if (replies->front().kind == Reply::Kind::kNoNode) {
    return Error{Code::kInvalid, Effect::kNone,
                 "locks in this ZooKeeper: the path behind its hosts is not there"};
  }
  return {};
}

void ZooKeeperLockSession::EndDue(bool patient) {
  const BootTime now = SystemClock::Instance().Boot();
  const auto due = With([now](SessionClaims& claims) { return claims.Due(now); });
  std::vector<std::optional<SessionClaims::Ending>> unknown;
  for (const SessionClaims::Ending& ending : due) {
    waits_.Drop(ending.token);
    if (!ending.node.empty()) {
      DeleteSoon(ending);
    } else if (patient) {
      unknown.emplace_back(ending);
    } else {
      With([&](SessionClaims& claims) { claims.Failed(ending.number); });
    }
  }
  if (!unknown.empty()) {
    static_cast<void>(Delete(unknown));
  }
}

void ZooKeeperLockSession::DeleteSoon(const SessionClaims::Ending& ending) {
  const Call call{.kind = Call::Kind::kDelete, .path = ending.node};
  session_->Send(call, [this, number = ending.number](const Result<Reply>& reply) {
    With([&](SessionClaims& claims) { reply ? claims.Gone(number) : claims.Failed(number); });
  });
}

// One for each; without a path where nothing is left to delete.
Result<std::vector<Call>> ZooKeeperLockSession::Deletions(
    std::span<const std::optional<SessionClaims::Ending>> endings) {
  std::vector<Call> calls;
  for (const auto& ending : endings) {
    Call call{.kind = Call::Kind::kDelete, .path = ending ? ending->node : std::string()};
    if (ending && call.path.empty()) {
      const auto queue = Queue(ending->name);
      if (!queue) {
        return queue.error();
      }
      for (const ZooKeeperNode& node : *queue) {
        if (node.session == id() && node.number == ending->number) {
          call.path = paths_.Name(ending->name) + "/" + node.child;
        }
      }
    }
    calls.push_back(std::move(call));
  }
  return calls;
}

Result<std::vector<bool>> ZooKeeperLockSession::Delete(
    std::span<const std::optional<SessionClaims::Ending>> endings) {
  const auto deletions = Deletions(endings);
  std::vector<Call> calls;
  std::vector<size_t> places;  // of the calls among the endings
  for (size_t i = 0; deletions && i < endings.size(); i++) {
    if (!(*deletions)[i].path.empty()) {
      calls.push_back((*deletions)[i]);
      places.push_back(i);
    }
  }
  const auto replies = !deletions      ? deletions.error()
                       : calls.empty() ? Result(std::vector<Reply>())
                                       : session_->Run(calls);
  With([&](SessionClaims& claims) {
    for (const auto& ending : endings) {
      if (ending) {
        replies ? claims.Gone(ending->number) : claims.Failed(ending->number);
      }
    }
  });
  if (!replies) {
    return replies.error();
  }
  std::vector<bool> held(endings.size(), false);
  for (size_t i = 0; i < calls.size(); i++) {
    held[places[i]] = endings[places[i]]->held && (*replies)[i].kind == Reply::Kind::kDone;
  }
  return held;
}

void ZooKeeperLockSession::Beat() {
  session_->Send({.path = paths_.root}, [](const Result<Reply>&) {});
}

}  // namespace oncemq
