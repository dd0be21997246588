// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <set>
#include <utility>

#include "checker.h"

namespace oncemq::sim {
namespace {

class Waiting final : public Checker {
 public:
  explicit Waiting(const Evidence& evidence)
      : Checker("a waiting message holds no claim (rule 17)", evidence) {}

  void See(const Record& record) override {
    if (evidence_.config.store_fails > 0) {
      return;  // a store that is opened again has forgotten claims, and no record says so
    }
    const bool made = record.phase == Phase::kOk && record.value == 0;
    switch (record.op) {
      case Op::kClaim:
        if (record.phase == Phase::kInvoke) {
          claimant_[record.token] = record.delivery;
        } else if (made) {
          Grant(record);
        }
        break;
      case Op::kRelease:
      case Op::kComplete:
      case Op::kPark:
        // A store that was closed has none of it any more.
        if (made || (HasStores(evidence_.config) && record.phase == Phase::kOk)) {
          Forget(record.token);
        }
        break;
      case Op::kRestore:
        if (const auto claim = by_id_.find(IdOf(record)); made && claim != by_id_.end()) {
          Forget(claim->second);  // the commit calls it finished
        }
        break;
      case Op::kSettle:
        if (!IsFinal(record) && StageOf(record) == Stage::kFresh) {
          Settle(record);
        }
        break;
      default:
        break;
    }
  }

 private:
  std::pair<ActorId, uint32_t> IdOf(const Record& record) const {
    return {Shared() ? kWorld : record.process, record.id};
  }

  void Grant(const Record& record) {
    const Token token = record.token;
    // A takeover ends the claim that was there.
    const auto id = IdOf(record);
    if (const auto before = by_id_.find(id); before != by_id_.end() && before->second != token) {
      Forget(before->second);
    }
    by_id_[id] = token;
    // A call that arrives after its caller has given up may open what was released meanwhile:
    // nobody's fault.
    if (record.aux == 0) {
      held_[token] = claimant_[token];
      tokens_[held_[token]].insert(token);
    }
  }

  void Forget(const Token& token) {
    const auto found = held_.find(token);
    if (found != held_.end()) {
      tokens_[found->second].erase(token);
      held_.erase(found);
    }
  }

  void Settle(const Record& record) {
    const auto held = tokens_.find(record.delivery);
    if (held != tokens_.end() && !held->second.empty()) {
      Broken("d" + std::to_string(record.delivery) + " is set aside (" +
             std::string(ToString(FateOf(record))) + ") while its claim is open");
    }
  }

  bool Shared() const {
    return PlacementOf(evidence_.config) == Placement::kShared ||
           (HasStores(evidence_.config) && evidence_.config.hosts == 0);
  }

  std::map<Token, uint32_t> claimant_;          // delivery that a token was sent for
  std::map<Token, uint32_t> held_;              // and now holds a claim
  std::map<uint32_t, std::set<Token>> tokens_;  // by delivery
  std::map<std::pair<ActorId, uint32_t>, Token> by_id_;
};

}  // namespace

std::unique_ptr<Checker> MakeWaiting(const Evidence& evidence) {
  return std::make_unique<Waiting>(evidence);
}

}  // namespace oncemq::sim
