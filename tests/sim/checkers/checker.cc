// SPDX-License-Identifier: Apache-2.0
#include "checker.h"

#include <algorithm>

namespace oncemq::sim {

std::vector<Violation> Checker::Judge() {
  for (const Record& record : evidence_.history.records()) {
    See(record);
    at_++;
  }
  End();
  return std::move(violations_);
}

std::vector<Violation> JudgeAll(const Evidence& evidence) {
  std::vector<Violation> all;
  for (const auto make :
       {MakeCommits,        MakeOutcomes,     MakeOwnership,   MakeAccounting, MakeEffects,
        MakeRepetitions,    MakeKeyOrder,     MakeFences,      MakeBank,       MakeRunningIds,
        MakeWaiting,        MakeWindowBounds, MakeCatchUp,     MakeBounds,     MakeParked,
        MakeStoreKnowledge, MakeStoreLedger,  MakeStoreMemory, MakeLiveness,   MakeSituations}) {
    for (Violation& violation : make(evidence)->Judge()) {
      all.push_back(std::move(violation));
    }
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Violation& a, const Violation& b) { return a.at < b.at; });
  return all;
}

}  // namespace oncemq::sim
