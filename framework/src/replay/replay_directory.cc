// SPDX-License-Identifier: Apache-2.0
#include "replay_directory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>

#include "oncemq/base/bytes.h"

namespace oncemq {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

constexpr int kVersion = 1;
constexpr std::string_view kSetFile = "set.json";
constexpr std::string_view kLockFile = "lock";
constexpr int64_t kLargestFile = 256 << 20;

Error Failed(const std::string& what, const std::string& path, int why) {
  return {Code::kUnavailable, Effect::kNone,
          "cannot " + what + " \"" + path + "\": " + std::strerror(why)};
}

Error Refused(const std::string& path, const std::string& why) {
  return {Code::kInvalid, Effect::kNone, "cannot use the directory \"" + path + "\": " + why};
}

class OpenedFile {
 public:
  OpenedFile(const std::string& path, int flags)
      : fd_(open(path.c_str(), flags | O_CLOEXEC | O_NOCTTY, 0600)) {}
  ~OpenedFile() {
    if (fd_ >= 0) {
      close(fd_);
    }
  }
  OpenedFile(const OpenedFile&) = delete;
  OpenedFile& operator=(const OpenedFile&) = delete;
  int get() const { return fd_; }
  int Give() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

bool WriteAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR) {
      return false;
    }
    bytes.remove_prefix(static_cast<size_t>(std::max<ssize_t>(written, 0)));
  }
  return true;
}

bool SyncDirectory(const std::string& path) {
  const OpenedFile directory(path, O_RDONLY | O_DIRECTORY);
  return directory.get() >= 0 && fsync(directory.get()) == 0;
}

// Empty: the process has not written it yet.
std::string HolderOf(int lock) {
  char text[32];
  const ssize_t size = pread(lock, text, sizeof text, 0);
  const auto pid =
      ParseDecimal(std::string_view(text, static_cast<size_t>(std::max<ssize_t>(size, 0))));
  return pid ? "process " + std::to_string(*pid) : "another process";
}

std::string Encode(const ReplaySet& set) {
  ordered_json ranges = ordered_json::array();
  for (const ReplayRange& range : set.ranges) {
    ranges.push_back({{"topic", range.topic},
                      {"partition", range.partition},
                      {"from", range.from},
                      {"to", range.to},
                      {"frontier", range.frontier},
                      {"since", range.since}});
  }
  const ordered_json json = {
      {"v", kVersion},          {"replay", set.id},           {"cluster", set.cluster},
      {"owner", set.owner},     {"frozen_ms", set.frozen_ms}, {"ranges", std::move(ranges)},
      {"notices", set.notices}, {"digest", Hex(set.Digest())}};
  return json.dump(1, ' ', true, ordered_json::error_handler_t::replace) + "\n";
}

bool Take(const ordered_json& object, const char* name, std::string& value) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_string()) {
    return false;
  }
  value = found->get<std::string>();
  return true;
}

template <class Number>
bool Take(const ordered_json& object, const char* name, Number& value) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_number_integer()) {
    return false;
  }
  const auto number = found->get<int64_t>();
  value = static_cast<Number>(number);
  return number >= 0 && number <= std::numeric_limits<Number>::max();
}

bool TakeRange(const ordered_json& object, ReplayRange& range) {
  return Take(object, "topic", range.topic) && Take(object, "partition", range.partition) &&
         Take(object, "from", range.from) && Take(object, "to", range.to) &&
         Take(object, "frontier", range.frontier) && Take(object, "since", range.since) &&
         range.from < range.to && range.to <= range.frontier;
}

bool TakeRanges(const ordered_json& object, std::vector<ReplayRange>& ranges) {
  const auto found = object.find("ranges");
  const bool list = found != object.end() && found->is_array() && !found->empty();
  return list && std::ranges::all_of(*found, [&](const ordered_json& range) {
           return TakeRange(range, ranges.emplace_back());
         });
}

bool TakeNotices(const ordered_json& object, std::vector<std::string>& notices) {
  const auto found = object.find("notices");
  if (found == object.end() || !found->is_array()) {
    return false;
  }
  for (const ordered_json& notice : *found) {
    notices.push_back(notice.is_string() ? notice.get<std::string>() : "");
  }
  return true;
}

// kCorrupt, or kInvalid for a newer version.
Result<ReplaySet> Decode(const std::string& text) {
  const ordered_json json = ordered_json::parse(text, nullptr, false);
  ReplaySet set;
  std::string digest;
  int version = 0;
  if (Take(json, "v", version) && version > kVersion) {
    return Error{Code::kInvalid, Effect::kNone,
                 "a newer version has written it, in format " + std::to_string(version)};
  }
  const bool whole = version == kVersion && Take(json, "replay", set.id) &&
                     Take(json, "cluster", set.cluster) && Take(json, "owner", set.owner) &&
                     Take(json, "frozen_ms", set.frozen_ms) && TakeRanges(json, set.ranges) &&
                     TakeNotices(json, set.notices) && Take(json, "digest", digest);
  if (!whole || digest != Hex(set.Digest())) {
    return Error{Code::kCorrupt, Effect::kNone, "it is damaged"};
  }
  return set;
}

}  // namespace

Result<std::unique_ptr<ReplayDirectory>> ReplayDirectory::Open(const std::string& path) {
  const bool made = mkdir(path.c_str(), 0700) == 0;
  if (!made && errno != EEXIST) {
    return Failed("make the directory", path, errno);
  }
  const std::string lock_path = path + "/" + std::string(kLockFile);
  std::error_code failed;
  if (!made && !fs::is_directory(path, failed)) {
    return Refused(path, failed ? failed.message() : "it is a file");
  }
  if (!made && !fs::exists(lock_path, failed) && !fs::is_empty(path, failed)) {
    return Refused(path, failed ? failed.message() : "it has files, and none of a replay");
  }
  OpenedFile lock(lock_path, O_RDWR | O_CREAT);
  if (lock.get() < 0) {
    return Failed("open", lock_path, errno);
  }
  if (flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    return Refused(
        path, HolderOf(lock.get()) + " works in it; wait for its end, or stop it with SIGTERM");
  }
  if (ftruncate(lock.get(), 0) != 0 || !WriteAll(lock.get(), std::to_string(getpid()))) {
    return Failed("write", lock_path, errno);
  }
  const fs::path parent = fs::path(path).lexically_normal().parent_path();
  if (made && !SyncDirectory(parent.empty() ? "." : parent.string())) {
    return Failed("write", path, errno);
  }
  return std::unique_ptr<ReplayDirectory>(new ReplayDirectory(path, lock.Give()));
}

ReplayDirectory::~ReplayDirectory() {
  close(lock_);
}

Result<std::optional<ReplaySet>> ReplayDirectory::ReadSet() const {
  const auto text = Read(kSetFile);
  if (!text) {
    return text.error();
  }
  if (!*text) {
    return std::optional<ReplaySet>();
  }
  auto set = Decode(**text);
  if (!set) {
    return Error{set.error().code, Effect::kNone,
                 "cannot read the set of messages in \"" + PathOf(kSetFile) +
                     "\": " + set.error().message + "; begin again in another directory"};
  }
  return std::optional<ReplaySet>(*std::move(set));
}

Status ReplayDirectory::KeepSet(const ReplaySet& set) {
  const auto kept = ReadSet();
  if (!kept) {
    return kept.error();
  }
  if (*kept) {
    return (*kept)->Digest() == set.Digest()
               ? Status()
               : Refused(path_, "it is of the replay " + (*kept)->id +
                                    ", with other messages; choose another directory");
  }
  const std::string text = Encode(set);
  if (!Decode(text)) {
    return Refused(path_, "the names of the service are no UTF-8, and the file keeps text");
  }
  return Replace(kSetFile, text);
}

Result<std::optional<std::string>> ReplayDirectory::Read(std::string_view name) const {
  const std::string path = PathOf(name);
  const OpenedFile file(path, O_RDONLY | O_NONBLOCK);
  if (file.get() < 0) {
    return errno == ENOENT ? Result<std::optional<std::string>>(std::optional<std::string>())
                           : Failed("read", path, errno);
  }
  struct stat status {};
  if (fstat(file.get(), &status) != 0) {
    return Failed("read", path, errno);
  }
  if (!S_ISREG(status.st_mode) || status.st_size > kLargestFile) {
    return Error{Code::kCorrupt, Effect::kNone, "\"" + path + "\" is no file of a replay"};
  }
  std::string bytes(static_cast<size_t>(status.st_size), '\0');
  size_t size = 0;
  while (size < bytes.size()) {
    const ssize_t read_now = read(file.get(), bytes.data() + size, bytes.size() - size);
    if (read_now < 0 && errno == EINTR) {
      continue;
    }
    if (read_now <= 0) {
      return Failed("read", path, read_now < 0 ? errno : EIO);
    }
    size += static_cast<size_t>(read_now);
  }
  return std::optional<std::string>(std::move(bytes));
}

Status ReplayDirectory::Replace(std::string_view name, std::string_view bytes) const {
  const std::string path = PathOf(name);
  const std::string draft = path + ".new";
  {
    const OpenedFile file(draft, O_WRONLY | O_CREAT | O_TRUNC);
    if (file.get() < 0 || !WriteAll(file.get(), bytes) || fsync(file.get()) != 0) {
      return Failed("write", draft, errno);
    }
  }
  if (rename(draft.c_str(), path.c_str()) != 0) {
    return Failed("write", path, errno);
  }
  return SyncDirectory(path_) ? Status() : Status(Failed("write", path, errno));
}

}  // namespace oncemq
