// SPDX-License-Identifier: Apache-2.0
// The lost update: an account has 100; one request pays 200 in, another takes 100 out, at the same
// time. First without a lock, then under a lease whose fence the account checks; last with a holder
// that was paused for too long and writes when another one has the name.
//
//   lost_update [ADDRESS]    memory:, or that of any lock engine with fences (docs/lock_engines.md)
#include <cstdio>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "oncemq/locks/lock_domain.h"
#include "oncemq/locks/lock_engines.h"
#include "together.h"

namespace examples {
namespace {

using oncemq::Fence;

// A store somewhere else: it knows no lock, but it remembers the greatest fence that it has seen.
class Account {
 public:
  int Read() {
    const std::lock_guard guard(mutex_);
    return balance_;
  }
  void Write(int balance) {
    const std::lock_guard guard(mutex_);
    balance_ = balance;
  }

  // Installs the fence *before* it reads: from now on an earlier holder cannot write any more.
  bool Read(const Fence& fence, int& balance) {
    const std::lock_guard guard(mutex_);
    highest_ = std::max(highest_, fence);
    balance = balance_;
    return fence == highest_;
  }
  bool Write(const Fence& fence, int balance) {
    const std::lock_guard guard(mutex_);
    if (fence < highest_) {
      return false;
    }
    balance_ = balance;
    return true;
  }

 private:
  std::mutex mutex_;
  int balance_ = 100;
  Fence highest_;
};

void Both(const std::function<void(int)>& pay) {
  std::thread in([&] { pay(+200); });
  std::thread out([&] { pay(-100); });
  in.join();
  out.join();
}

int WithoutALock() {
  Account account;
  Together together;
  Both([&](int amount) {
    const int read = account.Read();
    together.Meet(kUntilItComes);
    account.Write(read + amount);
  });
  return account.Read();
}

int UnderALease(oncemq::LockDomain& domain) {
  Account account;
  Together together;
  Both([&](int amount) {
    const auto lease = domain.Acquire("account/1");
    int read = 0;
    if (lease && *lease && account.Read((*lease)->fence(), read)) {
      together.Meet(kInCaseItComes);
      account.Write((*lease)->fence(), read + amount);
    }
  });
  return account.Read();
}

// True: the late write was refused.
bool LateHolderIsRefused(oncemq::LockDomain& domain) {
  Account account;
  const auto paused = domain.Acquire("account/2");
  int read = 0;
  if (!paused || !*paused || !account.Read((*paused)->fence(), read)) {
    return false;
  }
  // Its process sleeps; the store, or an operator, gives the name to the next one.
  const auto evicted = domain.engine().Evict("account/2", (*paused)->fence());
  if (!evicted || *evicted != oncemq::Freed::kYes) {
    return false;
  }
  const auto next = domain.Acquire("account/2");
  int now = 0;
  if (!next || !*next || !account.Read((*next)->fence(), now) ||
      !account.Write((*next)->fence(), now - 100)) {
    return false;
  }
  return !account.Write((*paused)->fence(), read + 200) && account.Read() == 0;
}

int Main(const std::string& address) {
  const auto engine = oncemq::OpenLockEngine(address, "examples");
  if (!engine) {
    std::fprintf(stderr, "lost_update: %s\n", ToString(engine.error()).c_str());
    return 2;
  }
  const auto domain = oncemq::LockDomain::Open(*engine, {.needs = {.fence = true}});
  if (!domain) {
    std::fprintf(stderr, "lost_update: %s\n", ToString(domain.error()).c_str());
    return 2;
  }
  const int without = WithoutALock();
  const int with = UnderALease(**domain);
  const bool refused = LateHolderIsRefused(**domain);
  std::printf("100 + 200 - 100, without a lock:  %d  %s\n", without,
              without == 200 ? "right" : "wrong");
  std::printf("100 + 200 - 100, under a lease:   %d  %s\n", with, with == 200 ? "right" : "wrong");
  std::printf("a late holder's write:            %s\n", refused ? "refused by its fence" : "TAKEN");
  return without != 200 && with == 200 && refused ? 0 : 1;
}

}  // namespace
}  // namespace examples

int main(int argc, char** argv) {
  return examples::Main(argc > 1 ? argv[1] : "memory:");
}
