// SPDX-License-Identifier: Apache-2.0
#include "power_cut.h"

#include <stdexcept>
#include <string_view>
#include <vector>

#include "disk/torn_manifest.h"
#include "oncemq/dedup/local_window.h"
#include "support/temp_dir.h"

namespace oncemq::testing {
namespace {

namespace fs = std::filesystem;

// Asked of a copy, as an opening changes what it opens.
bool SomeManifestIsTorn(const fs::path& stores, Keep keep) {
  const TempDir place{TempDir::Quick()};
  const fs::path copy = place.path() / "stores";
  fs::copy(stores, copy, fs::copy_options::recursive);
  std::vector<fs::path> found;
  for (const auto& entry : fs::recursive_directory_iterator(copy)) {
    if (entry.path().filename() == "CURRENT") {
      found.push_back(entry.path().parent_path());
    }
  }
  for (const fs::path& store : found) {
    const Status opened =
        ScanEffects(store.string(), [](std::string_view, std::string_view) { return true; });
    if (!opened && IsTornManifest(opened.error(), keep)) {
      return true;
    }
  }
  return false;
}

}  // namespace

void CutThePower(const PowerLoss& loss, Keep keep, std::mt19937_64& random, const fs::path& into) {
  constexpr int kTries = 100;
  for (int i = 0; i < kTries; i++) {
    loss.Build(keep, random(), into);
    if (!SomeManifestIsTorn(into, keep)) {
      return;
    }
    fs::remove_all(into);
  }
  throw std::runtime_error("every loss of power tears a MANIFEST");
}

}  // namespace oncemq::testing
