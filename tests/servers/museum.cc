// SPDX-License-Identifier: Apache-2.0
#include "museum.h"

#include <utility>

#include "oncemq/base/bytes.h"
#include "oncemq/clients/redis_client.h"

namespace oncemq::testing {
namespace {

// What all of them are like: nobody waits, nobody can be looked at, and there is no fence.
class Exhibit : public LockEngine {
 public:
  explicit Exhibit(std::unique_ptr<RedisClient> client) : client_(std::move(client)) {}

  const LockCapabilities& capabilities() const override {
    static constexpr LockCapabilities kCan{.engine = "museum", .processes = true};
    return kCan;
  }
  Status Await(const LockAsk&, BootTime, const std::stop_token&) override {
    return Error{Code::kUnavailable, Effect::kNone, "nobody wakes here"};
  }
  Result<size_t> AskBack(std::string_view) override { return size_t{0}; }
  Result<Freed> Evict(std::string_view, const Fence&) override { return Freed::kNotHeld; }
  Result<LockView> Look(std::string_view) override { return LockView{}; }
  Result<std::vector<std::string>> Names(std::string_view, size_t) override {
    return std::vector<std::string>();
  }
  // They all believe that what is there is theirs.
  Status Extend(std::span<const LockClaim> claims, std::span<Extended> answers) override {
    for (size_t i = 0; i < claims.size(); i++) {
      const auto done = Say({"PEXPIRE", claims[i].name, std::to_string(claims[i].lease.count())});
      if (!done) {
        return done.error();
      }
      answers[i] = done->integer == 1 ? Extended::kYes : Extended::kGone;
    }
    return {};
  }
  Status Free(std::span<const LockClaim> claims, std::span<Freed> answers) override {
    for (size_t i = 0; i < claims.size(); i++) {
      const auto done = Say({"DEL", claims[i].name});
      if (!done) {
        return done.error();
      }
      answers[i] = done->integer == 1 ? Freed::kYes : Freed::kNotHeld;
    }
    return {};
  }

 protected:
  Result<RedisReply> Say(std::initializer_list<std::string_view> words) {
    return client_->Run(RedisCommand(words));
  }
  static Result<LockAnswer> Granted(bool granted) {
    return LockAnswer{granted ? LockAnswer::Kind::kGranted : LockAnswer::Kind::kBusy, {}, {}};
  }

 private:
  const std::unique_ptr<RedisClient> client_;
};

class ReadThenWrite final : public Exhibit {
 public:
  using Exhibit::Exhibit;
  Result<LockAnswer> Ask(const LockAsk& ask) override {
    const auto there = Say({"EXISTS", ask.name});
    if (!there) {
      return there.error();
    }
    if (there->integer != 0) {
      return Granted(false);
    }
    const auto set = Say({"SET", ask.name, "mine", "PX", std::to_string(ask.lease.count())});
    return set ? Granted(true) : set.error();
  }
};

class BlindDelete final : public Exhibit {
 public:
  using Exhibit::Exhibit;
  Result<LockAnswer> Ask(const LockAsk& ask) override {
    const auto set = Say({"SET", ask.name, "mine", "NX", "PX", std::to_string(ask.lease.count())});
    return set ? Granted(set->kind == RedisReply::Kind::kStatus) : set.error();
  }
};

class ClientClocks final : public Exhibit {
 public:
  ClientClocks(std::unique_ptr<RedisClient> client, milliseconds error)
      : Exhibit(std::move(client)), error_(error) {}
  Result<LockAnswer> Ask(const LockAsk& ask) override {
    const int64_t now = SystemClock::Instance().Wall().micros / 1000 + error_.count();
    const std::string ends = std::to_string(now + ask.lease.count());
    const auto set = Say({"SETNX", ask.name, ends});
    if (!set || set->integer == 1) {
      return set ? Granted(true) : set.error();
    }
    const auto seen = Say({"GET", ask.name});
    const auto until = seen ? ParseDecimal(seen->text) : std::nullopt;
    if (!until || *until >= now) {
      return Granted(false);
    }
    // Ended, by our clock: whoever swaps first has it.
    const auto swapped = Say({"GETSET", ask.name, ends});
    return swapped ? Granted(swapped->text == seen->text) : swapped.error();
  }
  Status Extend(std::span<const LockClaim> claims, std::span<Extended> answers) override {
    for (size_t i = 0; i < claims.size(); i++) {
      const int64_t now = SystemClock::Instance().Wall().micros / 1000 + error_.count();
      const auto done =
          Say({"SET", claims[i].name, std::to_string(now + claims[i].lease.count()), "XX"});
      if (!done) {
        return done.error();
      }
      answers[i] = Extended::kYes;
    }
    return {};
  }

 private:
  const milliseconds error_;
};

}  // namespace

Result<std::shared_ptr<LockEngine>> OpenExhibit(std::string_view name, std::string_view redis,
                                                milliseconds clock_error) {
  const auto place = ParseRedisPlace(redis);
  if (!place) {
    return place.error();
  }
  auto client = RedisClient::Open(*place);
  if (!client) {
    return client.error();
  }
  if (name == "read-then-write") {
    return std::shared_ptr<LockEngine>(std::make_shared<ReadThenWrite>(*std::move(client)));
  }
  if (name == "blind-delete") {
    return std::shared_ptr<LockEngine>(std::make_shared<BlindDelete>(*std::move(client)));
  }
  if (name == "client-clocks") {
    return std::shared_ptr<LockEngine>(
        std::make_shared<ClientClocks>(*std::move(client), clock_error));
  }
  return Error{Code::kInvalid, Effect::kNone, "the museum has no " + std::string(name)};
}

}  // namespace oncemq::testing
