// SPDX-License-Identifier: Apache-2.0
// One of several processes that want the same names: acquires, holds for a while, does effects
// under its fence, releases, and writes down what it believes while it believes it, and each call
// to the store. It plays until there is a file `end` in its directory.
//
//   lock_player KEY=VALUE...      player_options.h
//
// Exit code 3: the name that it was to keep was lost. 4: one that nobody holds was not to be had.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <random>
#include <string>

#include "effect_sink.h"
#include "lock_history.h"
#include "museum.h"
#include "oncemq/locks/lock_domain.h"
#include "oncemq/locks/lock_engines.h"
#include "oncemq/locks/switch_stores.h"
#include "oncemq/locks/switched_locks.h"
#include "player_locks.h"
#include "player_options.h"
#include "recording_locks.h"

namespace oncemq::testing {
namespace {

using Engine = Result<std::shared_ptr<LockEngine>>;

// For who comes last: leases and sessions of all others end long before.
constexpr std::chrono::seconds kLastMoment(90);

int64_t Now() {
  return SystemClock::Instance().Boot().time_since_epoch().count();
}

// A switch record that one process can read no longer.
class CutSwitchStore final : public SwitchStore {
 public:
  CutSwitchStore(std::shared_ptr<SwitchStore> inner, std::filesystem::path cut)
      : inner_(std::move(inner)), cut_(std::move(cut)) {}
  Result<Text> Read() override { return Cut() ? Failed() : inner_->Read(); }
  Result<bool> Swap(std::string_view text, uint64_t version) override {
    return Cut() ? Failed() : inner_->Swap(text, version);
  }
  Status Await(uint64_t version, BootTime until, const std::stop_token& stop) override {
    return Cut() ? Failed() : inner_->Await(version, until, stop);
  }
  Status Say(std::string_view who, std::string_view word) override {
    return Cut() ? Failed() : inner_->Say(who, word);
  }
  Result<std::map<std::string, std::string>> Hear() override {
    return Cut() ? Failed() : inner_->Hear();
  }
  Status Bury(std::string_view who) override { return Cut() ? Failed() : inner_->Bury(who); }

 private:
  bool Cut() const { return std::filesystem::exists(cut_); }
  static Error Failed() { return {Code::kUnavailable, Effect::kNone, "cut off from the record"}; }
  const std::shared_ptr<SwitchStore> inner_;
  const std::filesystem::path cut_;
};

Engine OpenEngine(const PlayerOptions& options) {
  if (!options.exhibit.empty()) {
    return OpenExhibit(options.exhibit, options.at, options.clock_error);
  }
  if (options.stores.empty()) {
    return OpenPlayerLocks(options.at, options);
  }
  const auto opened = OpenSwitchStore(RecordOf(options));
  if (!opened) {
    return opened.error();
  }
  std::shared_ptr<SwitchStore> record = *opened;
  if (options.goes_blind) {
    record = std::make_shared<CutSwitchStore>(record, options.directory / "blind");
  }
  std::vector<NamedLocks> stores;
  for (const auto& [name, address] : options.stores) {
    stores.push_back({name, CapabilitiesAt(address).value_or(LockCapabilities{}),
                      [address, options] { return OpenPlayerLocks(address, options); }});
  }
  SwitchboardOptions board;
  board.config_lease = options.config_lease;
  board.longest = options.longest;
  board.automatic = options.votes;
  // As short as the leases are.
  board.breaker = {.failures = 3, .span = milliseconds(300), .probe = milliseconds(200)};
  board.dwell = milliseconds(500);
  auto switched = SwitchedLocks::Open(stores, record, board);
  return switched ? Engine(*std::move(switched)) : switched.error();
}

class Player {
 public:
  Player(LockDomain& domain, const PlayerOptions& options)
      : domain_(domain),
        options_(options),
        sink_(options.directory),
        file_(open((options.directory / "beliefs").c_str(),
                   O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)),
        random_(static_cast<uint32_t>(options.seed)) {}
  ~Player() { close(file_); }

  bool Ended() const { return std::filesystem::exists(options_.directory / "end"); }

  void Play() {
    const LockMode mode = Mode();
    const uint32_t limit = mode == LockMode::kCounted ? options_.limit : 0;
    const std::string name(1, static_cast<char>('a' + Below(options_.names)));
    const bool may_pass = domain_.engine().capabilities().unfair;
    auto lease = domain_.Acquire(name, {.mode = mode,
                                        .barge = may_pass && Below(8) == 0,
                                        .until = domain_.clock().Boot() + milliseconds(50) +
                                                 milliseconds(Below(options_.wait.count())),
                                        .fenced = options_.fenced && mode == LockMode::kExclusive,
                                        .limit = limit});
    if (lease && *lease) {
      // Half of them are short: many hand-overs.
      const milliseconds time(Below(Below(2) == 0 ? 10 : options_.hold.count()));
      Hold(**lease, limit, Now() + microseconds(time).count());
    }
  }

  // True: each name is to be had by then, and again as soon as it was given back.
  bool TakeEach(BootTime until) {
    for (int i = 0; i < options_.names; i++) {
      const std::string name(1, static_cast<char>('a' + i));
      bool had = false;
      while (!had && domain_.clock().Boot() < until) {
        auto lease = domain_.Acquire(name, {.until = until});
        if (!lease || !*lease || (*lease)->Release() != Released::kYes) {
          continue;
        }
        // No answer says nothing about the name, nor does one that came when the grant had ended.
        const BootTime requested_at = domain_.clock().Boot();
        const auto again = domain_.TryAcquire(name);
        const bool in_time = domain_.clock().Boot() - requested_at < options_.lease / 2;
        if (again && !*again && in_time) {
          std::fprintf(stderr, "lock_player: %s was given back and is busy\n", name.c_str());
          return false;
        }
        had = again && *again;
      }
      if (!had) {
        std::fprintf(stderr, "lock_player: nobody holds %s, and it is busy\n", name.c_str());
        return false;
      }
    }
    return true;
  }

  // True: it was held all the time.
  bool Keep() {
    while (!Ended()) {
      auto lease = domain_.Acquire(options_.keeps);
      if (lease && *lease) {
        Hold(**lease, 0, LockCall::kNever);
        return (*lease)->StillMine() && !(*lease)->stop().stop_requested();
      }
    }
    return false;
  }

 private:
  uint32_t Below(int64_t limit) { return static_cast<uint32_t>(random_() % limit); }

  LockMode Mode() {
    const LockCapabilities& can = domain_.engine().capabilities();
    const auto chance = static_cast<int>(Below(100));
    if (chance < options_.readers) {
      return can.shared ? LockMode::kShared : LockMode::kExclusive;
    }
    return can.counted && chance < options_.readers + options_.counted ? LockMode::kCounted
                                                                       : LockMode::kExclusive;
  }

  void Hold(const Lease& lease, uint32_t limit, int64_t until) {
    const bool shared = lease.mode() != LockMode::kExclusive;
    Belief belief{.process = getpid(),
                  .name = std::string(lease.name()),
                  .fence = lease.fence(),
                  .shared = shared,
                  .limit = limit};
    do {
      // Looked at the clock, then asked: it believed at that moment at the latest.
      const int64_t now = Now();
      if (!lease.StillMine()) {
        break;
      }
      belief.from = belief.from == 0 ? now : belief.from;
      belief.to = now;
      const std::string line = LineOf(belief);
      if (write(file_, line.data(), line.size()) < 0) {
        std::perror("lock_player");
      }
      if (!shared && !lease.fence().empty() && Below(8) == 0) {
        Act(lease);
      }
      SleepFor(milliseconds(options_.keeps.empty() ? Below(3) : 20));
    } while (Now() < until && !(Ended() && !options_.keeps.empty()));
  }

  // Whatever happens in between: only the fence protects it.
  void Act(const Lease& lease) {
    const std::string name(lease.name());
    const auto count = sink_.Begin(name, lease.fence());
    SleepFor(milliseconds(Below(20)));
    if (count) {
      static_cast<void>(sink_.Write(name, lease.fence(), *count + 1));
    }
  }

  LockDomain& domain_;
  const PlayerOptions options_;
  const EffectSink sink_;
  const int file_;
  std::mt19937 random_;
};

int Main(const PlayerOptions& options) {
  const BootTime last_moment = SystemClock::Instance().Boot() + kLastMoment;
  const auto ends = [&] {
    return options.comes_last ? SystemClock::Instance().Boot() >= last_moment
                              : std::filesystem::exists(options.directory / "end");
  };
  auto engine = OpenEngine(options);
  while (!engine && !ends()) {
    SleepFor(milliseconds(50));  // there may be trouble from the start
    engine = OpenEngine(options);
  }
  if (!engine) {
    // Nobody waited for it: whoever needs it has asked for its turn.
    std::fprintf(stderr, "lock_player: %s\n", ToString(engine.error()).c_str());
    return options.comes_last ? 4 : options.keeps.empty() ? 0 : 3;
  }
  const auto domain = LockDomain::Open(
      std::make_shared<RecordingLocks>(*engine, options.directory / "calls"),
      {.lease = options.lease, .queue_lease = options.queue_lease, .patience = milliseconds(100)});
  if (!domain) {
    std::fprintf(stderr, "lock_player: %s\n", ToString(domain.error()).c_str());
    return 1;
  }
  Player player(**domain, options);
  if (options.comes_last) {
    return player.TakeEach(last_moment) ? 0 : 4;
  }
  if (!options.keeps.empty()) {
    return player.Keep() ? 0 : 3;
  }
  while (!player.Ended()) {
    player.Play();
  }
  return 0;
}

}  // namespace
}  // namespace oncemq::testing

int main(int argc, char** argv) {
  return oncemq::testing::Main(
      oncemq::testing::ParsePlayerOptions(std::vector<std::string>(argv + 1, argv + argc)));
}
