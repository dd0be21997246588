// SPDX-License-Identifier: Apache-2.0
#include "runtime_local.h"

#include <filesystem>
#include <vector>

#include "oncemq/base/bytes.h"
#include "oncemq/base/hash.h"
#include "runtime_pipeline.h"
#include "scope.h"
#include "support/temp_dir.h"

namespace oncemq::bench {
namespace {

constexpr uint32_t kBefore = 10'000'000;
constexpr uint32_t kBatch = 500;

void Must(const Status& status) {
  if (!status) {
    std::fprintf(stderr, "%s\n", ToString(status.error()).c_str());
    std::exit(1);
  }
}

std::unique_ptr<Window> OpenAt(const std::filesystem::path& directory, SyncWhen sync) {
  LocalWindowOptions options;
  options.directory = directory;
  options.level = Level::kGuarded;
  options.sync = sync;
  auto window = OpenPartitionWindows(options, SystemClock::Instance());
  Must(window ? Status() : Status(window.error()));
  return *std::move(window);
}

// Ids that no message of the bench has, in every partition's store.
void FillStores(const std::filesystem::path& directory, const RunFacts& run) {
  const auto window = OpenAt(directory, SyncWhen::kNever);
  RuntimeOptions options;
  options.kafka.group = run.group;
  const std::string owner = "cluster " + run.cluster + ", " + StoreOwner(options);
  std::vector<std::string> ids(kBatch);
  std::vector<RestoreRequest> requests(kBatch);
  std::vector<MarkerChange> answers(kBatch);
  for (int32_t partition = 0; partition < run.partitions; partition++) {
    const auto known = window->Open({0, partition, run.topic, owner});
    Must(known ? Status() : Status(known.error()));
    const uint32_t each = kBefore / static_cast<uint32_t>(run.partitions);
    for (uint32_t done = 0; done < each; done += kBatch) {
      for (uint32_t i = 0; i < kBatch; i++) {
        ids[i] = "before-" + Hex(MixBits(done + i));
        requests[i] = {ids[i], {0, partition, static_cast<int64_t>(done + i)}};
      }
      Must(window->Restore(requests, answers));
    }
    window->Close(0, partition);
  }
}

}  // namespace

int RunLocalBench(const std::string& name, SyncWhen sync, int argc, char** argv) {
  const testing::TempDir dir;
  const std::filesystem::path before = dir.path() / "before";
  const std::filesystem::path stores = dir.path() / "stores";
  PipelineOptions options;
  options.duplicates = 0.3;
  options.window = [&](const RunFacts& run) {
    if (!std::filesystem::exists(before)) {
      FillStores(before, run);
    }
    std::filesystem::remove_all(stores);
    std::filesystem::copy(before, stores, std::filesystem::copy_options::recursive);
    return OpenAt(stores, sync);
  };
  return RunPipelineBench(name, options, argc, argv);
}

}  // namespace oncemq::bench
