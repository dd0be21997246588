// SPDX-License-Identifier: Apache-2.0
#include "oncemq/locks/memcached_locks.h"

#include <atomic>

#include "memcached_check.h"
#include "memcached_claims.h"
#include "memcached_clock.h"
#include "memcached_hold.h"
#include "oncemq/base/bytes.h"
#include "oncemq/base/random.h"
#include "oncemq/base/wait_until.h"
#include "oncemq/clients/memcached_client.h"
#include "renewal_time.h"

namespace oncemq {
namespace {

using std::chrono::seconds;
using CommandKind = MemcachedCommand::Kind;
using ReplyKind = MemcachedReply::Kind;

// Somebody else changed the key between a look and a change; so often in turn that is no chance.
constexpr int kRounds = 8;
constexpr size_t kLargestBatch = 64;
constexpr milliseconds kLongestKept = kMemcachedLongest - seconds(5);

// The server's clock has whole seconds, and may be behind by what MemcachedClock lets pass.
seconds Kept(milliseconds lease) {
  return std::chrono::ceil<seconds>(lease) + seconds(3);
}

Error Restless(Effect effect) {
  return {Code::kBusy, effect, "memcached: the key changes all the time"};
}

class MemcachedLocks final : public LockEngine {
 public:
  MemcachedLocks(std::unique_ptr<MemcachedClient> client, const MemcachedLockOptions& options)
      : client_(std::move(client)),
        space_(std::to_string(options.space.size()) + ":" + options.space + ":") {}

  const LockCapabilities& capabilities() const override { return can_; }

  Result<LockAnswer> Request(const AcquireRequest& request) override {
    if (request.mode != LockMode::kExclusive) {
      return MemcachedCannot("has exclusive locks only");
    }
    if (request.lease > kLongestKept) {
      return MemcachedCannot("has leases of up to 30 days");
    }
    InEpoch(request.epoch);
    const BootTime sent = BootNow();
    const auto former = claims_.Find(request.token);
    claims_.Sent(request.token, request.epoch, sent + request.lease, sent);
    MemcachedHold hold{request.token, false, space_ + std::string(request.name),
                       std::string(request.who)};
    const std::string key = Key(request.name, request.epoch);
    std::string value = Encode(hold);
    MemcachedCommand change{CommandKind::kAdd, key, value, Kept(request.lease)};
    bool stored = false;  // in this round or an earlier one
    const auto failed = [&stored](Error error) {
      error.effect = stored ? Effect::kUnknown : error.effect;
      return error;
    };
    for (int round = 0; round < kRounds; round++) {
      // The clock before, and what is there then, in the same round trip.
      const MemcachedCommand commands[] = {
          {CommandKind::kGet, beacon_}, change, {CommandKind::kGet, key}};
      auto replies = client_->Run(commands);
      if (!replies) {
        return failed(replies.error());
      }
      auto there = ThereIn((*replies)[2], hold.name);
      const bool done = (*replies)[1].kind == ReplyKind::kDone;
      stored = stored || done;
      const auto right = ClockWasRight((*replies)[0], sent);
      if (!right) {
        return failed(right.error());
      }
      if (done && *right) {
        Acknowledge(request.token, sent + request.lease, there ? *there : std::nullopt);
        return LockAnswer{LockAnswer::Kind::kGranted, {}, milliseconds(0)};
      }
      if (!there) {
        return failed(there.error());
      }
      if (!*there) {
        change = {CommandKind::kAdd, key, value, Kept(request.lease)};
        continue;
      }
      const bool mine = (*there)->hold.token == request.token;
      // Looked at behind the answer: whoever extends it says so before.
      if (!mine && !claims_.Ended((*there)->hold.token, BootNow())) {
        claims_.Refused(request.token, stored || former);
        return LockAnswer{};
      }
      hold.recalled = mine && former && former->until > sent && (*there)->hold.recalled;
      value = Encode(hold);
      change = {CommandKind::kSwap, key, value, Kept(request.lease), (*there)->version};
      if (done && round + 1 == kRounds) {
        const auto dropped = client_->Run({CommandKind::kDrop, key, {}, {}, (*there)->version});
        return Error{Code::kUnavailable, dropped ? Effect::kNone : Effect::kUnknown,
                     "memcached: its clock stands"};
      }
    }
    return stored ? Result<LockAnswer>(Restless(Effect::kUnknown)) : LockAnswer{};
  }

  // Nobody wakes anybody here.
  Status Await(const AcquireRequest&, BootTime until, const std::stop_token& stop) override {
    WaitUntil(until, BootNow(), stop);
    return {};
  }

  Status Extend(std::span<const LockClaim> claims, std::span<Extended> answers) override {
    const BootTime sent = BootNow();
    std::vector<Open> open;
    for (size_t i = 0; i < claims.size(); i++) {
      if (claims[i].lease > kLongestKept) {
        return MemcachedCannot("has leases of up to 30 days");
      }
      answers[i] = Extended::kGone;
      const auto claim = claims_.Find(claims[i].token);
      if (claim && claim->until > sent) {
        claims_.Sent(claims[i].token, claim->epoch, sent + claims[i].lease, sent);
        open.push_back(OpenFor(i, claims[i], *claim));
      }
    }
    return Change(
        claims, open, sent, AnswerWithin(claims),
        [&](const Open& one, const There& there) {
          return MemcachedCommand{CommandKind::kSwap, one.key, there.bytes,
                                  Kept(claims[one.claim].lease), there.version};
        },
        [&](const Open& one, const There& there, const std::optional<There>& now) {
          answers[one.claim] = there.hold.recalled ? Extended::kRecalled : Extended::kYes;
          Acknowledge(claims[one.claim].token, sent + claims[one.claim].lease, now);
        });
  }

  Status Free(std::span<const LockClaim> claims, std::span<Freed> answers) override {
    const BootTime sent = BootNow();  // a reply may come after the end of what it has freed
    std::vector<Open> open;
    for (size_t i = 0; i < claims.size(); i++) {
      answers[i] = Freed::kNotHeld;
      if (const auto claim = claims_.Find(claims[i].token)) {
        open.push_back(OpenFor(i, claims[i], *claim));
      }
    }
    const Status done = Change(
        claims, open, std::nullopt, milliseconds::max(),
        [](const Open& one, const There& there) {
          return MemcachedCommand{CommandKind::kDrop, one.key, {}, {}, there.version};
        },
        [&](const Open& one, const There&, const std::optional<There>&) {
          const bool ended = claims_.Ended(claims[one.claim].token, sent);
          answers[one.claim] = ended ? Freed::kNotHeld : Freed::kYes;
        });
    for (size_t i = 0; done && i < claims.size(); i++) {
      claims_.Forget(claims[i].token);
    }
    return done;
  }

  Result<size_t> Recall(std::string_view name) override {
    const std::string key = Key(name, epoch_);
    for (int round = 0; round < kRounds; round++) {
      auto there = Get(key, space_ + std::string(name));
      if (!there) {
        return there.error();
      }
      if (!*there || claims_.Ended((*there)->hold.token, BootNow())) {
        return size_t{0};
      }
      if ((*there)->hold.recalled) {
        return size_t{1};
      }
      (*there)->hold.recalled = true;
      const std::string value = Encode((*there)->hold);
      const seconds left = std::max(seconds(1), (*there)->left);  // 0 would be for ever
      const auto swapped = client_->Run({CommandKind::kSwap, key, value, left, (*there)->version});
      if (!swapped) {
        return swapped.error();
      }
      if (swapped->kind != ReplyKind::kRefused) {
        return swapped->kind == ReplyKind::kDone ? size_t{1} : size_t{0};
      }
    }
    return Restless(Effect::kNone);
  }

  void InEpoch(uint32_t epoch) override {
    uint32_t before = epoch_;
    while (before < epoch && !epoch_.compare_exchange_weak(before, epoch)) {
    }
  }

  // A hold that no fence names.
  Result<Freed> Evict(std::string_view, const Fence&) override { return Freed::kNotHeld; }

  Result<LockView> Read(std::string_view name) override {
    const auto there = Get(Key(name, epoch_), space_ + std::string(name));
    if (!there) {
      return there.error();
    }
    LockView view{std::string(name), {}};
    if (*there && !claims_.Ended((*there)->hold.token, BootNow())) {
      view.parties.push_back({.holds = true,
                              .mode = LockMode::kExclusive,
                              .fence = {},
                              .left = (*there)->left,
                              .who = (*there)->hold.who});
    }
    return view;
  }

  Result<std::vector<std::string>> Names(std::string_view, size_t) override {
    return MemcachedCannot("cannot list names");
  }

  Result<uint32_t> Seal(uint32_t) override {
    return MemcachedCannot(
        "cannot be sealed: only a switch that waits for all holders may leave it");
  }

 private:
  // What lies under a key.
  struct There {
    MemcachedHold hold;
    std::string bytes;
    seconds left{0};
    uint64_t version = 0;
  };
  // A claim that has no answer yet, by its number.
  struct Open {
    size_t claim = 0;
    std::string key;
    std::optional<There> there;  // as it was last seen
  };

  // The epoch is in the key: requests of different ones never meet.
  std::string Key(std::string_view name, uint32_t epoch) const {
    return MemcachedKey("oncemq:lock:" + std::to_string(epoch) + ":", space_ + std::string(name));
  }

  // `now`: what lies there since.
  void Acknowledge(const Token& token, BootTime until, const std::optional<There>& now) {
    const bool ours = now && now->hold.token == token;
    claims_.Acknowledged(token, until, ours ? now->version : 0, ours ? now->bytes : std::string());
  }

  Open OpenFor(size_t number, const LockClaim& claim, const MemcachedClaim& known) const {
    Open open{number, Key(claim.name, known.epoch), std::nullopt};
    if (auto hold = DecodeMemcachedHold(known.bytes); hold && known.version != 0) {
      open.there = There{*std::move(hold), known.bytes, seconds(0), known.version};
    }
    return open;
  }

  // Nothing, if nothing is there. Failure: kCorrupt, if it is not a hold of this name.
  static Result<std::optional<There>> ThereIn(MemcachedReply& reply, const std::string& name) {
    if (reply.kind == ReplyKind::kMissing) {
      return std::optional<There>();
    }
    auto hold = DecodeMemcachedHold(reply.value);
    if (!hold || hold->name != name) {
      return Error{Code::kCorrupt, Effect::kNone,
                   hold ? "memcached: another name with the same digest is held"
                        : "memcached: the key of this name holds something that is not ours"};
    }
    return std::optional(
        There{*std::move(hold), std::move(reply.value), reply.left, reply.version});
  }
  Result<std::optional<There>> Get(const std::string& key, const std::string& name) {
    auto reply = client_->Run({CommandKind::kGet, key});
    return reply ? ThereIn(*reply, name) : reply.error();
  }

  // By the beacon, looked at before what counts by the clock: what is left of its time says what
  // the clock shows.
  Result<bool> ClockWasRight(const MemcachedReply& beacon, BootTime sent) {
    if (beacon.kind == ReplyKind::kMissing) {
      // A server that forgot it, or a month is over.
      clock_.Forget();
      const auto lit = client_->Run({CommandKind::kAdd, beacon_, "1", kMemcachedLongest});
      return lit ? Result<bool>(false) : lit.error();
    }
    return clock_.Right(kMemcachedLongest - beacon.left, sent, BootNow());
  }

  // Changes what lies there for each, if it is this claim's still. `sent`: of changes that count
  // from then on by the server's clock.
  template <class Command, class Done>
  Status Change(std::span<const LockClaim> claims, const std::vector<Open>& all,
                const std::optional<BootTime>& sent, milliseconds within, const Command& command,
                const Done& done) {
    for (size_t first = 0; first < all.size(); first += kLargestBatch) {
      const auto from = all.begin() + static_cast<std::ptrdiff_t>(first);
      const size_t count = std::min(kLargestBatch, all.size() - first);
      std::vector<Open> open(from, from + static_cast<std::ptrdiff_t>(count));
      for (int round = 0; !open.empty(); round++) {
        if (round == kRounds) {
          return Restless(Effect::kUnknown);
        }
        const Status changed = ChangeOnce(claims, open, sent, within, command, done);
        if (!changed) {
          return changed;
        }
      }
    }
    return {};
  }

  // In one round trip: the change of what was seen, and a look. Leaves in `open` those that are
  // this claim's and were not changed.
  template <class Command, class Done>
  Status ChangeOnce(std::span<const LockClaim> claims, std::vector<Open>& open,
                    const std::optional<BootTime>& sent, milliseconds within,
                    const Command& command, const Done& done) {
    std::vector<MemcachedCommand> commands{{CommandKind::kGet, beacon_}};
    for (const Open& one : open) {
      if (one.there) {
        commands.push_back(command(one, *one.there));
      }
      commands.push_back({CommandKind::kGet, one.key});
    }
    auto replies = client_->Run(commands, within);
    if (!replies) {
      return replies.error();
    }
    bool right = true;
    if (sent) {
      const auto was_right = ClockWasRight(replies->front(), *sent);
      if (!was_right) {
        return Error{was_right.error().code, Effect::kUnknown, was_right.error().message};
      }
      right = *was_right;
    }
    std::vector<Open> again;
    size_t next = 1;
    for (Open& one : open) {
      const ReplyKind changed = one.there ? (*replies)[next++].kind : ReplyKind::kRefused;
      const LockClaim& claim = claims[one.claim];
      auto seen = ThereIn((*replies)[next++], space_ + std::string(claim.name));
      std::optional<There> now = seen ? *std::move(seen) : std::nullopt;
      if (changed == ReplyKind::kDone && right) {
        done(one, *one.there, now);
      } else if (changed != ReplyKind::kMissing && now && now->hold.token == claim.token) {
        one.there = std::move(now);
        again.push_back(std::move(one));
      }
    }
    open = std::move(again);
    return {};
  }

  const LockCapabilities can_ = MemcachedLockCapabilities();
  const std::unique_ptr<MemcachedClient> client_;
  const std::string space_;
  // A key of ours alone, which is there for a month.
  const std::string beacon_ = "oncemq:lock:clock:" + Hex(SecureRandom64());
  MemcachedClock clock_;
  MemcachedClaims claims_;
  std::atomic<uint32_t> epoch_{0};  // the latest that was heard of
};

}  // namespace

Result<std::shared_ptr<LockEngine>> OpenMemcachedLocks(std::string_view address,
                                                       const MemcachedLockOptions& options) {
  const size_t query = address.find('?');
  if (query != std::string_view::npos && address.substr(query) != "?evicts=allowed") {
    return MemcachedCannot("knows ?evicts=allowed behind an address, and nothing else");
  }
  const auto endpoint = ParseMemcachedEndpoint(address.substr(0, query));
  if (!endpoint) {
    return endpoint.error();
  }
  auto client =
      MemcachedClient::Open(*endpoint, {options.connect, options.call}, options.max_connections);
  if (!client) {
    return client.error();
  }
  if (const Status fit = CheckMemcachedForLocks(**client, query != std::string_view::npos); !fit) {
    return fit.error();
  }
  return std::shared_ptr<LockEngine>(std::make_shared<MemcachedLocks>(*std::move(client), options));
}

}  // namespace oncemq
