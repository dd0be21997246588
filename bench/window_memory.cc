// SPDX-License-Identifier: Apache-2.0
// What does the memory window cost per id? Floor: one insert into std::unordered_set<std::string>,
// which remembers, but neither forgets, nor claims, nor fences. Ids of 20 bytes; the window
// remembers a million and is full, so that it forgets while it is measured. Prints the median of
// five rounds.
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "bench_report.h"
#include "oncemq/base/hash.h"
#include "oncemq/dedup/memory_window.h"

namespace oncemq {
namespace {

constexpr size_t kIds = 1'000'000;
constexpr int kRounds = 5;

struct Settings {
  size_t batch;     // ids in one call
  size_t ahead;     // ids claimed before the first of them is completed
  bool duplicates;  // claim what is done already
};

// `count` ids that no earlier call gave.
std::vector<std::string> MakeIds(size_t count) {
  static uint64_t next = 0;
  std::vector<std::string> ids(count);
  for (std::string& id : ids) {
    id.resize(21);
    std::snprintf(id.data(), id.size(), "msg-%016llx",
                  static_cast<unsigned long long>(MixBits(next++)));
    id.resize(20);
  }
  return ids;
}

class Stopwatch {
 public:
  void Start() { begin_ = bench::ThreadSeconds(); }
  void Stop() { total_ += bench::ThreadSeconds() - begin_; }
  double NanosPer(size_t count) const { return total_ * 1e9 / static_cast<double>(count); }

 private:
  double begin_ = 0;
  double total_ = 0;
};

struct Times {
  double claim = 0;
  double complete = 0;
};

void Need(bool holds, const char* what) {
  if (!holds) {
    std::fprintf(stderr, "window_memory: %s\n", what);
    std::exit(1);
  }
}

Times Measure(Window& window, const std::vector<std::string>& ids, const Settings& settings) {
  static int64_t offset = 0;
  static uint64_t attempt = 0;
  Stopwatch claims;
  Stopwatch completions;
  std::vector<ClaimRequest> requests(settings.ahead);
  std::vector<ClaimAnswer> answers(settings.ahead);
  std::vector<CompleteRequest> done(settings.ahead);
  std::vector<MarkerChange> changes(settings.ahead);
  const ClaimVerdict expected =
      settings.duplicates ? ClaimVerdict::kDuplicate : ClaimVerdict::kGranted;
  for (size_t begin = 0; begin < ids.size(); begin += settings.ahead) {
    for (size_t i = 0; i < settings.ahead; i++) {
      const Coordinates at{0, static_cast<int32_t>(offset % 8), offset};
      offset++;
      requests[i] = {ids[begin + i], {1, ++attempt}, at, 0, 0};
      done[i] = {ids[begin + i], {1, attempt}, at, {}};
    }
    bool ok = true;
    claims.Start();
    for (size_t i = 0; i < settings.ahead; i += settings.batch) {
      ok &= window.Claim({&requests[i], settings.batch}, {&answers[i], settings.batch}).has_value();
    }
    claims.Stop();
    for (const ClaimAnswer& answer : answers) {
      ok &= answer.answer == expected;
    }
    if (!settings.duplicates) {
      completions.Start();
      for (size_t i = 0; i < settings.ahead; i += settings.batch) {
        ok &=
            window.Complete({&done[i], settings.batch}, {&changes[i], settings.batch}).has_value();
      }
      completions.Stop();
    }
    Need(ok, "an answer is not the one expected");
  }
  return {claims.NanosPer(ids.size()), completions.NanosPer(ids.size())};
}

double InsertIntoSet(const std::vector<std::string>& ids) {
  std::unordered_set<std::string> set;
  Stopwatch inserts;
  inserts.Start();
  for (const std::string& id : ids) {
    set.insert(id);
  }
  inserts.Stop();
  Need(set.size() == ids.size(), "ids are not distinct");
  return inserts.NanosPer(ids.size());
}

int Run(bench::Report& report) {
  const MemoryWindowOptions crossing{.level = Level::kGuarded, .partition_owned = false};
  auto window = OpenMemoryWindow(crossing, SystemClock::Instance());
  auto crowded = OpenMemoryWindow(crossing, SystemClock::Instance());  // with a million ids open
  auto owned = OpenMemoryWindow({.level = Level::kGuarded}, SystemClock::Instance());
  Need(window.has_value() && crowded.has_value() && owned.has_value(), "a window does not open");
  const Settings batches{500, 500, false};
  const Settings singly{1, 500, false};
  const Settings far_ahead{500, kIds, false};
  const Settings duplicates{500, 500, true};
  for (Window* one : {window->get(), owned->get()}) {
    Measure(*one, MakeIds(2 * kIds), batches);  // fills it
  }

  std::vector<double> owned_claim, owned_complete, owned_known;
  std::vector<double> floor, claim, complete, single, single_complete, far, far_complete, known;
  for (int round = 0; round < kRounds; round++) {
    const std::vector<std::string> ids = MakeIds(kIds);
    floor.push_back(InsertIntoSet(ids));
    const Times batched = Measure(**window, ids, batches);
    claim.push_back(batched.claim);
    complete.push_back(batched.complete);
    known.push_back(Measure(**window, ids, duplicates).claim);
    const Times in_partitions = Measure(**owned, ids, batches);
    owned_claim.push_back(in_partitions.claim);
    owned_complete.push_back(in_partitions.complete);
    owned_known.push_back(Measure(**owned, ids, duplicates).claim);
    const Times alone = Measure(**window, MakeIds(kIds), singly);
    single.push_back(alone.claim);
    single_complete.push_back(alone.complete);
    const Times open = Measure(**crowded, MakeIds(kIds), far_ahead);
    far.push_back(open.claim);
    far_complete.push_back(open.complete);
  }
  const double insert = bench::Median(floor);
  const auto add = [&](const char* name, const std::vector<double>& values) {
    report.Add(name, bench::Median(values), "ns/id", insert);
  };
  add("claim-new", claim);
  add("complete", complete);
  add("claim-duplicate", known);
  add("claim-new-owned", owned_claim);
  add("complete-owned", owned_complete);
  add("claim-duplicate-owned", owned_known);
  add("claim-new-singly", single);
  add("complete-singly", single_complete);
  add("claim-new-1e6-open", far);
  add("complete-1e6-open", far_complete);
  return 0;
}

}  // namespace
}  // namespace oncemq

int main(int argc, char** argv) {
  oncemq::bench::Report report("window_memory", argc, argv);
  return oncemq::Run(report);
}
