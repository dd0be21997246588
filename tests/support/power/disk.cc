// SPDX-License-Identifier: Apache-2.0
#include "disk.h"

#include <fcntl.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace oncemq::testing {
namespace {

[[noreturn]] void Unknown(const std::string& what) {
  throw std::runtime_error("the record of a power loss: " + what);
}

}  // namespace

PowerLoss::Disk::Disk(const std::filesystem::path& root) {
  Load(root, NewNode(true));
}

size_t PowerLoss::Disk::NewNode(bool folder) {
  nodes_.push_back({});
  nodes_.back().folder = folder;
  return nodes_.size() - 1;
}

void PowerLoss::Disk::Load(const std::filesystem::path& path, size_t node) {
  for (const auto& entry : std::filesystem::directory_iterator(path)) {
    const size_t child = NewNode(entry.is_directory());
    nodes_[node].names[entry.path().filename()] = child;
    if (entry.is_directory()) {
      Load(entry.path(), child);
    } else {
      std::ifstream file(entry.path(), std::ios::binary);
      nodes_[child].bytes.assign(std::istreambuf_iterator<char>(file), {});
    }
  }
  nodes_[node].seen = nodes_[node].names;
}

// As the process sees it.
size_t PowerLoss::Disk::NodeAt(std::string_view path) const {
  size_t node = 0;
  while (!path.empty()) {
    const size_t slash = std::min(path.find('/'), path.size());
    const auto found = nodes_[node].seen.find(path.substr(0, slash));
    if (found == nodes_[node].seen.end()) {
      Unknown("no " + std::string(path));
    }
    node = found->second;
    path.remove_prefix(std::min(slash + 1, path.size()));
  }
  return node;
}

PowerLoss::Disk::Where PowerLoss::Disk::Parse(std::string_view path) const {
  const size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) {
    return {0, std::string(path)};
  }
  return {NodeAt(path.substr(0, slash)), std::string(path.substr(slash + 1))};
}

size_t PowerLoss::Disk::NodeOf(const Where& where) const {
  const Names& names = nodes_[where.folder].seen;
  const auto found = names.find(where.name);
  if (found == names.end()) {
    Unknown("no " + where.name);
  }
  return found->second;
}

size_t PowerLoss::Disk::NodeOf(int fd) const {
  const auto found = open_.find(fd);
  if (found == open_.end()) {
    Unknown("file " + std::to_string(fd) + " is not open");
  }
  return found->second;
}

void PowerLoss::Disk::SetNames(size_t folder,
                               std::vector<std::pair<std::string, std::optional<size_t>>> names) {
  Change change{.time = time_, .kind = Change::Kind::kNames, .names = std::move(names)};
  for (const auto& [name, node] : change.names) {
    if (node) {
      nodes_[folder].seen[name] = *node;
    } else {
      nodes_[folder].seen.erase(name);
    }
  }
  nodes_[folder].unsynced.push_back(std::move(change));
}

void PowerLoss::Disk::Do(const PowerHead& head, std::string_view first, std::string_view second) {
  time_++;
  switch (head.op) {
    case PowerOp::kOpen:
      return Open(head, first);
    case PowerOp::kClose:
      open_.erase(head.fd);
      return;
    case PowerOp::kWrite:
    case PowerOp::kTruncate:
    case PowerOp::kExtend:
    case PowerOp::kZero:
      return DoBytes(head, second);
    case PowerOp::kRename:
    case PowerOp::kLink:
    case PowerOp::kUnlink:
    case PowerOp::kMkdir:
    case PowerOp::kRmdir:
      return DoNames(head, first, second);
    case PowerOp::kSyncBegin:
    case PowerOp::kSyncEnd:
      return DoSync(head);
    case PowerOp::kNote:
      return;
  }
  Unknown("an entry of kind " + std::to_string(static_cast<uint32_t>(head.op)));
}

void PowerLoss::Disk::Open(const PowerHead& head, std::string_view path) {
  size_t node = 0;
  if (!path.empty()) {
    const Where where = Parse(path);
    if ((head.a & O_CREAT) != 0 && !nodes_[where.folder].seen.contains(where.name)) {
      SetNames(where.folder, {{where.name, NewNode(false)}});
    }
    node = NodeOf(where);
  }
  if ((head.a & O_TRUNC) != 0) {
    nodes_[node].unsynced.push_back({.time = time_, .kind = Change::Kind::kSize});
  }
  open_[head.fd] = node;
}

void PowerLoss::Disk::DoNames(const PowerHead& head, std::string_view first,
                              std::string_view second) {
  const Where from = Parse(first);
  switch (head.op) {
    case PowerOp::kUnlink:
    case PowerOp::kRmdir:
      return SetNames(from.folder, {{from.name, std::nullopt}});
    case PowerOp::kMkdir:
      return SetNames(from.folder, {{from.name, NewNode(true)}});
    default:
      break;
  }
  const Where to = Parse(second);
  const size_t node = NodeOf(from);
  if (head.op == PowerOp::kLink) {
    return SetNames(to.folder, {{to.name, node}});
  }
  if (from.folder != to.folder) {
    Unknown("a rename from one folder to another");
  }
  const Names& names = nodes_[to.folder].seen;
  const auto there = names.find(to.name);
  if (there == names.end() || there->second != node) {  // else rename() does nothing
    SetNames(from.folder, {{from.name, std::nullopt}, {to.name, node}});
  }
}

void PowerLoss::Disk::DoBytes(const PowerHead& head, std::string_view bytes) {
  Change change{.time = time_, .offset = static_cast<uint64_t>(head.a), .bytes = bytes};
  switch (head.op) {
    case PowerOp::kTruncate:
      change.kind = Change::Kind::kSize;
      break;
    case PowerOp::kExtend:
      change.kind = Change::Kind::kAtLeast;
      break;
    case PowerOp::kZero:
      change.kind = Change::Kind::kZero;
      change.length = static_cast<uint64_t>(head.b);
      break;
    default:
      change.kind = Change::Kind::kBytes;
      break;
  }
  nodes_[NodeOf(head.fd)].unsynced.push_back(std::move(change));
}

void PowerLoss::Disk::DoSync(const PowerHead& head) {
  if (head.op == PowerOp::kSyncBegin) {
    syncs_[head.a] = {NodeOf(head.fd), time_};
    return;
  }
  const auto sync = syncs_.find(head.a);
  if (sync == syncs_.end()) {
    Unknown("a sync that never began");
  }
  Node& node = nodes_[sync->second.node];
  const auto later = std::find_if(node.unsynced.begin(), node.unsynced.end(),
                                  [&](const Change& c) { return c.time > sync->second.begin; });
  std::for_each(node.unsynced.begin(), later, [&](const Change& c) { Apply(c, node); });
  node.unsynced.erase(node.unsynced.begin(), later);
  syncs_.erase(sync);
}

void PowerLoss::Disk::Apply(const Change& change, Node& node) {
  std::string& bytes = node.bytes;
  switch (change.kind) {
    case Change::Kind::kBytes:
      bytes.resize(std::max<size_t>(bytes.size(), change.offset + change.bytes.size()));
      bytes.replace(change.offset, change.bytes.size(), change.bytes);
      break;
    case Change::Kind::kSize:
      bytes.resize(change.offset);
      break;
    case Change::Kind::kAtLeast:
      bytes.resize(std::max<size_t>(bytes.size(), change.offset));
      break;
    case Change::Kind::kZero:
      if (change.offset < bytes.size()) {
        const size_t length = std::min<size_t>(change.length, bytes.size() - change.offset);
        bytes.replace(change.offset, length, length, '\0');
      }
      break;
    case Change::Kind::kNames:
      for (const auto& [name, target] : change.names) {
        if (target) {
          node.names[name] = *target;
        } else {
          node.names.erase(name);
        }
      }
      break;
  }
}

// One directory after one loss. Chance is asked in the order of the tree, so that a seed says all.
class PowerLoss::Disk::Builder {
 public:
  Builder(const Disk& disk, Keep keep, uint64_t seed) : disk_(disk), keep_(keep), random_(seed) {
    std::vector<uint64_t> moments{UINT64_MAX};
    for (const Node& node : disk.nodes_) {
      for (const Change& change : node.unsynced) {
        if (keep != Keep::kAny || change.kind == Change::Kind::kNames) {
          moments.push_back(change.time);
        }
      }
    }
    moment_ = moments[Chance(moments.size())];
  }

  void Folder(size_t number, const std::filesystem::path& path) {
    std::filesystem::create_directory(path);
    for (const auto& [name, child] : After(disk_.nodes_[number]).names) {
      const auto made = made_.find(child);
      if (disk_.nodes_[child].folder) {
        Folder(child, path / name);
      } else if (made != made_.end()) {
        std::filesystem::create_hard_link(made->second, path / name);
      } else {
        const Node node = After(disk_.nodes_[child]);
        std::ofstream file(path / name, std::ios::binary);
        file.write(node.bytes.data(), static_cast<std::streamsize>(node.bytes.size()));
        made_[child] = path / name;
      }
    }
  }

 private:
  uint64_t Chance(uint64_t below) { return random_() % below; }

  Node After(const Node& before) {
    Node node{.folder = before.folder, .bytes = before.bytes, .names = before.names};
    if (keep_ == Keep::kBeforeOwn && !before.unsynced.empty()) {
      const size_t first = Chance(before.unsynced.size() + 1);
      moment_ = first == before.unsynced.size() ? UINT64_MAX : before.unsynced[first].time;
    }
    for (const Change& change : before.unsynced) {
      switch (keep_) {
        case Keep::kSynced:
          break;
        case Keep::kBefore:
        case Keep::kBeforeOwn:
          if (change.time < moment_) {
            Apply(change, node);
          } else if (change.time == moment_) {
            Tear(change, node);
          }
          break;
        case Keep::kAny:
          if (change.kind == Change::Kind::kNames) {
            if (change.time < moment_) {
              Apply(change, node);
            }
          } else if (const uint64_t luck = Chance(3); luck == 0) {
            Apply(change, node);
          } else if (luck == 1) {
            Tear(change, node);
          }
          break;
      }
    }
    return node;
  }

  // Some sectors of a write; nothing of any other change, which are one step of the file system.
  void Tear(const Change& change, Node& node) {
    if (change.kind != Change::Kind::kBytes) {
      return;
    }
    constexpr uint64_t kSector = 512;
    const uint64_t end = change.offset + change.bytes.size();
    for (uint64_t at = change.offset; at < end;) {
      const uint64_t next = std::min(end, (at / kSector + 1) * kSector);
      if (Chance(2) == 0) {
        Apply({.offset = at, .bytes = change.bytes.substr(at - change.offset, next - at)}, node);
      }
      at = next;
    }
  }

  const Disk& disk_;
  const Keep keep_;
  std::mt19937_64 random_;
  uint64_t moment_ = 0;  // what was done before it is kept; with kAny, of the names
  std::map<size_t, std::filesystem::path> made_;
};

void PowerLoss::Disk::Build(Keep keep, uint64_t seed, const std::filesystem::path& into) const {
  Builder(*this, keep, seed).Folder(0, into);
}

}  // namespace oncemq::testing
