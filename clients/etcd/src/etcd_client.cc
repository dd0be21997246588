// SPDX-License-Identifier: Apache-2.0
#include "oncemq/clients/etcd_client.h"

#include <algorithm>
#include <optional>

#include "etcd_connection.h"
#include "etcd_guard.h"
#include "etcd_json.h"
#include "oncemq/base/bytes.h"
#include "oncemq/base/connection_pool.h"
#include "oncemq/base/mutex.h"
#include "oncemq/base/outage.h"

namespace oncemq {
namespace {

using nlohmann::json;

constexpr size_t kLongestLine = size_t{1} << 20;

// A token goes into a header as it is.
bool FitsIntoHeader(std::string_view token) {
  return !token.empty() && token.size() < 8'192 &&
         std::all_of(token.begin(), token.end(), [](char c) { return c > ' ' && c <= '~'; });
}

// The members of a stream have their value in "result".
Result<json> Read(const EtcdText& text) {
  auto parsed = ParseJson(text.body);
  if (!parsed && text.broken) {
    return *text.broken;
  }
  if (!parsed || text.status != 200) {
    Error error = EtcdError(parsed ? *parsed : json());
    if (!parsed) {
      error = {Code::kUnavailable, Effect::kUnknown,
               "etcd answered HTTP " + std::to_string(text.status) + " without a word of JSON"};
    }
    if (text.status == 404 && !parsed) {
      error = {Code::kInvalid, Effect::kNone,
               "this etcd has no gateway /v3: it needs 3.4 or newer"};
    }
    return error;
  }
  if (const auto error = parsed->find("error"); error != parsed->end()) {
    return EtcdError(*error);
  }
  if (const auto result = parsed->find("result"); result != parsed->end()) {
    return std::move(*result);
  }
  return *std::move(parsed);
}

}  // namespace

std::string EtcdEndOf(std::string_view prefix) {
  std::string end(prefix);
  while (!end.empty() && end.back() == '\xff') {
    end.pop_back();
  }
  if (end.empty()) {
    return std::string(1, '\0');  // all keys behind it
  }
  end.back() = static_cast<char>(static_cast<unsigned char>(end.back()) + 1);
  return end;
}

struct EtcdClient::Parts {
  struct MemberConnection {
    MemberConnection(size_t m, const EtcdHost& host) : member(m), connection(host) {}
    const size_t member;
    EtcdConnection connection;
  };

  const EtcdEndpoint endpoint;
  const EtcdTimes times;
  ConnectionPool<MemberConnection> pool;
  EtcdGuard guard;
  Mutex mutex;
  size_t member GUARDED_BY(mutex) = 0;  // the one that is asked
  std::string token GUARDED_BY(mutex);

  Result<std::unique_ptr<MemberConnection>> Borrow(BootTime until);
  void Leave(size_t failed);
  Result<std::string> Token(BootTime until);
  Result<json> Request(const char* path, const std::string& body, const std::string& as,
                       BootTime until);
  Result<json> Request(const char* path, const std::string& body,
                       milliseconds within = milliseconds::max());
};

// To the member that is asked now.
Result<std::unique_ptr<EtcdClient::Parts::MemberConnection>> EtcdClient::Parts::Borrow(
    BootTime until) {
  const auto asked = [this] {
    MutexLock lock(mutex);
    return member;
  };
  return pool.Borrow(
      until, [&](const MemberConnection& connection) { return connection.member == asked(); },
      [&]() -> Result<std::unique_ptr<MemberConnection>> {
        const size_t to = asked();
        return std::make_unique<MemberConnection>(to, endpoint.hosts[to]);
      });
}

// Whoever comes asks another member, unless somebody has said so already.
void EtcdClient::Parts::Leave(size_t failed) {
  MutexLock lock(mutex);
  if (failed == member) {
    member = (member + 1) % endpoint.hosts.size();
  }
}

// Asks one member after another, as long as none of them can have acted.
Result<json> EtcdClient::Parts::Request(const char* path, const std::string& body,
                                        const std::string& as, BootTime until) {
  for (size_t tries = 1;; tries++) {
    auto connection = Borrow(until);
    if (!connection) {
      return connection.error();
    }
    const auto text = [&] {
      const EtcdGuard::Call guarded(guard, (*connection)->connection, until);
      return (*connection)->connection.Post({path, body, as, times.connect, until});
    }();
    auto answer = text ? Read(*text) : Result<json>(text.error());
    const bool failed = !answer && IsSilent(answer.error());
    const size_t member_used = (*connection)->member;
    if (text && !text->broken) {
      pool.GiveBack(*std::move(connection));
    } else {
      connection->reset();
      pool.Dropped();
    }
    if (failed) {
      Leave(member_used);
    }
    const bool safe = failed && answer.error().effect == Effect::kNone;
    if (!safe || tries >= endpoint.hosts.size() || BootNow() >= until) {
      return answer;
    }
  }
}

Result<std::string> EtcdClient::Parts::Token(BootTime until) {
  if (endpoint.user.empty()) {
    return std::string();
  }
  {
    MutexLock lock(mutex);
    if (!token.empty()) {
      return token;
    }
  }
  const auto answer = Request(
      "/v3/auth/authenticate",
      "{\"name\":" + JsonText(endpoint.user) + ",\"password\":" + JsonText(endpoint.password) + "}",
      "", until);
  if (!answer) {
    Error error = answer.error();
    error.effect = Effect::kNone;
    return error;
  }
  std::string fresh(TextOf(*answer, "token"));
  if (!FitsIntoHeader(fresh)) {
    return Error{Code::kCorrupt, Effect::kNone, "etcd gave no token that can be used"};
  }
  MutexLock lock(mutex);
  token = fresh;
  return fresh;
}

Result<json> EtcdClient::Parts::Request(const char* path, const std::string& body,
                                        milliseconds within) {
  const BootTime until = BootNow() + std::min(within, times.call);
  for (bool again = false;; again = true) {
    const auto as = Token(until);
    if (!as) {
      return as.error();
    }
    auto answer = Request(path, body, *as, until);
    // Tokens end by themselves; what comes with one is looked at behind it only.
    if (answer || again || as->empty() || answer.error().code != Code::kRefused) {
      return answer;
    }
    MutexLock lock(mutex);
    if (token == *as) {
      token.clear();
    }
  }
}

EtcdClient::EtcdClient(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

EtcdClient::~EtcdClient() = default;

Result<std::unique_ptr<EtcdClient>> EtcdClient::Open(const EtcdEndpoint& endpoint,
                                                     const EtcdTimes& times,
                                                     size_t max_connections) {
  if (endpoint.hosts.empty()) {
    return Error{Code::kInvalid, Effect::kNone, "the address of an etcd is missing"};
  }
  std::unique_ptr<Parts> parts(new Parts{
      endpoint, times, ConnectionPool<Parts::MemberConnection>(max_connections), {}, {}, {}, {}});
  if (!parts->guard.Start()) {
    return Error{Code::kUnavailable, Effect::kNone, "the system gives no thread"};
  }
  const auto status = parts->Request("/v3/maintenance/status", "{}");
  if (!status) {
    return status.error();
  }
  const std::string_view version = TextOf(*status, "version");
  const size_t dot = version.find('.');
  const auto major = ParseDecimal(version.substr(0, dot));
  const std::string_view rest = version.substr(std::min(version.size(), dot + 1));
  const auto minor = ParseDecimal(rest.substr(0, rest.find('.')));
  if (!major || !minor || *major < 3 || (*major == 3 && *minor < 4)) {
    return Error{Code::kInvalid, Effect::kNone,
                 "etcd 3.4 or newer is needed, this is " + std::string(version.substr(0, 20))};
  }
  return std::unique_ptr<EtcdClient>(new EtcdClient(std::move(parts)));
}

Result<EtcdAnswer> EtcdClient::Run(const EtcdTxn& txn, milliseconds within) {
  const auto answer = parts_->Request("/v3/kv/txn", JsonOf(txn), within);
  return answer ? TxnOf(*answer) : answer.error();
}

Result<EtcdAnswer> EtcdClient::Run(const EtcdOp& op) {
  return Run(EtcdTxn{.then = {op}});
}

Result<EtcdLease> EtcdClient::Grant(std::chrono::seconds ttl) {
  const auto answer =
      parts_->Request("/v3/lease/grant", "{\"TTL\":\"" + std::to_string(ttl.count()) + "\"}");
  return answer ? LeaseOf(*answer) : answer.error();
}

Result<EtcdLease> EtcdClient::KeepAlive(int64_t lease, milliseconds within) {
  const auto answer =
      parts_->Request("/v3/lease/keepalive", "{\"ID\":\"" + std::to_string(lease) + "\"}", within);
  return answer ? LeaseOf(*answer) : answer.error();
}

Status EtcdClient::Revoke(int64_t lease) {
  const auto answer =
      parts_->Request("/v3/lease/revoke", "{\"ID\":\"" + std::to_string(lease) + "\"}");
  return answer ? Status() : answer.error();
}

Status EtcdClient::Watch(const EtcdWatch& what, BootTime until, const std::stop_token& stop,
                         const std::function<bool(const EtcdEvent&)>& hears) {
  const auto as = parts_->Token(std::min<BootTime>(until, BootNow() + parts_->times.call));
  if (!as) {
    return as.error();
  }
  size_t member = 0;
  {
    MutexLock lock(parts_->mutex);
    member = parts_->member;
  }
  EtcdConnection connection(parts_->endpoint.hosts[member]);
  const std::stop_callback hang(stop, [&connection] { connection.Hang(); });
  const EtcdGuard::Call guarded(parts_->guard, connection, until);
  std::string rest;
  Status heard;
  bool enough = false;
  const auto take = [&](int status, std::string_view piece) {
    rest.append(piece);
    for (size_t end = 0; heard && !enough && (end = rest.find('\n')) != std::string::npos;
         rest.erase(0, end + 1)) {
      const auto more = HearLine(std::string_view(rest).substr(0, end), hears);
      heard = more ? Status() : Status(more.error());
      enough = more && !*more;
    }
    if (heard && !enough && (status != 200 || rest.size() > kLongestLine)) {
      heard = Error{Code::kUnavailable, Effect::kNone, "etcd does not let us watch"};
    }
    return heard && !enough;
  };
  const Status done =
      connection.Stream({"/v3/watch", JsonOf(what), *as, parts_->times.connect, until}, take);
  if (!heard) {
    if (heard.error().code == Code::kRefused) {
      heard.error().code = Code::kInvalid;  // no outage: the next call has another token
      MutexLock lock(parts_->mutex);
      parts_->token.clear();
    }
    return heard;
  }
  if (enough || stop.stop_requested() || BootNow() >= until) {
    return {};
  }
  return done ? Status(Error{Code::kUnavailable, Effect::kNone, "etcd ended a watch"}) : done;
}

const EtcdEndpoint& EtcdClient::endpoint() const {
  return parts_->endpoint;
}

}  // namespace oncemq
