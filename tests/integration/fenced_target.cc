// SPDX-License-Identifier: Apache-2.0
#include "fenced_target.h"

#include <algorithm>
#include <map>

namespace oncemq::testing {

FencedCall::Kind FencedTarget::Raise(uint32_t member, uint32_t id, const Lease& lease) {
  return Answer({.kind = FencedCall::kRaised, .member = member, .id = id}, lease);
}

FencedCall::Kind FencedTarget::Store(uint32_t member, uint32_t id, const Lease& lease) {
  return Answer({.kind = FencedCall::kStored, .member = member, .id = id}, lease);
}

FencedCall::Kind FencedTarget::Answer(FencedCall call, const Lease& lease) {
  call.still_mine = lease.StillMine() ? 1 : 0;
  call.fence = lease.fence().token;
  MutexLock lock(mutex_);
  const FileLock others(file_.fd());
  file_.ReadOn(calls_);
  for (const FencedCall& before : calls_) {
    if (before.fence > call.fence) {
      call.kind = FencedCall::kOvertaken;
      break;
    }
    if (call.kind == FencedCall::kStored && before.kind == FencedCall::kStored &&
        before.id == call.id) {
      call.kind = FencedCall::kKnown;
    }
  }
  file_.Append(call);
  return call.kind;
}

void FencedTarget::End(uint32_t member, int64_t applied) {
  file_.Append({.kind = FencedCall::kEnded, .member = member, .applied = applied});
}

std::vector<FencedCall> FencedTarget::All() {
  MutexLock lock(mutex_);
  file_.ReadOn(calls_);
  return calls_;
}

std::vector<FencedCall> FencedTarget::All(FencedCall::Kind kind) {
  std::vector<FencedCall> calls = All();
  std::erase_if(calls, [&](const FencedCall& call) { return call.kind != kind; });
  return calls;
}

std::vector<std::string> FencedTarget::Judge(uint32_t first, uint32_t end) {
  std::vector<std::string> wrong;
  std::map<uint32_t, int> times;
  for (uint32_t id = first; id < end; id++) {
    times[id] = 0;
  }
  uint64_t greatest = 0;
  for (const FencedCall& call : All()) {
    if (call.kind == FencedCall::kStored) {
      times[call.id]++;
      if (call.fence < greatest) {
        wrong.push_back("id " + std::to_string(call.id) + " lies behind a greater fence");
      }
    }
    if (call.kind != FencedCall::kOvertaken) {
      greatest = std::max(greatest, call.fence);
    }
  }
  for (const auto& [id, count] : times) {
    if (count != 1 || id < first || id >= end) {
      wrong.push_back("id " + std::to_string(id) + " is there " + std::to_string(count) + " times");
    }
  }
  return wrong;
}

}  // namespace oncemq::testing
