// SPDX-License-Identifier: Apache-2.0
// The record is the file `record.<name>`: its version in decimal digits, a line's end, the text. It
// is replaced as a whole, by whoever has the lock of the file `lock.<name>`. What a process says of
// itself is `word.<name>.` and its own name in hex digits, which hold no dot: so no two files are
// one, whatever dots a name has. Read without the lock: a rename shows all or nothing.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>
#include <utility>

#include "oncemq/base/bytes.h"
#include "oncemq/base/random.h"
#include "oncemq/base/switch_record.h"
#include "oncemq/base/switch_store.h"

namespace oncemq {
namespace {

namespace fs = std::filesystem;

constexpr size_t kLongestText = 65'536;
constexpr size_t kMostWords = 10'000;
constexpr milliseconds kPollInterval{250};
constexpr int kTries = 50;
constexpr milliseconds kBetweenTries{10};

class File {
 public:
  File(const std::string& path, int flags) : fd_(open(path.c_str(), flags | O_CLOEXEC, 0644)) {}
  ~File() {
    if (fd_ >= 0) {
      close(fd_);
    }
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int get() const { return fd_; }

 private:
  const int fd_;
};

Error Failed(std::string_view what, int code, Effect effect) {
  return {Code::kUnavailable, effect,
          "switch record: " + std::string(what) + ": " + std::generic_category().message(code)};
}

// Nothing: there is no such file.
Result<std::optional<std::string>> Contents(const std::string& path) {
  const File file(path, O_RDONLY | O_NONBLOCK);  // a pipe would wait for whoever writes
  if (file.get() < 0) {
    return errno == ENOENT ? Result<std::optional<std::string>>(std::nullopt)
                           : Failed("open", errno, Effect::kNone);
  }
  struct stat about {};
  if (fstat(file.get(), &about) != 0 || !S_ISREG(about.st_mode)) {
    return Error{Code::kCorrupt, Effect::kNone, "switch record: " + path + " is no plain file"};
  }
  std::string bytes(kLongestText + 1, '\0');
  size_t had = 0;
  for (;;) {
    const ssize_t more = read(file.get(), bytes.data() + had, bytes.size() - had);
    if (more < 0 && errno != EINTR) {
      return Failed("read", errno, Effect::kNone);
    }
    if (more == 0 || had == bytes.size()) {
      break;
    }
    had += more > 0 ? static_cast<size_t>(more) : 0;
  }
  if (had > kLongestText) {
    return Error{Code::kCorrupt, Effect::kNone, "switch record: the file is too long to be ours"};
  }
  bytes.resize(had);
  return std::optional(std::move(bytes));
}

class FileSwitchStore final : public SwitchStore {
 public:
  FileSwitchStore(fs::path directory, const std::string& name)
      : directory_(std::move(directory)),
        record_("record." + name),
        lock_("lock." + name),
        word_("word." + name + ".") {}

  Result<Text> Read() override {
    const auto bytes = Contents(directory_ / record_);
    if (!bytes) {
      return bytes.error();
    }
    if (!*bytes) {
      return Text{};
    }
    const size_t end = (*bytes)->find('\n');
    const auto version =
        end == std::string::npos ? std::nullopt : ParseDecimal((*bytes)->substr(0, end));
    // One that cannot be counted on is nobody's either.
    if (!version || *version < 1 || *version == std::numeric_limits<int64_t>::max()) {
      return Error{Code::kCorrupt, Effect::kNone, "switch record: this file is not ours"};
    }
    return Text{(*bytes)->substr(end + 1), static_cast<uint64_t>(*version)};
  }

  Result<bool> Swap(std::string_view text, uint64_t version) override {
    const File lock(directory_ / lock_, O_RDWR | O_CREAT);
    if (lock.get() < 0) {
      return Failed("lock", errno, Effect::kNone);
    }
    for (int tries = 0; flock(lock.get(), LOCK_EX | LOCK_NB) != 0; tries++) {
      if (tries == kTries) {
        return Failed("lock", errno, Effect::kNone);
      }
      SleepFor(kBetweenTries);  // a swap takes less than that
    }
    const auto now = Read();
    if (!now) {
      return now.error();
    }
    if (now->version != version) {
      return false;
    }
    const Status done =
        Replace(record_, std::to_string(version + 1) + "\n" + std::string(text), true);
    return done ? Result<bool>(true) : done.error();
  }

  Status Await(uint64_t version, BootTime until, const std::stop_token& stop) override {
    return AwaitByPolling(version, until, stop, kPollInterval);
  }

  Status Say(std::string_view who, std::string_view word) override {
    return Replace(word_ + HexOfBytes(who), std::string(word), false);
  }

  Result<std::map<std::string, std::string>> Hear() override {
    std::map<std::string, std::string> said;
    std::error_code failed;
    for (fs::directory_iterator at(directory_, failed), end; !failed && at != end;
         at.increment(failed)) {
      const std::string name = at->path().filename().string();
      const auto who =
          name.starts_with(word_) ? BytesOfHex(name.substr(word_.size())) : std::nullopt;
      if (!who || said.size() == kMostWords) {
        continue;
      }
      const auto word = Contents(at->path());
      if (!word && word.error().code != Code::kCorrupt) {
        return word.error();
      }
      // What is no word is nobody's, and makes nobody deaf.
      if (word && *word) {
        said.emplace(*who, **word);
      }
    }
    if (failed) {
      return Failed("list", failed.value(), Effect::kNone);
    }
    return said;
  }

  Status Bury(std::string_view who) override {
    if (unlink((directory_ / (word_ + HexOfBytes(who))).c_str()) != 0 && errno != ENOENT) {
      return Failed("remove", errno, Effect::kNone);
    }
    return {};
  }

 private:
  // The whole file at once; `lasting`: also across a loss of power.
  Status Replace(const std::string& name, const std::string& bytes, bool lasting) {
    const fs::path draft = directory_ / ("draft." + Hex(SecureRandom64()));
    const Status done = ReplaceBy(draft, directory_ / name, bytes, lasting);
    if (!done) {
      unlink(draft.c_str());
    }
    return done;
  }

  Status ReplaceBy(const fs::path& draft, const fs::path& path, const std::string& bytes,
                   bool lasting) const {
    {
      const File file(draft, O_WRONLY | O_CREAT | O_EXCL);
      if (file.get() < 0) {
        return Failed("create", errno, Effect::kNone);
      }
      if (write(file.get(), bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()) ||
          (lasting && fsync(file.get()) != 0)) {
        return Failed("write", errno, Effect::kNone);
      }
    }
    if (rename(draft.c_str(), path.c_str()) != 0) {
      return Failed("rename", errno, Effect::kNone);
    }
    const File directory(directory_, O_RDONLY | O_DIRECTORY);
    if (lasting && (directory.get() < 0 || fsync(directory.get()) != 0)) {
      return Failed("write", errno, Effect::kUnknown);
    }
    return {};
  }

  const fs::path directory_;
  const std::string record_;
  const std::string lock_;
  const std::string word_;
};

}  // namespace

Result<std::shared_ptr<SwitchStore>> OpenFileSwitchStore(const std::string& directory,
                                                         const std::string& name) {
  struct stat status {};
  if (directory.empty() || stat(directory.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) {
    return Error{Code::kInvalid, Effect::kNone,
                 "switch record: there is no directory " + directory};
  }
  if (!IsStoreName(name)) {
    return Error{Code::kInvalid, Effect::kNone, "a switchboard is called as stores are"};
  }
  return std::shared_ptr<SwitchStore>(std::make_shared<FileSwitchStore>(directory, name));
}

}  // namespace oncemq
