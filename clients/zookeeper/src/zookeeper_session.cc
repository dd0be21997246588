// SPDX-License-Identifier: Apache-2.0
#include "oncemq/clients/zookeeper_session.h"

#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "oncemq/base/mutex.h"
#include "zookeeper_calls.h"

namespace oncemq {
namespace {

// What the C client says goes nowhere: errors come back with the calls, and it would write to our
// standard error.
void SayNothing(const char* /*line*/) {}

// It formats its lines in memory that all threads share, so the fewer the better.
void LogErrorsOnly() {
  static const bool done = [] {
    zoo_set_debug_level(ZOO_LOG_LEVEL_ERROR);
    return true;
  }();
  static_cast<void>(done);
}

std::string HostsOf(const ZooKeeperEndpoint& endpoint) {
  std::string hosts;
  for (const ZooKeeperHost& host : endpoint.hosts) {
    hosts.append(hosts.empty() ? "" : ",").append(host.host);
    hosts.append(":").append(std::to_string(host.port));
  }
  return hosts;
}

}  // namespace

struct ZooKeeperSession::Parts {
  const ZooKeeperEndpoint endpoint;
  const ZooKeeperTimes times;
  const ZooKeeperEars ears;
  zhandle_t* handle = nullptr;
  OpenZooKeeperCalls calls;
  Mutex mutex;
  ConditionVariable state_changed;
  bool connected GUARDED_BY(mutex) = false;
  bool ended GUARDED_BY(mutex) = false;
  bool refused GUARDED_BY(mutex) = false;  // who we say we are
  uint64_t id GUARDED_BY(mutex) = 0;
  milliseconds timeout GUARDED_BY(mutex){0};

  const ACL_vector& Acl() const {
    return endpoint.user.empty() ? ZOO_OPEN_ACL_UNSAFE : ZOO_CREATOR_ALL_ACL;
  }

  static void Watch(zhandle_t* handle, int type, int state, const char* path, void* context) {
    auto* parts = static_cast<Parts*>(context);
    if (type == ZOO_SESSION_EVENT) {
      parts->Became(handle, state);
    } else if (path != nullptr) {
      parts->ears.changed(BehindChroot(path, parts->endpoint.chroot));
    }
  }

  void Became(zhandle_t* of, int state) {
    bool ends = false;
    {
      MutexLock lock(mutex);
      connected = state == ZOO_CONNECTED_STATE;
      if (connected) {
        id = static_cast<uint64_t>(zoo_client_id(of)->client_id);
        timeout = milliseconds(zoo_recv_timeout(of));
      }
      refused = refused || state == ZOO_AUTH_FAILED_STATE;
      ends = !ended && (state == ZOO_EXPIRED_SESSION_STATE || state == ZOO_AUTH_FAILED_STATE);
      ended = ended || ends;
      state_changed.notify_all();
    }
    if (ends) {
      ears.ended();
    }
  }

  Status Fit() REQUIRES(mutex) {
    if (refused) {
      return Error{Code::kInvalid, Effect::kNone, "ZooKeeper does not accept user and password"};
    }
    if (ended) {
      return Error{Code::kUnavailable, Effect::kNone, "the session with ZooKeeper has ended"};
    }
    if (!connected) {
      return Error{Code::kUnavailable, Effect::kNone, "no connection to " + ToString(endpoint)};
    }
    return {};
  }
};

namespace {

bool Writes(ZooKeeperCall::Kind kind) {
  using enum ZooKeeperCall::Kind;
  return kind == kCreate || kind == kDelete || kind == kSet || kind == kMulti;
}

// Calls that are under way together.
struct Flight {
  Mutex mutex;
  ConditionVariable landed;
  size_t left GUARDED_BY(mutex) = 0;
  std::optional<Error> error GUARDED_BY(mutex);
  bool acted GUARDED_BY(mutex) = false;
  std::vector<ZooKeeperReply> replies GUARDED_BY(mutex);

  void Land(size_t at, bool writes, const Result<ZooKeeperReply>& reply) {
    MutexLock lock(mutex);
    if (reply) {
      replies[at] = *reply;
      acted = acted || (writes && reply->kind == ZooKeeperReply::Kind::kDone);
    } else {
      acted = acted || (writes && reply.error().effect == Effect::kUnknown);
      error = error.value_or(reply.error());
    }
    if (--left == 0) {
      landed.notify_all();
    }
  }
};

}  // namespace

ZooKeeperSession::ZooKeeperSession(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

// What is still under way is answered within.
ZooKeeperSession::~ZooKeeperSession() {
  if (parts_->handle != nullptr) {
    zookeeper_close(parts_->handle);
    parts_->calls.AnswerTheRest();
  }
}

Result<std::unique_ptr<ZooKeeperSession>> ZooKeeperSession::Start(const ZooKeeperEndpoint& endpoint,
                                                                  const ZooKeeperTimes& times,
                                                                  ZooKeeperEars ears) {
  std::unique_ptr<ZooKeeperSession> session(
      new ZooKeeperSession(std::unique_ptr<Parts>(new Parts{endpoint, times, std::move(ears)})));
  Parts& parts = *session->parts_;
  LogErrorsOnly();
  parts.handle = zookeeper_init2(HostsOf(endpoint).c_str(), Parts::Watch,
                                 static_cast<int>(times.session.count()), nullptr, &parts,
                                 ZOO_NO_LOG_CLIENTENV, SayNothing);
  if (parts.handle == nullptr) {
    return Error{Code::kUnavailable, Effect::kNone,
                 "no session with " + ToString(endpoint) + ": " + std::strerror(errno)};
  }
  if (!endpoint.user.empty()) {
    const std::string who = endpoint.user + ":" + endpoint.password;
    zoo_add_auth(parts.handle, "digest", who.data(), static_cast<int>(who.size()), nullptr,
                 nullptr);
  }
  return session;
}

Status ZooKeeperSession::Connected(milliseconds within) {
  MutexLock lock(parts_->mutex);
  parts_->state_changed.wait_for(parts_->mutex, within, [this]() REQUIRES(parts_->mutex) {
    return parts_->connected || parts_->ended;
  });
  return parts_->Fit();
}

Result<std::vector<ZooKeeperReply>> ZooKeeperSession::Run(std::span<const ZooKeeperCall> calls) {
  const Clock& clock = SystemClock::Instance();
  const BootTime until = clock.Boot() + parts_->times.call;
  if (const Status there = Connected(parts_->times.call); !there) {
    return there.error();
  }
  const auto flight = std::make_shared<Flight>();
  {
    MutexLock lock(flight->mutex);
    flight->left = calls.size();
    flight->replies.resize(calls.size());
  }
  for (size_t i = 0; i < calls.size(); i++) {
    parts_->calls.HandOver(
        parts_->handle, parts_->endpoint.chroot, parts_->Acl(), calls[i],
        [flight, i, writes = Writes(calls[i].kind)](const Result<ZooKeeperReply>& reply) {
          flight->Land(i, writes, reply);
        });
  }
  MutexLock lock(flight->mutex);
  const auto landed = [&flight]() REQUIRES(flight->mutex) { return flight->left == 0; };
  if (!flight->landed.wait_for(flight->mutex, until - clock.Boot(), landed)) {
    return Error{Code::kTimeout, Effect::kUnknown, "ZooKeeper does not answer in time"};
  }
  if (flight->error) {
    Error error = *flight->error;
    error.effect = flight->acted ? Effect::kUnknown : Effect::kNone;
    return error;
  }
  return std::move(flight->replies);
}

void ZooKeeperSession::Send(const ZooKeeperCall& call,
                            std::function<void(const Result<ZooKeeperReply>&)> done) {
  if (const Status there = Connected(milliseconds(0)); !there) {
    done(there.error());
    return;
  }
  parts_->calls.HandOver(parts_->handle, parts_->endpoint.chroot, parts_->Acl(), call,
                         std::move(done));
}

bool ZooKeeperSession::ended() const {
  MutexLock lock(parts_->mutex);
  return parts_->ended;
}

uint64_t ZooKeeperSession::id() const {
  MutexLock lock(parts_->mutex);
  return parts_->id;
}

milliseconds ZooKeeperSession::timeout() const {
  MutexLock lock(parts_->mutex);
  return parts_->timeout;
}

}  // namespace oncemq
