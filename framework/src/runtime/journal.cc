// SPDX-License-Identifier: Apache-2.0
#include "journal.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>

#include "journal_tail.h"
#include "longest_reason.h"
#include "oncemq/base/bytes.h"

namespace oncemq {
namespace {

constexpr size_t kLongestLine = 16'384;  // more than an entry can take

Error SystemError(const std::string& what, Effect effect) {
  return {Code::kUnavailable, effect, what + ": " + std::strerror(errno)};
}

// ASCII out, so that a line is valid JSON whatever bytes came in.
void AppendText(std::string& out, std::string_view text) {
  constexpr char kDigits[] = "0123456789abcdef";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte >= 0x7f) {
      out += "\\u00";
      out += kDigits[byte >> 4];
      out += kDigits[byte & 15];
    } else {
      out += c;
    }
  }
}

void AppendId(std::string& out, std::string_view id) {
  const bool plain =
      std::all_of(id.begin(), id.end(), [](char c) { return c >= 0x20 && c < 0x7f; });
  out += plain ? ",\"id\":\"" : ",\"id_hex\":\"";
  if (plain) {
    AppendText(out, id);
  } else {
    for (const char c : id) {
      out += Hex(static_cast<unsigned char>(c)).substr(14);
    }
  }
  out += '"';
}

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

// The end of the file, long enough for a whole line and a torn one.
std::optional<std::string> ReadEnd(int fd, int64_t size) {
  std::string bytes(static_cast<size_t>(std::min<int64_t>(size, 2 * kLongestLine)), '\0');
  const int64_t from = size - static_cast<int64_t>(bytes.size());
  const ssize_t count = pread(fd, bytes.data(), bytes.size(), from);
  return count == static_cast<ssize_t>(bytes.size()) ? std::optional(std::move(bytes))
                                                     : std::nullopt;
}

// A new file is only there for good when its directory says so.
bool SyncDirectory(const std::string& path) {
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  const int fd = open(parent.empty() ? "." : parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const bool synced = fd >= 0 && fsync(fd) == 0;
  if (fd >= 0) {
    close(fd);
  }
  return synced;
}

}  // namespace

Result<std::unique_ptr<Journal>> Journal::Open(const std::string& path,
                                               std::vector<std::string> topics) {
  // Without O_NONBLOCK a device could keep us here. For an ordinary file it means nothing.
  const int fd =
      open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0600);
  if (fd < 0 && errno == EISDIR) {
    return Error{Code::kInvalid, Effect::kNone,
                 "the journal " + path + " is a directory; each member needs a file of its own"};
  }
  if (fd < 0) {
    return SystemError("the journal " + path + " can't be opened", Effect::kNone);
  }
  std::unique_ptr<Journal> journal(new Journal(fd, path, std::move(topics), 1, 0));
  struct stat status {};
  if (fstat(fd, &status) != 0) {
    return SystemError("the journal " + path + " can't be used", Effect::kNone);
  }
  // A pipe or a device keeps nothing, and a write to a full one never ends.
  if (!S_ISREG(status.st_mode)) {
    return Error{Code::kInvalid, Effect::kNone, "the journal " + path + " is no ordinary file"};
  }
  // Two writers would give the same numbers, and each would cut off what the other has synced. The
  // lock goes with the descriptor, so with the process too.
  if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) {
      return Error{Code::kInvalid, Effect::kNone,
                   "the journal " + path +
                       " is in use by another member; each member needs a journal of its own"};
    }
    return SystemError("the journal " + path + " can't be locked", Effect::kNone);
  }
  // Once more: until the lock was ours, somebody could still write.
  if (fstat(fd, &status) != 0 || !SyncDirectory(path)) {
    return SystemError("the journal " + path + " can't be used", Effect::kNone);
  }
  if (status.st_size == 0) {
    return journal;
  }
  const auto bytes = ReadEnd(fd, status.st_size);
  if (!bytes) {
    return SystemError("the journal " + path + " can't be read", Effect::kNone);
  }
  const auto size = static_cast<int64_t>(bytes->size());
  const auto tail = FindJournalTail(*bytes, size == status.st_size);
  if (!tail) {
    return Error{Code::kCorrupt, Effect::kNone,
                 path + " is not a journal of version 1, or it is damaged"};
  }
  const int64_t end = status.st_size - size + static_cast<int64_t>(tail->end);
  if (end < status.st_size && ftruncate(fd, end) != 0) {
    return SystemError("the torn end of " + path + " can't be cut off", Effect::kNone);
  }
  MutexLock lock(journal->mutex_);
  journal->next_ = tail->last_entry + 1;
  journal->end_ = end;
  return journal;
}

Journal::~Journal() {
  close(fd_);
}

void Journal::Name(uint32_t source, const std::string& topic) {
  MutexLock lock(mutex_);
  topics_.resize(std::max<size_t>(topics_.size(), size_t{source} + 1));
  topics_[source] = topic;
}

Result<uint64_t> Journal::Append(std::span<const JournalEntry> entries) {
  MutexLock lock(mutex_);
  if (entries.size() > kLastJournalEntry + 1 - next_) {
    return Error{Code::kFull, Effect::kNone, "the journal " + path_ + " has no numbers left"};
  }
  std::string lines;
  uint64_t number = next_;
  for (const JournalEntry& entry : entries) {
    const Coordinates& at = entry.item->at;
    lines += kJournalLineBegin;
    lines += std::to_string(number++) + ",\"topic\":\"";
    AppendText(lines, at.source < topics_.size() ? topics_[at.source] : std::string("?"));
    lines += "\",\"partition\":" + std::to_string(at.partition);
    lines += ",\"offset\":" + std::to_string(at.offset);
    AppendId(lines, entry.item->id);
    lines +=
        entry.kind == RecordKind::kPassed ? ",\"outcome\":\"passed\",\"why\":\"" : ",\"why\":\"";
    AppendText(lines, entry.why.substr(0, kLongestReason));
    lines += "\"}\n";
  }
  if (!WriteAll(fd_, lines) || fdatasync(fd_) != 0) {
    const Error error = SystemError("the journal " + path_ + " can't be written", Effect::kUnknown);
    // Half a line must not stay in front of the next one. If this fails too, so will the next
    // write, or Open cuts it.
    [[maybe_unused]] const int cut = ftruncate(fd_, end_);
    return error;
  }
  const uint64_t first = next_;
  next_ = number;
  end_ += static_cast<int64_t>(lines.size());
  return first;
}

}  // namespace oncemq
