// SPDX-License-Identifier: Apache-2.0
// The handler at the level atomic: it keeps accounts in the store of its partition.
#include <string>
#include <utility>

#include "ledger_rows.h"
#include "oncemq/base/bytes.h"
#include "sim_process.h"
#include "sim_worker.h"

namespace oncemq::sim {

bool SimWorker::OpenEffects(const Grant& grant) {
  if (effects_ == nullptr) {
    auto effects =
        window_->engine().NewEffects(grant.item->at.source, grant.item->at.partition, {});
    effects_ = effects ? std::shared_ptr<EffectBatch>(*std::move(effects)) : nullptr;
  }
  return effects_ != nullptr;
}

// In the middle of its time, whatever it says in the end: a failure has written all the same.
void SimWorker::WriteEffects(const Script& script, Outcome outcome) {
  world_.loop.Plan(actor_, script.time / 2, [this, script, outcome = std::move(outcome)]() mutable {
    const Status booked = Book(world_.history.delivery(handling_));
    world_.inside_step(actor_, BatchStep::kHandle);
    Finish(1 + script.time / 2, booked ? std::move(outcome) : Outcome(Retry{.not_done = true}));
  });
}

Status SimWorker::Book(const DeliveryFacts& facts) {
  const Transfer transfer = TransferOf(facts.id);
  for (const auto& [row, sum] : {std::pair(EffectRow(facts.id), int64_t{1}),
                                 std::pair(AccountRow(transfer.from), -transfer.amount),
                                 std::pair(AccountRow(transfer.to), transfer.amount)}) {
    if (Status added = effects_->rows()->Add(row, sum); !added) {
      return added;
    }
  }
  if (!CountsKey(world_.config, facts.key)) {
    return {};
  }
  // Read and written: right only because nobody else handles this key meanwhile.
  const auto count = effects_->rows()->Get(KeyRow(facts.key));
  if (!count) {
    return count.error();
  }
  return effects_->rows()->Put(KeyRow(facts.key),
                               std::to_string(ParseDecimal(count->value_or("0")).value_or(0) + 1));
}

}  // namespace oncemq::sim
