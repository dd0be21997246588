// SPDX-License-Identifier: Apache-2.0
// Finishes ids in a window on disk until it is killed, and says after each batch up to which id the
// window has answered:
//
//   disk_writer DIRECTORY GENERATION FIRST COUNT [BYTES]
//
// BYTES bounds the size of a file, as a full disk does. Ends with 0 when all is done, 1 on an
// error.
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "disk_window.h"

namespace oncemq::testing {
namespace {

void Say(const std::string& line) {
  const std::string text = line + "\n";
  static_cast<void>(write(STDOUT_FILENO, text.data(), text.size()) + 0);
}

int Run(const std::string& directory, uint32_t generation, int64_t first, int64_t count) {
  constexpr int64_t kBatch = 20;
  auto window = OpenLocalWindow(DiskOptions(directory, generation), SystemClock::Instance());
  if (!window) {
    Say("not opened: " + ToString(window.error()));
    return 1;
  }
  const auto owner_epoch = (*window)->RaiseOwnerEpoch(0, 0, 0);
  if (!owner_epoch) {
    Say("not raised: " + ToString(owner_epoch.error()));
    return 1;
  }
  for (int64_t i = first; i < first + count; i += kBatch) {
    if (Status finished = FinishIds(**window, i, i + kBatch); !finished) {
      Say("failed: " + ToString(finished.error()));
      return 1;
    }
    Say("answered " + std::to_string(i + kBatch));
    if (Status synced = (*window)->Announce({}); !synced) {
      Say("failed: " + ToString(synced.error()));
      return 1;
    }
    const Progress progress{0, 0, *owner_epoch, i + kBatch, kThen};
    MarkerChange change{};
    if (Status kept = (*window)->Committed({&progress, 1}, {&change, 1}); !kept) {
      Say("failed: " + ToString(kept.error()));
      return 1;
    }
  }
  return 0;
}

}  // namespace
}  // namespace oncemq::testing

int main(int argc, char** argv) {
  if (argc < 5) {
    return 2;
  }
  if (argc > 5) {
    const auto bytes = static_cast<rlim_t>(std::atoll(argv[5]));
    const rlimit limit{bytes, bytes};
    setrlimit(RLIMIT_FSIZE, &limit);
    std::signal(SIGXFSZ, SIG_IGN);  // the write fails instead
  }
  return oncemq::testing::Run(argv[1], static_cast<uint32_t>(std::atoi(argv[2])),
                              std::atoll(argv[3]), std::atoll(argv[4]));
}
