// SPDX-License-Identifier: Apache-2.0
// PowerLoss::Disk: files and folders as the process sees them, and what of them is on the disk.
//
// Thread safety: none; PowerLoss owns it.
#pragma once

#include <deque>
#include <optional>
#include <random>

#include "power_loss.h"

namespace oncemq::testing {

class PowerLoss::Disk {
 public:
  explicit Disk(const std::filesystem::path& root);

  // The texts stay valid as long as the disk.
  void Do(const PowerHead& head, std::string_view first, std::string_view second);
  void Build(Keep keep, uint64_t seed, const std::filesystem::path& into) const;

 private:
  using Names = std::map<std::string, size_t, std::less<>>;  // to nodes

  struct Change {
    uint64_t time = 0;
    enum class Kind : uint8_t { kBytes, kSize, kAtLeast, kZero, kNames } kind = Kind::kBytes;
    uint64_t offset = 0;  // or size
    uint64_t length = 0;
    std::string_view bytes = {};
    std::vector<std::pair<std::string, std::optional<size_t>>> names = {};  // nothing: no more
  };
  struct Node {
    bool folder = false;
    std::string bytes;             // on the disk
    Names names;                   // on the disk
    Names seen;                    // by the process
    std::vector<Change> unsynced;  // oldest first
  };
  struct Sync {
    size_t node = 0;
    uint64_t begin = 0;
  };
  struct Where {
    size_t folder = 0;
    std::string name;
  };
  class Builder;

  void Load(const std::filesystem::path& path, size_t node);
  size_t NewNode(bool folder);
  size_t NodeAt(std::string_view path) const;
  Where Parse(std::string_view path) const;
  size_t NodeOf(const Where& where) const;
  size_t NodeOf(int fd) const;
  void SetNames(size_t folder, std::vector<std::pair<std::string, std::optional<size_t>>> names);
  void Open(const PowerHead& head, std::string_view path);
  void DoNames(const PowerHead& head, std::string_view first, std::string_view second);
  void DoBytes(const PowerHead& head, std::string_view bytes);
  void DoSync(const PowerHead& head);
  static void Apply(const Change& change, Node& node);

  uint64_t time_ = 0;
  std::deque<Node> nodes_;  // 0: the root
  std::map<int, size_t> open_;
  std::map<int64_t, Sync> syncs_;
};

}  // namespace oncemq::testing
