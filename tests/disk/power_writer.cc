// SPDX-License-Identifier: Apache-2.0
// Claims and finishes ids in a window on disk, syncs and reports commits, until it is killed, and
// says what it was answered:
//
//   power_writer DIRECTORY GENERATION SYNC LEVEL FIRST
//
//   own PARTITION NUMBER   an ownership was issued
//   claimed N, answered N, synced N
//                          ids below N were claimed, finished, made to last
//
// Its clock stands still: an ownership that is forgotten must not be hidden by a later time.
// Ends with 1 on an error.
#include <unistd.h>

#include <array>
#include <cstdlib>

#include "power_window.h"

namespace oncemq::testing {
namespace {

void Say(const std::string& line) {
  const std::string text = line + "\n";
  static_cast<void>(write(STDOUT_FILENO, text.data(), text.size()) + 0);
}

class Writer {
 public:
  explicit Writer(std::unique_ptr<Window> window) : window_(std::move(window)) {}

  // From `first` on until somebody ends it.
  Status Run(int64_t first) {
    constexpr int kRoundsOfACommit = 3;
    constexpr int kRoundsOfAnOwnership = 10;
    for (int64_t round = 0;; round++) {
      if (Status raised = round % kRoundsOfAnOwnership == 0 ? Raise() : Status(); !raised) {
        return raised;
      }
      const int64_t from = first + round * kPowerBatch;
      if (Status finished = Finish(from, from + kPowerBatch); !finished) {
        return finished;
      }
      const bool commit = round % kRoundsOfACommit == kRoundsOfACommit - 1;
      if (Status kept = commit ? Commit(from + kPowerBatch) : Status(); !kept) {
        return kept;
      }
    }
  }

 private:
  static void Report(const char* what, int64_t number) {
    Say(what + (" " + std::to_string(number)));
  }

  Status Raise() {
    for (int32_t partition = 0; partition < 2; partition++) {
      const auto owner_epoch = window_->RaiseOwnerEpoch(0, partition, 0);
      if (!owner_epoch) {
        return owner_epoch.error();
      }
      owner_epochs_[static_cast<size_t>(partition)] = *owner_epoch;
      Say("own " + std::to_string(partition) + " " + std::to_string(*owner_epoch));
    }
    return {};
  }

  Status Finish(int64_t from, int64_t to) {
    std::vector<std::string> ids;
    for (int64_t i = from; i < to; i++) {
      ids.push_back(IdNumber(i));
    }
    std::vector<ClaimRequest> claims;
    std::vector<CompleteRequest> completions;
    for (int64_t i = from; i < to; i++) {
      const std::string& id = ids[static_cast<size_t>(i - from)];
      const Token token{owner_epochs_[0], static_cast<uint64_t>(i + 1)};
      claims.push_back({.id = id,
                        .token = token,
                        .at = {0, 0, i},
                        .owner_epoch = owner_epochs_[0],
                        .time = TimeOfId(i)});
      completions.push_back({.id = id, .token = token, .at = {0, 0, i}, .time = TimeOfId(i)});
    }
    std::vector<ClaimAnswer> answers(claims.size());
    std::vector<MarkerChange> changes(claims.size());
    if (Status claimed = window_->Claim(claims, answers); !claimed) {
      return claimed;
    }
    Report("claimed", to);
    if (Status completed = window_->Complete(completions, changes); !completed) {
      return completed;
    }
    Report("answered", to);
    return {};
  }

  Status Commit(int64_t frontier) {
    if (Status synced = window_->Announce({}); !synced) {
      return synced;
    }
    Report("synced", frontier);
    const std::array<Progress, 2> progress = {
        {{0, 0, owner_epochs_[0], frontier, TimeOfId(frontier)},
         {0, 1, owner_epochs_[1], frontier, TimeOfId(frontier)}}};
    std::array<MarkerChange, 2> changes{};
    return window_->Committed(progress, changes);
  }

  const std::unique_ptr<Window> window_;
  std::array<OwnerEpoch, 2> owner_epochs_{};
};

int Run(char** words) {
  const ManualClock clock;
  auto window = OpenLocalWindow(PowerOptions(words[0], static_cast<uint32_t>(std::atoi(words[1])),
                                             static_cast<SyncWhen>(std::atoi(words[2])),
                                             static_cast<Level>(std::atoi(words[3]))),
                                clock);
  const Status ended =
      window ? Writer(*std::move(window)).Run(std::atoll(words[4])) : Status(window.error());
  Say("failed: " + ToString(ended.error()));
  return 1;
}

}  // namespace
}  // namespace oncemq::testing

int main(int argc, char** argv) {
  return argc == 6 ? oncemq::testing::Run(argv + 1) : 2;
}
