// SPDX-License-Identifier: Apache-2.0
// Checker: one invariant, judged record by record over a finished history. It asks nothing of the
// code under test.
//
// Thread safety: none.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../config.h"
#include "../history.h"
#include "../log.h"
#include "../sim_disk.h"
#include "../sometimes.h"

namespace oncemq::sim {

struct Violation {
  std::string invariant;
  std::string what;
  size_t at = 0;  // index of the record that broke it
};

struct Evidence {
  const Config& config;
  const Log& log;
  const History& history;
  Sometimes& sometimes;
  const std::vector<StoreState>* stores = nullptr;  // as in RunResult
};

class Checker {
 public:
  Checker(std::string_view invariant, const Evidence& evidence)
      : evidence_(evidence), invariant_(invariant) {}
  virtual ~Checker() = default;
  virtual void See(const Record& record) = 0;
  virtual void End() {}

  std::vector<Violation> Judge();

 protected:
  void Broken(std::string what) { Broken(invariant_, std::move(what)); }
  void Broken(std::string_view invariant, std::string what) {
    violations_.push_back({std::string(invariant), std::move(what), at_});
  }
  const Evidence& evidence_;

 private:
  const std::string invariant_;
  size_t at_ = 0;
  std::vector<Violation> violations_;
};

// I1 and I12, in accounting.cc: both identities of the verdict, and counters that equal what
// happened.
std::unique_ptr<Checker> MakeAccounting(const Evidence& evidence);
// I2, in effects.cc: at most one effect of an id; at the opaque level every repetition is known to
// be uncertain.
std::unique_ptr<Checker> MakeEffects(const Evidence& evidence);
// I2 across processes, in repetitions.cc: also where no marker goes along, a handler that repeats
// an effect is told.
std::unique_ptr<Checker> MakeRepetitions(const Evidence& evidence);
// I3, in commits.cc: a commit passes nothing unfinished, and what it passes has its effect or its
// record.
std::unique_ptr<Checker> MakeCommits(const Evidence& evidence);
// I4 and rules 9, 10, 21, in ownership.cc: only the owner admits, starts and commits, and it gives
// back in order.
std::unique_ptr<Checker> MakeOwnership(const Evidence& evidence);
// I5, in key_order.cc: effects of a key in the order of offsets; its handlers never overlap in one
// process.
std::unique_ptr<Checker> MakeKeyOrder(const Evidence& evidence);
// I6, in bank.cc: at a guarded target every balance is in the end what the log says.
std::unique_ptr<Checker> MakeBank(const Evidence& evidence);
// I7, in fences.cc: an older owner never outranks a newer one.
std::unique_ptr<Checker> MakeFences(const Evidence& evidence);
// I9, in window_bounds.cc: within the window no id is granted a second time.
std::unique_ptr<Checker> MakeWindowBounds(const Evidence& evidence);
// I10, in bounds.cc: what is held is bounded.
std::unique_ptr<Checker> MakeBounds(const Evidence& evidence);
// I11, in liveness.cc: when the faults have ended everything drains, and no claim is left over.
std::unique_ptr<Checker> MakeLiveness(const Evidence& evidence);
// I15 and rules 4 to 7, in catch_up.cc: who takes a partition over knows what was finished before.
std::unique_ptr<Checker> MakeCatchUp(const Evidence& evidence);
// The order of persistence and rules 15, 16, 18, in outcomes.cc: nothing is final before it is on
// record.
std::unique_ptr<Checker> MakeOutcomes(const Evidence& evidence);
// Rules 38 to 40, in parked.cc: a parked message is in one place, and later ones of its key wait.
std::unique_ptr<Checker> MakeParked(const Evidence& evidence);
// Rule 14, in running_ids.cc: one id runs in one place of a process at a time.
std::unique_ptr<Checker> MakeRunningIds(const Evidence& evidence);
// Rule 17, in waiting.cc: a message that waits holds no claim.
std::unique_ptr<Checker> MakeWaiting(const Evidence& evidence);
// I6 at the level atomic, in store_ledger.cc: what handlers wrote is in the stores, once.
std::unique_ptr<Checker> MakeStoreLedger(const Evidence& evidence);
// I15 for stores, in store_knowledge.cc: what a store says that it knows, it knows.
std::unique_ptr<Checker> MakeStoreKnowledge(const Evidence& evidence);
// I9 for stores, in store_memory.cc: what a commit called finished is known as long as promised.
std::unique_ptr<Checker> MakeStoreMemory(const Evidence& evidence);
// No invariant: counts the situations that only the whole history shows, in situations.cc.
std::unique_ptr<Checker> MakeSituations(const Evidence& evidence);

std::vector<Violation> JudgeAll(const Evidence& evidence);

}  // namespace oncemq::sim
