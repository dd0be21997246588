// SPDX-License-Identifier: Apache-2.0
#include "oncemq/locks/redlock_locks.h"

#include <algorithm>
#include <map>
#include <set>

#include "../redis/redis_forms.h"
#include "../redis/redis_scripts.h"
#include "oncemq/base/store_login.h"
#include "oncemq/base/wait_until.h"
#include "redlock_masters.h"
#include "redlock_tries.h"
#include "redlock_votes.h"
#include "renewal_time.h"

namespace oncemq {
namespace {

// For so long beyond the end of a hold a master that was away is told that it was given back.
constexpr milliseconds kResendRelease{900'000};

// For so long the masters are asked, so that a holder may count on all of its lease though their
// clocks run faster than its own.
milliseconds WithDrift(milliseconds lease) {
  return lease + lease / 100 + milliseconds(2);
}

class RedlockLocks final : public LockEngine {
 public:
  RedlockLocks(std::unique_ptr<RedlockMasters> masters, const RedlockOptions& options)
      : masters_(std::move(masters)),
        prefix_("oncemq:redlock:" + std::to_string(options.space.size()) + ":" + options.space +
                ":"),
        seal_("oncemq:redlock:seal:" + options.space) {}

  const LockCapabilities& capabilities() const override { return can_; }

  Result<LockAnswer> Request(const AcquireRequest& request) override {
    if (request.mode != LockMode::kExclusive) {
      return Error{Code::kInvalid, Effect::kNone, "the engine redlock has exclusive locks only"};
    }
    const BootTime sent = BootNow();
    const RedlockTry mine =
        tries_.Of(request.token, sent, sent + request.lease, request.epoch, request.who);
    const RedlockAnswers answers = masters_->Request(
        AcquireQuestion(request.name, mine, request.lease), [this](const RedlockAnswers& now) {
          return RedlockTally(now).Decided(masters_->majority());
        });
    const RedlockSaid said = RedlockTally(answers);
    const bool late = BootNow() >= sent + request.lease;
    if (said.granted >= masters_->majority() && !late) {
      tries_.Lasts(request.token, mine.token, sent + request.lease);
      SendSeal(answers, request.epoch);
      return LockAnswer{LockAnswer::Kind::kGranted, {}, milliseconds(0)};
    }
    const bool undone = Undo(request.name, mine.token, answers, sent + WithDrift(request.lease));
    tries_.Forget(request.token);
    if (said.sealed >= masters_->majority()) {
      return LockAnswer{LockAnswer::Kind::kSealed, {said.epoch, 0}, milliseconds(0)};
    }
    const Effect effect = undone ? Effect::kNone : Effect::kUnknown;
    if (said.granted >= masters_->majority()) {
      return Error{Code::kTimeout, effect, "the masters answered when the lease was over"};
    }
    if (said.granted + said.busy + said.sealed >= masters_->majority()) {
      return LockAnswer{};
    }
    return masters_->NoMajority(answers, effect);
  }

  // Nobody wakes anybody here.
  Status Await(const AcquireRequest&, BootTime until, const std::stop_token& stop) override {
    WaitUntil(until, BootNow(), stop);
    return {};
  }

  Status Extend(std::span<const LockClaim> claims, std::span<Extended> answers) override {
    const BootTime sent = BootNow();
    RedlockQuestion question{&scripts_.extend, 1, {}, AnswerWithin(claims)};
    std::vector<std::optional<RedlockTry>> tries;
    for (const LockClaim& claim : claims) {
      auto mine = tries_.Find(claim.token);
      const bool ended = mine && mine->until <= sent;
      if (ended || (mine && mine->given_back)) {
        mine.reset();
      }
      if (mine) {
        const milliseconds lease = WithDrift(claim.lease);
        question.lists.push_back(
            {Key(claim.name), RedisToken(mine->token), RedisMicros(lease), RedisKept(lease)});
      }
      tries.push_back(std::move(mine));
    }
    std::fill(answers.begin(), answers.end(), Extended::kGone);
    const size_t lists = question.lists.size();
    if (lists == 0) {
      return {};
    }
    const RedlockAnswers said =
        masters_->Request(std::move(question), [this, lists](const RedlockAnswers& now) {
          return RedlockDecided(now, lists, masters_->majority());
        });
    if (CountRedlock(said, 0).answered() < masters_->majority()) {
      return masters_->NoMajority(said, Effect::kUnknown);
    }
    for (size_t i = 0, list = 0; i < claims.size(); i++) {
      if (tries[i]) {
        answers[i] = Extension(claims[i], *tries[i], said, list++, sent);
      }
    }
    return {};
  }

  Status Free(std::span<const LockClaim> claims, std::span<Freed> answers) override {
    RedlockQuestion question{&scripts_.free, 1, {}};
    BootTime last = BootTime::min();
    std::vector<size_t> which;
    for (size_t i = 0; i < claims.size(); i++) {
      answers[i] = Freed::kNotHeld;
      if (const auto mine = tries_.GiveBack(claims[i].token)) {
        question.lists.push_back({Key(claims[i].name), RedisToken(mine->token)});
        last = std::max(last, mine->until + kResendRelease);
        which.push_back(i);
      }
    }
    if (which.empty()) {
      return {};
    }
    const RedlockAnswers said = masters_->Request(
        std::move(question),
        [this, &which](const RedlockAnswers& now) {
          return RedlockDecided(now, which.size(), masters_->majority());
        },
        last);
    bool uncertain = false;
    for (size_t list = 0; list < which.size(); list++) {
      const RedlockVotes votes = CountRedlock(said, list);
      if (votes.yes >= masters_->majority()) {
        answers[which[list]] = Freed::kYes;
      } else if (votes.no < masters_->majority() && votes.yes + votes.no < masters_->count()) {
        uncertain = true;
        continue;  // told again when it is asked again
      }
      tries_.Forget(claims[which[list]].token);
    }
    return uncertain ? Status(masters_->NoMajority(said, Effect::kUnknown)) : Status();
  }

  Result<size_t> Recall(std::string_view name) override {
    const RedlockAnswers said = masters_->Request(
        {&scripts_.recall, 1, {{Key(name)}}},
        [this](const RedlockAnswers& now) { return RedlockDecided(now, 1, masters_->majority()); });
    const RedlockVotes votes = CountRedlock(said, 0);
    if (votes.answered() < masters_->majority()) {
      return masters_->NoMajority(said, Effect::kUnknown);
    }
    return votes.yes >= masters_->majority() ? size_t{1} : size_t{0};
  }

  // A hold that no fence names.
  Result<Freed> Evict(std::string_view, const Fence&) override { return Freed::kNotHeld; }

  // Those that a majority may know. What a minority has left of a request is nobody's hold.
  Result<LockView> Read(std::string_view name) override {
    const RedlockAnswers said = masters_->Request({&scripts_.tokens, 1, {{Key(name)}}}, Never);
    std::map<std::string, std::vector<LockView::Party>> seen;
    size_t answered = 0;
    for (const auto& answer : said) {
      const RedisReply* reply = RedlockReply(answer, 0);
      answered += reply == nullptr ? 0 : 1;
      for (size_t i = 0; reply != nullptr && i < reply->list.size(); i++) {
        const auto& party = reply->list[i].list;
        if (party.size() != 3) {
          return RedisStrange();
        }
        seen[party[0].text].push_back({.holds = true,
                                       .mode = LockMode::kExclusive,
                                       .fence = {},
                                       .left = RedisMillis(party[1].integer),
                                       .who = party[2].text});
      }
    }
    if (answered < masters_->majority()) {
      return masters_->NoMajority(said, Effect::kNone);
    }
    LockView view{std::string(name), {}};
    for (auto& [token, parties] : seen) {
      if (parties.size() + (masters_->count() - answered) < masters_->majority()) {
        continue;
      }
      // It holds as long as a majority says so.
      std::sort(parties.begin(), parties.end(),
                [](const auto& a, const auto& b) { return a.left > b.left; });
      view.parties.push_back(parties[std::min(parties.size(), masters_->majority()) - 1]);
    }
    return view;
  }

  // One master after the other: for people, not for programs.
  Result<std::vector<std::string>> Names(std::string_view after, size_t limit) override {
    std::vector<std::string> names;
    std::string from(after);
    for (;;) {
      const auto page = Page(from, limit);
      if (!page) {
        return page.error();
      }
      for (const auto& [name, known] : *page) {
        if (known && names.size() < limit) {
          names.push_back(name);
        }
      }
      if (page->size() < limit || names.size() >= limit || limit == 0) {
        return names;
      }
      from = page->rbegin()->first;
    }
  }

  // A seal that only a minority has heard of is told to all of them before it is answered.
  Result<uint32_t> Seal(uint32_t epoch) override {
    for (uint32_t wanted = epoch;;) {
      const RedlockAnswers said =
          masters_->Request({&scripts_.seal, 1, {{seal_, std::to_string(wanted)}}}, Never);
      std::vector<uint32_t> epochs;
      for (const auto& answer : said) {
        if (const RedisReply* reply = RedlockReply(answer, 0)) {
          epochs.push_back(static_cast<uint32_t>(reply->integer));
        }
      }
      if (epochs.size() < masters_->majority()) {
        return masters_->NoMajority(said, epoch == 0 ? Effect::kNone : Effect::kUnknown);
      }
      const uint32_t top = *std::max_element(epochs.begin(), epochs.end());
      const auto there = std::count(epochs.begin(), epochs.end(), top);
      if (static_cast<size_t>(there) >= masters_->majority()) {
        return top;
      }
      wanted = top;
    }
  }

 private:
  static bool Never(const RedlockAnswers&) { return false; }

  std::string Key(std::string_view name) const { return prefix_ + std::string(name); }

  RedlockQuestion AcquireQuestion(std::string_view name, const RedlockTry& mine,
                                  milliseconds lease) const {
    const milliseconds there = WithDrift(lease);
    return {&scripts_.request,
            2,
            {{Key(name), seal_, RedisToken(mine.token), "x", "0", "0", RedisMicros(there), "0", "",
              mine.who, "0", RedisKept(there), std::to_string(mine.epoch)}}};
  }

  // At all masters that have it, or may have it. True: it is certain that none has it any more.
  bool Undo(std::string_view name, const Token& token, const RedlockAnswers& answers,
            BootTime until) {
    std::vector<bool> which;
    for (const auto& answer : answers) {
      const RedisReply* reply = RedlockReply(answer, 0);
      const bool granted =
          reply != nullptr && reply->list.size() == 4 && reply->list[0].integer == kRedisGranted;
      which.push_back(granted || RedlockMayHaveDone(answer));
    }
    if (std::find(which.begin(), which.end(), true) == which.end()) {
      return true;
    }
    const RedlockAnswers undone =
        masters_->RequestSome({&scripts_.free, 1, {{Key(name), RedisToken(token)}}}, which, until);
    for (size_t i = 0; i < which.size(); i++) {
      if (which[i] && RedlockReply(undone[i], 0) == nullptr) {
        return false;
      }
    }
    return true;
  }

  // A majority granted in this epoch, so it is in force: those that were away when it was sealed
  // hear of it now.
  void SendSeal(const RedlockAnswers& answers, uint32_t epoch) {
    for (size_t i = 0; i < answers.size(); i++) {
      const RedisReply* reply = RedlockReply(answers[i], 0);
      if (reply != nullptr && reply->list.size() == 4 && reply->list[0].integer == kRedisSealed &&
          static_cast<uint32_t>(reply->list[3].integer) < epoch) {
        masters_->Send(i, {&scripts_.seal, 1, {{seal_, std::to_string(epoch)}}}, std::nullopt);
      }
    }
  }

  // Whether no majority can have it any more.
  bool Gone(const RedlockVotes& votes) const {
    return votes.no > masters_->count() - masters_->majority();
  }

  Extended Extension(const LockClaim& claim, const RedlockTry& mine, const RedlockAnswers& said,
                     size_t list, BootTime sent) {
    const RedlockVotes votes = CountRedlock(said, list);
    if (votes.yes < masters_->majority()) {
      if (!Gone(votes)) {
        return Extended::kLater;  // those who are away may have it still
      }
      // What a minority still has is of no use to anybody.
      for (size_t i = 0; i < masters_->count(); i++) {
        masters_->Send(i, {&scripts_.free, 1, {{Key(claim.name), RedisToken(mine.token)}}},
                       sent + WithDrift(claim.lease));
      }
      tries_.Forget(claim.token);
      return Extended::kGone;
    }
    tries_.Lasts(claim.token, mine.token, sent + claim.lease);
    bool recalled = false;
    for (size_t i = 0; i < said.size(); i++) {
      const RedisReply* reply = RedlockReply(said[i], list);
      recalled = recalled || (reply != nullptr && reply->integer == 2);
      // One that lost it, or has not said whether, is asked anew: it grants it if nobody has it
      // there.
      const bool lost = !said[i] || (reply != nullptr && reply->integer == 0);
      if (lost) {
        tries_.UnlessGivenBack(claim.token, mine.token, [&] {
          masters_->Send(i, AcquireQuestion(claim.name, mine, claim.lease), std::nullopt);
        });
      }
    }
    return recalled ? Extended::kRecalled : Extended::kYes;
  }

  // The first `limit` names of all masters, and whether a majority may know each of them: those
  // that are not among the first ones of a master, it does not have.
  Result<std::map<std::string, bool>> Page(const std::string& after, size_t limit) {
    std::map<std::string, size_t> known;
    size_t answered = 0;
    Error why{Code::kUnavailable, Effect::kNone, "no majority of the masters answers"};
    for (size_t i = 0; i < masters_->count(); i++) {
      const auto client = masters_->master(i).client();
      if (client == nullptr) {
        continue;
      }
      const auto names = RedisHeldNames(*client, prefix_, after, limit);
      if (!names) {
        why.message = names.error().message;
        continue;
      }
      answered++;
      for (const std::string& name : *names) {
        known[name]++;
      }
    }
    if (answered < masters_->majority()) {
      return why;
    }
    std::map<std::string, bool> page;
    for (const auto& [name, masters] : known) {
      if (page.size() < limit) {
        page[name] = masters + (masters_->count() - answered) >= masters_->majority();
      }
    }
    return page;
  }

  const LockCapabilities can_ = RedlockCapabilities();
  const RedisLockScripts scripts_;
  RedlockTries tries_;
  const std::unique_ptr<RedlockMasters> masters_;  // its threads use the scripts
  const std::string prefix_;
  const std::string seal_;
};

// All masters have the same user.
Result<RedisEndpoint> ParseFirstMaster(std::string_view address) {
  auto endpoints = ParseRedlock(address);
  return endpoints ? Result<RedisEndpoint>(std::move(endpoints->front())) : endpoints.error();
}

}  // namespace

Result<std::shared_ptr<LockEngine>> OpenRedlock(std::string_view address,
                                                const RedlockOptions& options) {
  auto endpoints = ParseRedlock(address);
  if (!endpoints) {
    return endpoints.error();
  }
  const auto first = ParseReadable(address, options.read_address, ParseFirstMaster);
  for (RedisEndpoint& endpoint : *endpoints) {
    endpoint.read_login = first->read_login;
  }
  auto masters = RedlockMasters::Open(*endpoints, {options.connect, options.call});
  if (!masters) {
    return masters.error();
  }
  return std::shared_ptr<LockEngine>(std::make_shared<RedlockLocks>(*std::move(masters), options));
}

}  // namespace oncemq
