// SPDX-License-Identifier: Apache-2.0
#include "redlock_masters.h"

#include <algorithm>
#include <set>

namespace oncemq {
namespace {

constexpr size_t kFewest = 3;
constexpr size_t kMost = 9;

Error Invalid(const std::string& why) {
  return {Code::kInvalid, Effect::kNone, "the address of a redlock: " + why};
}

}  // namespace

Result<std::vector<RedisEndpoint>> ParseRedlock(std::string_view address) {
  constexpr std::string_view kPlain = "redlock://";
  constexpr std::string_view kTls = "redlocks://";
  const bool tls = address.starts_with(kTls);
  if (!tls && !address.starts_with(kPlain)) {
    return Invalid("it begins with redlock:// or redlocks://");
  }
  address.remove_prefix((tls ? kTls : kPlain).size());
  const size_t behind_who = address.substr(0, address.find('/')).rfind('@') + 1;  // 0: nobody
  const size_t behind_hosts = std::min(address.find_first_of("/?", behind_who), address.size());
  const std::string who = (tls ? "rediss://" : "redis://") + std::string(address, 0, behind_who);
  const std::string path(address.substr(behind_hosts));
  std::string_view hosts = address.substr(behind_who, behind_hosts - behind_who);
  std::vector<RedisEndpoint> endpoints;
  std::set<std::string> seen;
  for (size_t comma = 0; comma != std::string_view::npos;) {
    comma = hosts.find(',');
    const std::string host(hosts.substr(0, comma));
    hosts.remove_prefix(comma == std::string_view::npos ? hosts.size() : comma + 1);
    auto endpoint = ParseRedisEndpoint(who + host + path);
    if (!endpoint) {
      return endpoint.error();
    }
    if (!seen.insert(ToString(*endpoint)).second) {
      return Invalid(ToString(*endpoint) + " is named twice, and would vote twice");
    }
    endpoints.push_back(*std::move(endpoint));
  }
  if (endpoints.size() < kFewest || endpoints.size() > kMost || endpoints.size() % 2 == 0) {
    return Invalid("3 to 9 masters, an odd number, not " + std::to_string(endpoints.size()));
  }
  return endpoints;
}

size_t RedlockMasters::majority() const {
  return count() / 2 + 1;
}

Result<std::unique_ptr<RedlockMasters>> RedlockMasters::Open(
    const std::vector<RedisEndpoint>& endpoints, const RedisTimes& times) {
  std::unique_ptr<RedlockMasters> all(new RedlockMasters(times.call));
  const auto servers = std::make_shared<RedlockServers>(endpoints.size());
  for (size_t i = 0; i < endpoints.size(); i++) {
    all->masters_.push_back(std::make_unique<RedlockMaster>(endpoints[i], times, i, servers));
    if (!all->masters_.back()->Start()) {
      return Error{Code::kUnavailable, Effect::kNone, "the system gives no threads"};
    }
  }
  size_t there = 0;
  RedlockAnswers answers(endpoints.size());
  for (size_t i = 0; i < endpoints.size(); i++) {
    const Status status = all->masters_[i]->FirstTry();
    there += status ? 1 : 0;
    if (!status && status.error().code == Code::kInvalid) {
      return status.error();
    }
    answers[i] = status ? RedlockAnswer(std::vector<RedisReply>()) : RedlockAnswer(status.error());
  }
  if (there < all->majority()) {
    return all->NoMajority(answers, Effect::kNone);
  }
  return all;
}

RedlockMasters::~RedlockMasters() {
  for (const auto& master : masters_) {
    master->End();
  }
}

RedlockAnswers RedlockMasters::Request(RedlockQuestion question, const Enough& enough,
                                       std::optional<BootTime> keep) const {
  const BootTime until = BootNow() + std::min(question.within, call_);
  const auto asked = std::make_shared<const RedlockQuestion>(std::move(question));
  const auto round = std::make_shared<RedlockRound>(count());
  for (const auto& master : masters_) {
    master->Request(asked, round, keep);
  }
  return round->Wait(until, enough);
}

RedlockAnswers RedlockMasters::RequestSome(RedlockQuestion question, const std::vector<bool>& which,
                                           BootTime keep) const {
  const BootTime until = BootNow() + call_;
  const auto asked = std::make_shared<const RedlockQuestion>(std::move(question));
  const auto round = std::make_shared<RedlockRound>(count());
  for (size_t i = 0; i < count(); i++) {
    if (which[i]) {
      masters_[i]->Request(asked, round, keep);
    } else {
      round->Answer(i, Error{Code::kInternal, Effect::kNone, "not asked"});
    }
  }
  return round->Wait(until, [](const RedlockAnswers&) { return false; });
}

void RedlockMasters::Send(size_t master, RedlockQuestion question,
                          std::optional<BootTime> keep) const {
  masters_[master]->Request(std::make_shared<const RedlockQuestion>(std::move(question)), nullptr,
                            keep);
}

Error RedlockMasters::NoMajority(const RedlockAnswers& answers, Effect effect) const {
  size_t silent = 0;
  Error error{Code::kUnavailable, effect, "they do not answer in time"};
  for (const auto& answer : answers) {
    if (!answer) {
      silent++;
    } else if (!*answer) {
      silent++;
      error.message = answer->error().message;
      error.code = answer->error().code == Code::kRefused ? Code::kRefused : error.code;
    } else if (!(**answer).empty() && (**answer).front().kind == RedisReply::Kind::kError) {
      silent++;
      error.message = RedisError((**answer).front().text).message;
    }
  }
  error.message = std::to_string(silent) + " of " + std::to_string(count()) +
                  " masters do not answer, or refuse: " + error.message;
  return error;
}

}  // namespace oncemq
