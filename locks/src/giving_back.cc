// SPDX-License-Identifier: Apache-2.0
#include "giving_back.h"

#include "oncemq/base/outage.h"

namespace oncemq {
namespace {

bool Hopeless(const Error& error) {
  return error.code == Code::kInvalid || error.code == Code::kCorrupt;
}

void Add(GivenBack& sum, GivenBack part) {
  sum.left.insert(sum.left.end(), part.left.begin(), part.left.end());
  if (part.why) {
    sum.why = std::move(part.why);
  }
  sum.outage = sum.outage || part.outage;
}

}  // namespace

GivenBack GiveBackTogether(LockEngine& engine, const OwedQueue::Batch& batch) {
  std::vector<LockClaim> claims;
  for (const auto& one : batch) {
    claims.push_back({one->name, one->token});
  }
  std::vector<Freed> freed(claims.size());
  const Status done = engine.Free(claims, freed);
  if (done) {
    return {};
  }
  if (IsTransient(done.error())) {
    return {batch, done.error(), true};
  }
  if (batch.size() == 1) {
    return {Hopeless(done.error()) ? OwedQueue::Batch() : batch, done.error()};
  }
  GivenBack all;  // G2
  for (const auto& one : batch) {
    Add(all, all.outage ? GivenBack{{one}, {}} : GiveBackTogether(engine, {one}));
  }
  return all;
}

GivenBack GiveBackAll(LockEngine& engine, OwedQueue owed, const Clock& clock, BootTime until) {
  GivenBack all;
  for (auto batch = owed.Pop(); !batch.empty(); batch = owed.Pop()) {
    const bool ended = all.outage || clock.Boot() >= until;
    Add(all, ended ? GivenBack{std::move(batch), {}} : GiveBackTogether(engine, batch));
  }
  return all;
}

}  // namespace oncemq
