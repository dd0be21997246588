// SPDX-License-Identifier: Apache-2.0
// A node for each who wants a name, in their order, by the book but for one thing: who waits
// watches all the others, and not only the one before.
#include <algorithm>
#include <map>
#include <thread>
#include <utility>

#include "museum_exhibit.h"
#include "oncemq/base/mutex.h"
#include "oncemq/clients/zookeeper_session.h"

namespace oncemq::testing {
namespace {

class AllWoken final : public Exhibit {
 public:
  Status Open(const ZooKeeperEndpoint& endpoint) {
    auto session = ZooKeeperSession::Start(
        endpoint, {}, {.changed = [this](std::string_view) { Wake(); }, .ended = [] {}});
    if (!session) {
      return session.error();
    }
    session_ = *std::move(session);
    return session_->Connected(std::chrono::seconds(30));
  }

  Result<LockAnswer> Request(const AcquireRequest& request) override {
    {
      MutexLock lock(mutex_);
      woken_ = false;
    }
    const std::string home = "/" + std::string(request.name);
    const std::string mine = TextOf(request.token) + "-";
    auto queue = QueueOf(home);
    if (queue && std::none_of(queue->begin(), queue->end(), IsOf(mine))) {
      const auto made = Run({{.kind = ZooKeeperCall::Kind::kCreate, .path = home},
                             {.kind = ZooKeeperCall::Kind::kCreate,
                              .path = home + "/" + mine,
                              .mode = ZooKeeperCall::Mode::kEphemeralSequential}});
      queue = made ? QueueOf(home) : made.error();
    }
    if (!queue) {
      return queue.error();
    }
    if (!queue->empty() && IsOf(mine)(queue->front())) {
      return Granted(1);
    }
    return Watch(home, *queue, request.lease);
  }
  Status Await(const AcquireRequest&, BootTime until, const std::stop_token& stop) override {
    const BootTime now = SystemClock::Instance().Boot();
    MutexLock lock(mutex_);
    changed_.wait_for(mutex_, stop, until - now, [this] { return woken_; });
    return {};
  }

 protected:
  Result<int64_t> ExtendOne(const LockClaim& claim) override {
    const auto queue = QueueOf("/" + std::string(claim.name));
    const auto is_mine = IsOf(TextOf(claim.token) + "-");
    return queue ? Result<int64_t>(std::any_of(queue->begin(), queue->end(), is_mine) ? 1 : 0)
                 : queue.error();
  }
  Result<int64_t> FreeOne(const LockClaim& claim) override {
    const std::string home = "/" + std::string(claim.name);
    const auto queue = QueueOf(home);
    if (!queue) {
      return queue.error();
    }
    const auto at = std::find_if(queue->begin(), queue->end(), IsOf(TextOf(claim.token) + "-"));
    if (at == queue->end()) {
      return 0;
    }
    const auto gone = Run({{.kind = ZooKeeperCall::Kind::kDelete, .path = home + "/" + *at}});
    return gone ? Result<int64_t>(1) : gone.error();
  }

 private:
  static std::function<bool(const std::string&)> IsOf(const std::string& mine) {
    return [mine](const std::string& node) { return node.starts_with(mine); };
  }
  Result<std::vector<ZooKeeperReply>> Run(const std::vector<ZooKeeperCall>& calls) {
    return session_->Run(calls);
  }
  // Of all who want it, the first one first.
  Result<std::vector<std::string>> QueueOf(const std::string& home) {
    auto replies = Run({{.kind = ZooKeeperCall::Kind::kChildren, .path = home}});
    if (!replies) {
      return replies.error();
    }
    std::vector<std::string> queue = std::move(replies->front().children);
    const auto number = [](const std::string& node) { return node.substr(node.rfind('-')); };
    std::sort(queue.begin(), queue.end(), [&number](const std::string& a, const std::string& b) {
      return number(a) < number(b);
    });
    return queue;
  }
  Result<LockAnswer> Watch(const std::string& home, const std::vector<std::string>& queue,
                           milliseconds lease) {
    std::vector<ZooKeeperCall> watches;
    for (const std::string& node : queue) {
      watches.push_back(
          {.kind = ZooKeeperCall::Kind::kGet, .path = home + "/" + node, .watch = true});
    }
    const auto replies = Run(watches);
    if (!replies) {
      return replies.error();
    }
    if (std::any_of(replies->begin(), replies->end(), [](const ZooKeeperReply& reply) {
          return reply.kind == ZooKeeperReply::Kind::kNoNode;
        })) {
      Wake();  // it went before it was watched
    }
    return LockAnswer{LockAnswer::Kind::kQueued, {}, lease};
  }
  void Wake() {
    MutexLock lock(mutex_);
    woken_ = true;
    changed_.notify_all();
  }

  Mutex mutex_;
  ConditionVariable changed_;
  bool woken_ = false;
  std::unique_ptr<ZooKeeperSession> session_;  // last: its threads use the rest
};

}  // namespace

OpenedExhibit OpenZooKeeperExhibit(std::string_view at) {
  const auto endpoint = ParseZooKeeperEndpoint(at);
  if (!endpoint) {
    return endpoint.error();
  }
  auto exhibit = std::make_shared<AllWoken>();
  if (const Status opened = exhibit->Open(*endpoint); !opened) {
    return opened.error();
  }
  return std::shared_ptr<LockEngine>(std::move(exhibit));
}

}  // namespace oncemq::testing
