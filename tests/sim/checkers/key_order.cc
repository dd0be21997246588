// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <tuple>
#include <unordered_set>
#include <utility>

#include "checker.h"

namespace oncemq::sim {
namespace {

// Order holds within (partition, key), or within the partition, for the first effect of each id:
// what an uncertain message repeats, it may repeat late.
class KeyOrder final : public Checker {
 public:
  explicit KeyOrder(const Evidence& evidence) : Checker("I5 key order", evidence) {}

  void See(const Record& record) override {
    if (record.op == Op::kReset) {
      // An operator may go back or forth; from here on the order begins anew.
      std::erase_if(last_,
                    [&](const auto& entry) { return entry.first.first == record.partition; });
    } else if (record.op == Op::kCrash) {
      std::erase_if(running_,
                    [&](const auto& entry) { return std::get<0>(entry.first) == record.process; });
    } else if (record.op == Op::kHandle || record.op == Op::kEffect) {
      Judge(record);
    }
  }

 private:
  using Lane = std::pair<int32_t, int32_t>;  // (partition, key)

  void Judge(const Record& record) {
    const DeliveryFacts& facts = evidence_.history.delivery(record.delivery);
    const Order order = OrderOf(evidence_.config);
    if (order == Order::kUnordered || (order == Order::kKey && facts.key == kNoKey)) {
      if (record.op == Op::kEffect && record.phase == Phase::kOk) {
        seen_.insert(record.id);  // a copy that has a key only repeats it
      }
      return;
    }
    const Lane lane{facts.partition, order == Order::kPartition ? kNoKey : facts.key};
    if (record.op == Op::kEffect) {
      Effect(record, lane);
      return;
    }
    uint32_t& runs = running_[{record.process, lane.first, lane.second}];
    if (record.phase == Phase::kOk) {
      runs = 0;
      return;
    }
    if (runs != 0) {
      Broken("d" + std::to_string(record.delivery) + " starts while d" + std::to_string(runs - 1) +
             " of the same key runs in the same process");
    }
    runs = record.delivery + 1;
  }

  void Effect(const Record& record, const Lane& lane) {
    if (record.phase != Phase::kOk || !seen_.insert(record.id).second) {
      return;
    }
    const auto [last, first] = last_.try_emplace(lane, record.offset);
    if (!first && record.offset < last->second) {
      Broken("the effect of offset " + std::to_string(record.offset) + " came after that of " +
             std::to_string(last->second) + " of the same key");
    }
    last->second = record.offset;
  }

  std::map<Lane, int64_t> last_;
  std::map<std::tuple<ActorId, int32_t, int32_t>, uint32_t> running_;  // delivery + 1, 0 for none
  std::unordered_set<uint32_t> seen_;
};

}  // namespace

std::unique_ptr<Checker> MakeKeyOrder(const Evidence& evidence) {
  return std::make_unique<KeyOrder>(evidence);
}

}  // namespace oncemq::sim
