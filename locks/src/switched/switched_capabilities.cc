// SPDX-License-Identifier: Apache-2.0
// The capabilities that several stores have together. None is opened for that.
#include <algorithm>
#include <set>
#include <string>
#include <string_view>

#include "oncemq/locks/switched_locks.h"

namespace oncemq {
namespace {

Status CheckSwitchedStores(const std::vector<NamedLocks>& stores) {
  if (stores.empty()) {
    return Error{Code::kInvalid, Effect::kNone, "locks that are switched need a store"};
  }
  std::set<std::string_view> names;
  for (const NamedLocks& store : stores) {
    if (!names.insert(store.name).second) {
      return Error{Code::kInvalid, Effect::kNone, "two stores are called " + store.name};
    }
    if (!store.capabilities.epochs) {
      return Error{Code::kInvalid, Effect::kNone,
                   "the store " + store.name + " cannot be switched to or from: " +
                       std::string(store.capabilities.engine) + " knows no epochs"};
    }
  }
  return {};
}

}  // namespace

Result<LockCapabilities> SwitchedCapabilities(const std::vector<NamedLocks>& stores) {
  if (const Status fit = CheckSwitchedStores(stores); !fit) {
    return fit.error();
  }
  LockCapabilities all = stores.front().capabilities;
  for (const NamedLocks& store : stores) {
    const LockCapabilities& can = store.capabilities;
    all.processes = all.processes && can.processes;
    all.fair = all.fair && can.fair;
    all.unfair = all.unfair && can.unfair;
    all.shared = all.shared && can.shared;
    all.counted = all.counted && can.counted;
    all.wakes = all.wakes && can.wakes;
    all.fence = all.fence && can.fence;
    all.survives_failover = all.survives_failover && can.survives_failover;
    all.long_holds = all.long_holds && can.long_holds;
    all.seals = all.seals && can.seals;  // by the switchboard, not by those who use it
    all.lists = all.lists && can.lists;
    all.longest_lease = std::min(all.longest_lease, can.longest_lease);
  }
  all.engine = "switched";
  all.epochs = false;  // it asks in those of its own switchboard
  return all;
}

}  // namespace oncemq
