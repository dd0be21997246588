// SPDX-License-Identifier: Apache-2.0
// Records of one size in a file that several processes append to, and that outlives any of them.
#pragma once

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

namespace oncemq::testing {

// Throws std::runtime_error with the system's words.
//
// Thread safety: any thread of any process; a record is one write, so a writer that is killed has
// either written it or not.
template <class Record>
class RecordFile {
  static_assert(std::is_trivially_copyable_v<Record>);
  static_assert(4096 % sizeof(Record) == 0, "no record may lie in two pages, or half of it may");

 public:
  explicit RecordFile(const std::filesystem::path& path)
      : fd_(open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644)) {
    Check(fd_ >= 0);
  }
  ~RecordFile() { close(fd_); }
  RecordFile(const RecordFile&) = delete;
  RecordFile& operator=(const RecordFile&) = delete;

  void Append(const Record& record) {
    Check(write(fd_, &record, sizeof record) == static_cast<ssize_t>(sizeof record));
  }

  // Appends to `records` what the file has more than they.
  void ReadOn(std::vector<Record>& records) const {
    struct stat now {};
    Check(fstat(fd_, &now) == 0);
    const size_t known = records.size();
    const size_t all = static_cast<size_t>(now.st_size) / sizeof(Record);
    if (all > known) {
      records.resize(all);
      const size_t bytes = (all - known) * sizeof(Record);
      Check(pread(fd_, &records[known], bytes, static_cast<off_t>(known * sizeof(Record))) ==
            static_cast<ssize_t>(bytes));
    }
  }

  int fd() const { return fd_; }

 private:
  static void Check(bool ok) {
    if (!ok) {
      throw std::runtime_error(std::string("a file of records: ") + std::strerror(errno));
    }
  }

  const int fd_;
};

// Excludes other processes from such a file, where they ask for it too; the kernel lets go of it
// when its holder is killed.
class FileLock {
 public:
  explicit FileLock(int fd) : fd_(fd) {
    while (flock(fd_, LOCK_EX) != 0 && errno == EINTR) {
    }
  }
  ~FileLock() { flock(fd_, LOCK_UN); }
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  const int fd_;
};

}  // namespace oncemq::testing
