// SPDX-License-Identifier: Apache-2.0
// A target that checks fences, for several processes of one host: a count for each name, which each
// holder reads and writes back greater by one. And its ledger, to which every call is appended,
// those that were refused, too.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "oncemq/base/fence.h"

namespace oncemq::testing {

struct EffectLine {
  int64_t process = 0;
  std::string name;
  Fence fence;
  bool writes = false;  // else it reads, having installed its fence
  bool taken = false;   // else it was refused
  uint64_t value = 0;
};

// Thread safety: none; several processes may use one directory, each with a sink of its own.
class EffectSink {
 public:
  explicit EffectSink(std::filesystem::path directory) : directory_(std::move(directory)) {}

  // Raises the fence, and then reads. Nothing: a later holder was here.
  std::optional<uint64_t> Begin(const std::string& name, const Fence& fence) const;
  // False: a later holder was here since, and nothing was written.
  bool Write(const std::string& name, const Fence& fence, uint64_t value) const;

  std::filesystem::path ledger() const { return directory_ / "ledger"; }

 private:
  std::optional<uint64_t> Pass(const std::string& name, const Fence& fence,
                               std::optional<uint64_t> value) const;
  const std::filesystem::path directory_;
};

std::vector<EffectLine> ReadLedger(const std::filesystem::path& file);
// Writes that were taken and do not follow the one before them; of each name the first.
std::vector<std::string> LostUpdates(const std::vector<EffectLine>& ledger);
// Calls that were taken though a greater fence was taken before.
std::vector<std::string> FencesPassedOver(const std::vector<EffectLine>& ledger);
size_t CountRefused(const std::vector<EffectLine>& ledger);

}  // namespace oncemq::testing
