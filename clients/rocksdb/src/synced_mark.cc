// SPDX-License-Identifier: Apache-2.0
#include "synced_mark.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
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

}  // namespace

SyncedMark::~SyncedMark() {
  if (file_ >= 0) {
    close(file_);
  }
}

Status SyncedMark::Open(const std::string& directory, bool may_make) {
  const std::string path = directory + "/SYNCED";
  file_ = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file_ >= 0) {
    return Read(path);
  }
  if (errno == ENOENT && !may_make) {
    return Error{Code::kCorrupt, Effect::kNone, path + " is gone"};
  }
  file_ = errno == ENOENT ? open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600) : -1;
  return file_ >= 0 ? Make(directory) : Status(Failed(path, errno));
}

// Both slots, so that the file never changes its size again.
Status SyncedMark::Make(const std::string& directory) {
  for (int slot = 0; slot < 2; slot++) {
    if (Status written = Write(0); !written) {
      return written;
    }
  }
  const int folder = open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const bool synced = folder >= 0 && fsync(file_) == 0 && fsync(folder) == 0;
  const int error = errno;
  if (folder >= 0) {
    close(folder);
  }
  return synced ? Status() : Status(Failed(directory, error));
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
