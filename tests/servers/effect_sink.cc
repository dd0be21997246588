// SPDX-License-Identifier: Apache-2.0
#include "effect_sink.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>

namespace oncemq::testing {
namespace {

std::string Describe(const EffectLine& line) {
  std::ostringstream out;
  out << line.process << (line.writes ? " writes " : " reads ") << line.name << " = " << line.value
      << " under " << line.fence.epoch << "/" << line.fence.token;
  return out.str();
}

}  // namespace

// One step: whoever has the lock of the ledger. The state of a name is a small file of its own.
std::optional<uint64_t> EffectSink::Pass(const std::string& name, const Fence& fence,
                                         std::optional<uint64_t> value) const {
  const int file = open(ledger().c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (file < 0 || flock(file, LOCK_EX) != 0) {
    throw std::runtime_error("the sink cannot be opened");
  }
  const std::filesystem::path at = directory_ / ("count." + name);
  Fence highest;
  uint64_t count = 0;
  std::ifstream(at) >> highest.epoch >> highest.token >> count;
  const bool taken = fence >= highest;
  if (taken) {
    count = value.value_or(count);
    std::ofstream(at) << fence.epoch << " " << fence.token << " " << count << "\n";
  }
  std::ostringstream line;
  line << getpid() << " " << name << " " << fence.epoch << " " << fence.token << " "
       << value.has_value() << " " << taken << " " << value.value_or(count) << "\n";
  static_cast<void>(!write(file, line.str().data(), line.str().size()));
  close(file);
  return taken ? std::optional(count) : std::nullopt;
}

std::optional<uint64_t> EffectSink::Begin(const std::string& name, const Fence& fence) const {
  return Pass(name, fence, std::nullopt);
}

bool EffectSink::Write(const std::string& name, const Fence& fence, uint64_t value) const {
  return Pass(name, fence, value).has_value();
}

std::vector<EffectLine> ReadLedger(const std::filesystem::path& file) {
  std::vector<EffectLine> ledger;
  std::ifstream in(file);
  EffectLine line;
  while (in >> line.process >> line.name >> line.fence.epoch >> line.fence.token >> line.writes >>
         line.taken >> line.value) {
    ledger.push_back(line);
  }
  return ledger;
}

std::vector<std::string> LostUpdates(const std::vector<EffectLine>& ledger) {
  std::map<std::string, EffectLine> last;
  std::map<std::string, std::string> lost;
  for (const EffectLine& line : ledger) {
    if (!line.writes || !line.taken) {
      continue;
    }
    EffectLine& before = last[line.name];
    if (line.value != before.value + 1) {
      lost.try_emplace(line.name, Describe(before) + "; then " + Describe(line));
    }
    before = line;
  }
  std::vector<std::string> all;
  for (auto& [name, what] : lost) {
    all.push_back(std::move(what));
  }
  return all;
}

std::vector<std::string> FencesPassedOver(const std::vector<EffectLine>& ledger) {
  std::map<std::string, EffectLine> highest;
  std::vector<std::string> wrong;
  for (const EffectLine& line : ledger) {
    EffectLine& before = highest[line.name];
    if (line.taken && line.fence < before.fence) {
      wrong.push_back(Describe(before) + "; then " + Describe(line));
    }
    if (line.taken && line.fence >= before.fence) {
      before = line;
    }
  }
  return wrong;
}

size_t CountRefused(const std::vector<EffectLine>& ledger) {
  size_t refused = 0;
  for (const EffectLine& line : ledger) {
    refused += line.taken ? 0 : 1;
  }
  return refused;
}

}  // namespace oncemq::testing
