// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <utility>

#include "checker.h"

namespace oncemq::sim {
namespace {

// Within the window no id is granted again; behind it the window may have forgotten, and forgets.
// Where the history does not tell whether a restored marker was still there, this checker lets more
// pass, never less.
class WindowBounds final : public Checker {
 public:
  explicit WindowBounds(const Evidence& evidence) : Checker("I9 window", evidence) {}

  void See(const Record& record) override {
    if (record.phase != Phase::kOk || HasStores(evidence_.config)) {
      return;
    }
    switch (record.op) {
      case Op::kComplete:
        if (record.value == 0) {
          Finished(record);
        }
        break;
      case Op::kRestore:
        if (record.value == 0) {
          Restored(record);
        }
        break;
      case Op::kClaim:
        if (record.value == static_cast<int64_t>(ClaimVerdict::kGranted)) {
          Granted(record);
        } else if (record.value == static_cast<int64_t>(ClaimVerdict::kDuplicate)) {
          Duplicate(record);
        }
        break;
      default:
        break;
    }
  }

 private:
  struct Ids {
    std::map<uint32_t, int64_t> finished;  // id -> how many were finished before it
    int64_t count = 0;
  };

  Ids& Of(const Record& record) {
    const bool shared = PlacementOf(evidence_.config) == Placement::kShared;
    return windows_[shared ? kWorld : record.process];
  }
  // Ids that were finished after this one; negative: it was not.
  static int64_t Since(const Ids& ids, uint32_t id) {
    const auto found = ids.finished.find(id);
    return found == ids.finished.end() ? -1 : ids.count - found->second - 1;
  }

  void Finished(const Record& record) {
    Ids& ids = Of(record);
    if (ids.finished.try_emplace(record.id, ids.count).second) {
      ids.count++;
    }
  }

  void Restored(const Record& record) {
    Ids& ids = Of(record);
    const int64_t since = Since(ids, record.id);
    if (since < 0) {
      ids.finished[record.id] = ids.count++;
    } else if (since >= evidence_.config.remember) {
      ids.count++;
    }
  }

  void Granted(const Record& record) {
    Ids& ids = Of(record);
    const int64_t since = Since(ids, record.id);
    if (since < 0) {
      return;
    }
    if (since < evidence_.config.remember) {
      Broken("id " + std::to_string(record.id) + " was granted again after " +
             std::to_string(since) + " others; the window remembers " +
             std::to_string(evidence_.config.remember));
    }
    evidence_.sometimes.Count(Situation::kForgotten);
    ids.finished.erase(record.id);
  }

  void Duplicate(const Record& record) {
    const int64_t most = evidence_.config.remember + evidence_.config.remember / 8 + 8;
    // A restored marker may be younger than this checker knows.
    const int64_t since = Since(Of(record), record.id);
    evidence_.sometimes.Count(Situation::kStillKnown,
                              since >= 0 && since <= most && evidence_.config.remember < 1000);
  }

  std::map<ActorId, Ids> windows_;
};

}  // namespace

std::unique_ptr<Checker> MakeWindowBounds(const Evidence& evidence) {
  return std::make_unique<WindowBounds>(evidence);
}

}  // namespace oncemq::sim
