// SPDX-License-Identifier: Apache-2.0
#include "lock_use.h"

#include <utility>

#include "oncemq/locks/memory_locks.h"

namespace oncemq {

Result<OpenedLocks> OpenLocks(LockUse use, const std::optional<Level>& level) {
  const auto refuse = [](const char* why) { return Error{Code::kInvalid, Effect::kNone, why}; };
  if (!use.elided) {
    OpenedLocks locks{std::move(use.domain), {}};
    if (locks.domain != nullptr) {
      locks.source = {LockSource::Kind::kDomain, locks.domain};
    }
    return locks;
  }
  if (use.domain != nullptr) {
    return refuse("locks are elided or taken from a domain, never both");
  }
  if (!use.names_partition_owned) {
    return refuse(
        "locks can be elided only if whoever takes a name does so in one partition: say "
        "names_partition_owned");
  }
  const bool checked =
      level == Level::kAtomic || (level == Level::kGuarded && use.effects_check_fences);
  if (!checked) {
    return refuse(
        "locks can be elided only if effects are checked: at the level atomic, or at guarded with "
        "effects_check_fences; else take leases from a domain");
  }
  auto domain = LockDomain::Open(MakeMemoryLocks());
  if (!domain) {
    return domain.error();
  }
  OpenedLocks locks{*std::move(domain), {}};
  locks.source = {LockSource::Kind::kAssignment, locks.domain};
  return locks;
}

}  // namespace oncemq
