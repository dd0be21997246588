// SPDX-License-Identifier: Apache-2.0
#include "power_loss.h"

#include <fcntl.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "disk.h"

namespace oncemq::testing {

PowerLoss::PowerLoss(std::filesystem::path root, std::filesystem::path record)
    : root_(std::move(root)), record_(std::move(record)), disk_(std::make_unique<Disk>(root_)) {}

PowerLoss::~PowerLoss() = default;

std::map<std::string, std::string> PowerLoss::Environment(uint64_t last) const {
  // A sanitizer's library wants to be the first one, and works as the second.
  const char* sanitizer = std::getenv("ASAN_OPTIONS");
  return {{"LD_PRELOAD", ONCEMQ_POWER_LAYER},
          {kPowerRoot, root_.string()},
          {kPowerRecord, record_.string()},
          {kPowerLast, std::to_string(last)},
          {"ASAN_OPTIONS",
           std::string(sanitizer == nullptr ? "" : sanitizer) + ":verify_asan_link_order=0"}};
}

void PowerLoss::ReadRecord() {
  std::ifstream file(record_, std::ios::binary);
  bytes_.assign(std::istreambuf_iterator<char>(file), {});
  PowerHead head;
  for (size_t at = 0; at + sizeof head <= bytes_.size();) {
    std::memcpy(&head, bytes_.data() + at, sizeof head);
    if (head.magic != PowerHead::kMagic) {
      throw std::runtime_error("the record is damaged");
    }
    const size_t end = at + sizeof head + head.first + head.second;
    if (end > bytes_.size()) {
      return;  // the kill came in between
    }
    offsets_.push_back(at);
    if (head.op == PowerOp::kNote) {
      notes_.emplace_back(offsets_.size(), bytes_.substr(end - head.second, head.second));
    }
    at = end;
  }
}

size_t PowerLoss::entries() const {
  return offsets_.size();
}

const std::vector<std::pair<size_t, std::string>>& PowerLoss::notes() const {
  return notes_;
}

PowerHead PowerLoss::HeadOf(size_t entry) const {
  PowerHead head;
  std::memcpy(&head, bytes_.data() + offsets_[entry], sizeof head);
  return head;
}

size_t PowerLoss::BeforeNextSync(size_t entries) const {
  while (entries < offsets_.size() && HeadOf(entries).op != PowerOp::kSyncEnd) {
    entries++;
  }
  return entries;
}

size_t PowerLoss::BehindNextFile(size_t entries) const {
  const auto makes = [](const PowerHead& head) {
    return head.op == PowerOp::kOpen && (head.a & O_CREAT) != 0;
  };
  while (entries < offsets_.size() && !makes(HeadOf(entries))) {
    entries++;
  }
  return std::min(entries + 1, offsets_.size());
}

void PowerLoss::ReplayTo(size_t entries) {
  for (; replayed_ < std::min(entries, offsets_.size()); replayed_++) {
    const PowerHead head = HeadOf(replayed_);
    const std::string_view first(bytes_.data() + offsets_[replayed_] + sizeof head, head.first);
    disk_->Do(head, first, {first.data() + first.size(), head.second});
  }
}

void PowerLoss::Build(Keep keep, uint64_t seed, const std::filesystem::path& into) const {
  disk_->Build(keep, seed, into);
}

}  // namespace oncemq::testing
