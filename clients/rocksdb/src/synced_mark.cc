// SPDX-License-Identifier: Apache-2.0
#include "synced_mark.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <system_error>

#include "oncemq/base/bytes.h"

namespace oncemq {
namespace {

constexpr size_t kSlot = 12;
using Slot = std::array<char, kSlot>;

Slot Encode(uint64_t number) {
  Slot slot;
  std::memcpy(slot.data(), &number, sizeof number);
  const uint32_t sum = Crc32c({slot.data(), sizeof number});
  std::memcpy(slot.data() + sizeof number, &sum, sizeof sum);
  return slot;
}

std::optional<uint64_t> Decode(const char* bytes) {
  uint64_t number = 0;
  std::memcpy(&number, bytes, sizeof number);
  return std::memcmp(bytes, Encode(number).data(), kSlot) == 0 ? std::optional(number)
                                                               : std::nullopt;
}

Error Failed(const std::string& path, int error) {
  return {Code::kUnavailable, Effect::kUnknown,
          path + ": " + std::system_category().message(error)};
}

// The names in a folder last once the folder itself is synced, and so its own name in the one
// above. Up to a mount point, or to a folder that is not ours to read: that one was there before
// us.
Status SyncNames(const std::string& directory) {
  std::error_code failed;
  std::filesystem::path folder = std::filesystem::canonical(directory, failed);
  if (failed) {
    return Failed(directory, failed.value());
  }
  struct stat first {};
  for (bool own = true;; own = false, folder = folder.parent_path()) {
    const int file = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct stat facts {};
    const bool known = file >= 0 && fstat(file, &facts) == 0;
    if (own) {
      first = facts;
    }
    const bool beyond = !own && (!known || facts.st_dev != first.st_dev);
    const bool synced = beyond || (known && fsync(file) == 0);
    const int error = errno;
    if (file >= 0) {
      close(file);
    }
    if (!synced) {
      return Failed(folder, error);
    }
    if (beyond || folder == folder.parent_path()) {
      return {};
    }
  }
}

}  // namespace

SyncedMark::~SyncedMark() {
  if (file_ >= 0) {
    close(file_);
  }
}

Status SyncedMark::Open(const std::string& directory, bool may_make) {
  const std::string path = directory + "/SYNCED";
  file_ = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file_ < 0 && errno != ENOENT) {
    return Failed(path, errno);
  }
  if (file_ < 0 && !may_make) {
    return Error{Code::kCorrupt, Effect::kNone, path + " is gone"};
  }
  Status opened = file_ < 0 ? Make(path) : Read(path);
  // Nothing was ever synced, so whoever made the folders may have been killed before he synced
  // their names.
  return opened && number_ == 0 ? SyncNames(directory) : opened;
}

Status SyncedMark::OpenToRead(const std::string& directory) {
  const std::string path = directory + "/SYNCED";
  file_ = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file_ < 0) {
    return errno == ENOENT ? Status(Error{Code::kCorrupt, Effect::kNone, path + " is gone"})
                           : Status(Failed(path, errno));
  }
  return Read(path);
}

Status SyncedMark::Reread() {
  return Read("SYNCED");
}

// Whole, before it has its name: half a mark would be damage. Both slots, so that the file never
// changes its size again. A name that is there already is another process's.
Status SyncedMark::Make(const std::string& path) {
  const std::string draft = path + ".new";
  unlink(draft.c_str());
  file_ = open(draft.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file_ < 0) {
    return Failed(draft, errno);
  }
  for (int slot = 0; slot < 2; slot++) {
    if (Status written = Write(0); !written) {
      return written;
    }
  }
  const bool named = fsync(file_) == 0 && link(draft.c_str(), path.c_str()) == 0;
  const int error = errno;
  unlink(draft.c_str());
  return named ? Status() : Status(Failed(path, error));
}

Status SyncedMark::Read(const std::string& path) {
  std::array<char, 2 * kSlot> bytes{};
  const ssize_t size = pread(file_, bytes.data(), bytes.size(), 0);
  if (size < 0) {
    return Failed(path, errno);
  }
  bool any = false;
  for (int slot = 0; slot < size / static_cast<int>(kSlot); slot++) {
    const auto number = Decode(bytes.data() + slot * static_cast<int>(kSlot));
    if (number && (!any || *number > number_)) {
      any = true;
      number_ = *number;
      next_ = 1 - slot;
    }
  }
  return any ? Status() : Status(Error{Code::kCorrupt, Effect::kNone, path + " is damaged"});
}

Status SyncedMark::Write(uint64_t number) {
  const Slot slot = Encode(number);
  const ssize_t written = pwrite(file_, slot.data(), kSlot, next_ * static_cast<off_t>(kSlot));
  if (written != static_cast<ssize_t>(kSlot)) {
    return Failed("the mark of what is synced", written < 0 ? errno : EIO);
  }
  next_ = 1 - next_;
  number_ = number;
  return {};
}

}  // namespace oncemq
