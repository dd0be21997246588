// SPDX-License-Identifier: Apache-2.0
// Writes numbered rows to a store with buffers so small that it changes its log all the time, and
// syncs now and then, until it is killed:
//
//   store_writer DIRECTORY FIRST
//
//   wrote N, synced N    rows below N were written, made to last
//
// Ends with 1 on an error.
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "power_store.h"

namespace oncemq::testing {
namespace {

void Say(const char* what, int64_t number) {
  const std::string text = what + (" " + std::to_string(number)) + "\n";
  static_cast<void>(write(STDOUT_FILENO, text.data(), text.size()) + 0);
}

int Run(const std::string& directory, int64_t first) {
  constexpr int64_t kRowsOfASync = 97;
  auto store = RocksStore::Open(PowerStoreOptions(directory));
  Status done = store ? Status() : Status(store.error());
  for (int64_t row = first; done; row++) {
    RocksBatch batch = (*store)->NewBatch();
    batch.Put(static_cast<size_t>(row % kPowerFamilies), RowName(row), std::string(1'000, 'r'));
    done = (*store)->Write(batch, /*sync=*/false);
    if (done) {
      Say("wrote", row + 1);
    }
    if (done && row % kRowsOfASync == 0) {
      done = (*store)->Sync();
      Say(done ? "synced" : "failed", row + 1);
    }
  }
  return 1;
}

}  // namespace
}  // namespace oncemq::testing

int main(int argc, char** argv) {
  return argc == 3 ? oncemq::testing::Run(argv[1], std::atoll(argv[2])) : 2;
}
