// SPDX-License-Identifier: Apache-2.0
#include "zookeeper_calls.h"

#include <optional>
#include <utility>

namespace oncemq {

namespace {

using Ticket = OpenZooKeeperCalls::Ticket;
using Kind = ZooKeeperCall::Kind;
using Mode = ZooKeeperCall::Mode;

constexpr size_t kOrderBytes = 12;  // at most, behind the path of a sequential node, and its end

std::string FullPath(const std::string& chroot, const std::string& path) {
  if (chroot.empty()) {
    return path;
  }
  return path == "/" ? chroot : chroot + path;
}

int ModeOf(Mode mode) {
  switch (mode) {
    case Mode::kEphemeral:
      return ZOO_EPHEMERAL;
    case Mode::kEphemeralSequential:
      return ZOO_EPHEMERAL_SEQUENTIAL;
    case Mode::kContainer:
      return ZOO_CONTAINER;
    default:
      return ZOO_PERSISTENT;
  }
}

// Codes that are answers.
std::optional<ZooKeeperReply::Kind> AnswerOf(int code) {
  switch (code) {
    case ZOK:
      return ZooKeeperReply::Kind::kDone;
    case ZNONODE:
      return ZooKeeperReply::Kind::kNoNode;
    case ZNODEEXISTS:
      return ZooKeeperReply::Kind::kExists;
    case ZBADVERSION:
      return ZooKeeperReply::Kind::kBadVersion;
    case ZNOTEMPTY:
      return ZooKeeperReply::Kind::kNotEmpty;
    default:
      return std::nullopt;
  }
}

ZooKeeperReply::Stat StatOf(const Stat& stat) {
  return {.created = static_cast<uint64_t>(stat.czxid),
          .changed = static_cast<uint64_t>(stat.mzxid),
          .children_changed = static_cast<uint64_t>(stat.pzxid),
          .children_changes = static_cast<uint32_t>(stat.cversion),
          .version = stat.version,
          .children = stat.numChildren,
          .owner = static_cast<uint64_t>(stat.ephemeralOwner)};
}

void Answer(const void* data, int code, ZooKeeperReply reply) {
  auto* const given = static_cast<const Ticket*>(data);
  const std::unique_ptr<const Ticket> ticket = given->open.Take(given);
  const auto kind = AnswerOf(code);
  if (!kind) {
    ticket->done(ZooKeeperError(code));
    return;
  }
  reply.kind = *kind;
  if (code == ZOK && !ticket->results.empty()) {
    reply.stat = StatOf(ticket->stat);
    for (const std::string& path : ticket->made) {
      reply.made = BehindChroot(path.c_str(), ticket->chroot);
    }
  }
  if (code != ZOK) {
    for (size_t i = 0; i < ticket->results.size(); i++) {
      if (ticket->results[i].err == code) {
        reply.step = i;
        break;
      }
    }
  }
  ticket->done(reply);
}

void OnVoid(int code, const void* data) {
  Answer(data, code, {});
}

void OnString(int code, const char* /*path*/, const void* data) {
  Answer(data, code, {});
}

void OnStat(int code, const Stat* stat, const void* data) {
  ZooKeeperReply reply;
  if (code == ZOK) {
    reply.stat = StatOf(*stat);
  }
  Answer(data, code, std::move(reply));
}

void OnData(int code, const char* bytes, int length, const Stat* stat, const void* data) {
  ZooKeeperReply reply;
  if (code == ZOK) {
    reply.stat = StatOf(*stat);
    if (length > 0) {
      reply.data.assign(bytes, static_cast<size_t>(length));
    }
  }
  Answer(data, code, std::move(reply));
}

void OnChildren(int code, const String_vector* children, const Stat* stat, const void* data) {
  ZooKeeperReply reply;
  if (code == ZOK) {
    reply.stat = StatOf(*stat);
    reply.children.assign(children->data, children->data + children->count);
  }
  Answer(data, code, std::move(reply));
}

int Multi(zhandle_t* handle, const std::string& chroot, const ACL_vector& acl,
          const std::vector<ZooKeeperCall>& steps, Ticket& ticket) {
  std::vector<std::string> paths;
  std::vector<zoo_op_t> ops(steps.size());
  paths.reserve(steps.size());
  ticket.results.resize(steps.size());
  ticket.made.reserve(steps.size());  // the client writes to where they are
  for (size_t i = 0; i < steps.size(); i++) {
    const ZooKeeperCall& step = steps[i];
    const char* path = paths.emplace_back(FullPath(chroot, step.path)).c_str();
    const int length = static_cast<int>(step.data.size());
    switch (step.kind) {
      case Kind::kCreate:
        if (step.mode == Mode::kContainer) {
          return ZBADARGUMENTS;  // the client ends the process over the server's answer
        }
        ticket.made.emplace_back(paths.back().size() + kOrderBytes, '\0');
        zoo_create_op_init(&ops[i], path, step.data.data(), length, &acl, ModeOf(step.mode),
                           ticket.made.back().data(), static_cast<int>(ticket.made.back().size()));
        break;
      case Kind::kDelete:
        zoo_delete_op_init(&ops[i], path, step.version);
        break;
      case Kind::kSet:
        zoo_set_op_init(&ops[i], path, step.data.data(), length, step.version, &ticket.stat);
        break;
      case Kind::kCheck:
        zoo_check_op_init(&ops[i], path, step.version);
        break;
      default:
        return ZBADARGUMENTS;
    }
  }
  return zoo_amulti(handle, static_cast<int>(ops.size()), ops.data(), ticket.results.data(), OnVoid,
                    &ticket);
}

int Give(zhandle_t* handle, const std::string& chroot, const ACL_vector& acl,
         const ZooKeeperCall& call, Ticket& ticket) {
  const std::string full = FullPath(chroot, call.path);
  const char* path = full.c_str();
  const int length = static_cast<int>(call.data.size());
  switch (call.kind) {
    case Kind::kCreate:
      return zoo_acreate(handle, path, call.data.data(), length, &acl, ModeOf(call.mode), OnString,
                         &ticket);
    case Kind::kDelete:
      return zoo_adelete(handle, path, call.version, OnVoid, &ticket);
    case Kind::kSet:
      return zoo_aset(handle, path, call.data.data(), length, call.version, OnStat, &ticket);
    case Kind::kGet:
      // Watches of the session's own watcher: one for each node, however often it is asked for.
      return zoo_aget(handle, path, call.watch ? 1 : 0, OnData, &ticket);
    case Kind::kExists:
      return zoo_aexists(handle, path, 0, OnStat, &ticket);
    case Kind::kChildren:
      return zoo_aget_children2(handle, path, 0, OnChildren, &ticket);
    case Kind::kSync:
      return zoo_async(handle, path, OnString, &ticket);
    case Kind::kMulti:
      return Multi(handle, chroot, acl, call.steps, ticket);
    case Kind::kCheck:
      break;
  }
  return ZBADARGUMENTS;
}

}  // namespace

std::unique_ptr<OpenZooKeeperCalls::Ticket> OpenZooKeeperCalls::Take(const Ticket* ticket) {
  MutexLock lock(mutex_);
  const auto at = tickets_.find(ticket);
  std::unique_ptr<Ticket> taken = std::move(at->second);
  tickets_.erase(at);
  return taken;
}

void OpenZooKeeperCalls::HandOver(zhandle_t* handle, const std::string& chroot,
                                  const ACL_vector& acl, const ZooKeeperCall& call,
                                  ZooKeeperDone done) {
  auto ticket = std::make_unique<Ticket>(Ticket{*this, std::move(done), chroot, {}, {}, {}});
  Ticket& given = *ticket;
  {
    MutexLock lock(mutex_);
    tickets_.emplace(&given, std::move(ticket));
  }
  const int code = Give(handle, chroot, acl, call, given);
  if (code != ZOK) {
    Take(&given)->done(ZooKeeperError(code));
  }
}

void OpenZooKeeperCalls::AnswerTheRest() {
  std::unordered_map<const Ticket*, std::unique_ptr<Ticket>> rest;
  {
    MutexLock lock(mutex_);
    rest.swap(tickets_);
  }
  for (const auto& [_, ticket] : rest) {
    ticket->done(ZooKeeperError(ZCLOSING));
  }
}

std::string_view BehindChroot(std::string_view path, std::string_view chroot) {
  if (!path.starts_with(chroot)) {
    return path;
  }
  path.remove_prefix(chroot.size());
  return path.empty() ? "/" : path;
}

Error ZooKeeperError(int code) {
  Error error{Code::kInternal, Effect::kUnknown, "ZooKeeper: " + std::string(zerror(code))};
  switch (code) {
    case ZCONNECTIONLOSS:
    case ZSESSIONEXPIRED:
    case ZSESSIONMOVED:
    case ZCLOSING:
      error.code = Code::kUnavailable;
      break;
    case ZOPERATIONTIMEOUT:
      error.code = Code::kTimeout;
      break;
    case ZINVALIDSTATE:
    case ZNOTREADONLY:
    case ZTHROTTLEDOP:
      error.code = Code::kUnavailable;
      error.effect = Effect::kNone;
      break;
    case ZNOAUTH:
    case ZAUTHFAILED:
    case ZINVALIDACL:
    case ZSESSIONCLOSEDREQUIRESASLAUTH:
    case ZBADARGUMENTS:
    case ZUNIMPLEMENTED:
      error.code = Code::kInvalid;
      error.effect = Effect::kNone;
      break;
    default:
      break;
  }
  return error;
}

}  // namespace oncemq
