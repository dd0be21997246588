// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "../surroundings.h"
#include "checker.h"

namespace oncemq::sim {
namespace {

// The order of persistence: claim, then handler, then marker, then outcome.
class Outcomes final : public Checker {
 public:
  explicit Outcomes(const Evidence& evidence) : Checker("order of persistence", evidence) {}

  void See(const Record& record) override {
    if (PlacementOf(evidence_.config) == Placement::kNone) {
      return;
    }
    const bool made = record.phase == Phase::kOk && record.value == 0;
    switch (record.op) {
      case Op::kClaim:
        if (record.phase == Phase::kOk) {
          Claim(record);
        } else if (released_.contains(record.token)) {
          Broken("a token is sent for a second grant after its release (rule 53)");
        }
        break;
      case Op::kRelease:
        if (made) {
          granted_.erase(record.token);
          released_.insert(record.token);
        }
        break;
      case Op::kComplete:
        requested_.insert({record.process, record.partition, record.offset});
        if (made) {
          completed_.insert({record.process, record.partition, record.offset});
          done_.insert(Scope(record));
          payload_.insert_or_assign(Scope(record), PayloadAt(record));
        }
        break;
      case Op::kRestore:
        if (made) {
          done_.insert(Scope(record));
          // What a small window has forgotten comes back without its payload.
          if (evidence_.config.remember < kForgetsNothing) {
            payload_.erase(Scope(record));
          }
        }
        break;
      case Op::kPark:
        if (made) {
          done_.insert(Scope(record));
        }
        break;
      case Op::kJournal:
        journaled_.insert(record.id);  // a void one, too: no commit may rest on it, as I3 says
        break;
      case Op::kHandle:
        Handle(record);
        break;
      case Op::kSettle:
        if (IsFinal(record)) {
          Settle(record);
        }
        break;
      case Op::kCrash:
        std::erase_if(owed_, [&](const auto& owed) { return std::get<0>(owed) == record.process; });
        break;
      default:
        break;
    }
  }

  // Rule 15: a handler that is through gets its marker, or is told that somebody else took over; in
  // a process that lives on no assignment's end makes it forget that.
  void End() override {
    for (const auto& owed : owed_) {
      if (!requested_.contains(owed)) {
        Broken("P" + std::to_string(std::get<0>(owed)) + " never tried to complete offset " +
               std::to_string(std::get<2>(owed)) + " of p" + std::to_string(std::get<1>(owed)) +
               ", whose handler was through");
        return;
      }
    }
  }

 private:
  using Delivery = std::tuple<ActorId, int32_t, int64_t>;

  std::pair<ActorId, uint32_t> Scope(const Record& record) const {
    const bool shared = PlacementOf(evidence_.config) == Placement::kShared ||
                        (HasStores(evidence_.config) && evidence_.config.hosts == 0);
    return {shared ? kWorld : record.process, record.id};
  }

  uint32_t PayloadAt(const Record& record) const {
    const PartitionLog& log = evidence_.log.partitions[static_cast<size_t>(record.partition)];
    return log.records[log.Find(record.offset)].payload;
  }

  void Claim(const Record& record) {
    const auto answer = static_cast<ClaimVerdict>(record.value);
    if (answer == ClaimVerdict::kGranted) {
      granted_.insert(record.token);
      if (!used_.try_emplace(record.token, record.id).second && used_[record.token] != record.id) {
        Broken("one token was used for two ids (rule 53)");
      }
    } else if (answer == ClaimVerdict::kDuplicate) {
      done_.insert(Scope(record));
    }
  }

  void Handle(const Record& record) {
    if (record.phase == Phase::kInvoke) {
      if (Passes(evidence_.config, record.id) == granted_.contains(record.token)) {
        Broken("the handler of d" + std::to_string(record.delivery) + " starts " +
               (Passes(evidence_.config, record.id) ? "with a claim, and has no id"
                                                    : "without a claim"));
      }
    } else if (record.value == 0 && !IsAtomic(evidence_.config) &&
               !Passes(evidence_.config, record.id)) {
      owed_.insert({record.process, record.partition, record.offset});
    }
  }

  void Settle(const Record& record) {
    if (evidence_.history.delivery(record.delivery).dropped) {
      return;  // by a person, whatever is known of its id
    }
    const std::string who = "d" + std::to_string(record.delivery) + " (id " +
                            std::to_string(record.id) + ") ended as " +
                            std::string(ToString(FateOf(record)));
    switch (FateOf(record)) {
      case DeliveryFate::kApplied:
        if (Passes(evidence_.config, record.id)) {
          if (evidence_.config.journal != 0 && !journaled_.contains(record.id)) {
            Broken(who + " without an id, and is not in the journal (rule 4)");
          }
        } else if (!completed_.contains({record.process, record.partition, record.offset})) {
          Broken(who + ", but its own completion is not on record (rule 16)");
        }
        break;
      case DeliveryFate::kSuppressed:
        if (const auto known = payload_.find(Scope(record));
            known != payload_.end() && known->second != PayloadAt(record)) {
          Broken(who + ", but what was applied under that id had another payload (rule 18)");
        }
        [[fallthrough]];
      case DeliveryFate::kRestored:
        // A message without an id has no marker; the commit's word is all there is.
        if (!done_.contains(Scope(record)) && !IsMalformed(evidence_.config, record.id)) {
          Broken(who + ", but the id has no marker (rule 18)");
        }
        break;
      case DeliveryFate::kRejected:
      case DeliveryFate::kParked:
        if (!journaled_.contains(record.id)) {
          Broken(who + ", but no refusal of it is in the journal");
        }
        break;
      default:
        break;
    }
  }

  std::set<Token> granted_;
  std::set<Token> released_;
  std::map<Token, uint32_t> used_;
  std::set<std::pair<ActorId, uint32_t>> done_;
  std::map<std::pair<ActorId, uint32_t>, uint32_t> payload_;  // that was applied
  std::set<Delivery> completed_;
  std::set<Delivery> requested_;
  std::set<Delivery> owed_;
  std::set<uint32_t> journaled_;
};

}  // namespace

std::unique_ptr<Checker> MakeOutcomes(const Evidence& evidence) {
  return std::make_unique<Outcomes>(evidence);
}

}  // namespace oncemq::sim
