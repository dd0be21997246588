// SPDX-License-Identifier: Apache-2.0
// How a store is opened, to be used or only to be read, and who holds one.
#include <fcntl.h>
#include <rocksdb/cache.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <iterator>
#include <system_error>

#include "rocks_impl.h"
#include "rocks_setup.h"

namespace oncemq {
namespace {

// Debian's RocksDB has no code for it, only these words.
bool HeldBySomebody(const rocksdb::Status& status) {
  const std::string text = status.ToString();
  return text.find("While lock file") != std::string::npos ||
         text.find("lock hold by current process") != std::string::npos;
}

// A file that was taken in has two names for a moment. A process that is killed there leaves the
// first one, and who wrote to it again would write into the store's own file.
void RemoveNames(const std::string& directory) {
  std::error_code ignored;
  for (std::filesystem::directory_iterator entry(directory, ignored), end; entry != end && !ignored;
       entry.increment(ignored)) {
    const std::string name = entry->path().filename().string();
    const bool options = name.starts_with("OPTIONS-") && name.ends_with(".dbtmp");
    if (name.starts_with(kIngestPrefix) || options) {
      std::error_code failed;
      std::filesystem::remove(entry->path(), failed);
    }
  }
}

// What is missing of it, for its owner alone: ids, effects and the secret for long ids are in the
// files, and RocksDB makes those for everybody. The mode is given with the name, so there is no
// moment before it.
std::error_code MakeFolders(const std::filesystem::path& directory) {
  std::error_code failed;
  std::filesystem::path folder;
  for (const std::filesystem::path& name : directory) {
    folder /= name;
    if (std::filesystem::is_directory(folder, failed)) {
      continue;
    }
    if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
      return {errno, std::system_category()};
    }
  }
  failed.clear();
  const bool there = std::filesystem::is_directory(directory, failed);
  return failed || there ? failed : std::make_error_code(std::errc::not_a_directory);
}

// Until a person comes; a full disk does not. ENOENT: each folder is made in one that is there, so
// the file system takes none, as /proc.
bool Lasts(const std::error_code& failed) {
  constexpr int kLasting[] = {EACCES, EPERM, ENOTDIR, EROFS, ENOENT, ENAMETOOLONG, ELOOP, EINVAL};
  return std::find(std::begin(kLasting), std::end(kLasting), failed.value()) != std::end(kLasting);
}

// By the effective user of this process.
std::error_code Writable(const std::filesystem::path& folder) {
  const bool may = faccessat(AT_FDCWD, folder.c_str(), W_OK | X_OK, AT_EACCESS) == 0;
  return may ? std::error_code() : std::error_code(errno, std::system_category());
}

// `place`: the directory, or the folder that it is to be made in.
Status FolderStatus(const std::string& directory, const std::string& place,
                    const std::error_code& failed) {
  if (failed) {
    return Error{
        Lasts(failed) ? Code::kInvalid : Code::kUnavailable, Effect::kNone,
        directory + ": no store can be made there, or none written to: " + failed.message()};
  }
  if (OnNetwork(place)) {
    return Error{Code::kInvalid, Effect::kNone,
                 directory +
                     ": on a network file system (or FUSE) neither the lock nor a sync is proof; "
                     "use a local disk"};
  }
  return {};
}

}  // namespace

// True: nothing of it was ever synced, so whatever is missing may be made.
Result<bool> RocksStore::Impl::OpenMark() {
  std::error_code failed;
  const bool store = std::filesystem::exists(directory + "/CURRENT", failed) || failed;
  MutexLock lock(mark_mutex);
  if (Status opened = mark.Open(directory, !store); !opened) {
    return opened.error();
  }
  return mark.number() == 0;
}

rocksdb::Status RocksStore::Impl::OpenDatabase(const RocksOptions& options,
                                               const rocksdb::DBOptions& asked) {
  constexpr size_t kOwnCache = size_t{64} << 20;
  constexpr size_t kOwnBuffers = size_t{512} << 20;
  const std::shared_ptr<RocksMemory> memory =
      options.memory != nullptr ? options.memory : NewRocksMemory(kOwnCache, kOwnBuffers);
  std::vector<rocksdb::ColumnFamilyDescriptor> families;
  for (const RocksFamily& family : options.families) {
    families.emplace_back(family.name, ToFamily(family, memory->cache));
  }
  rocksdb::DBOptions settings = asked;
  settings.write_buffer_manager = memory->buffers;
  settings.env = env.get();
  file_options = rocksdb::Options(settings, families.front().options);
  rocksdb::DB* opened = nullptr;
  const rocksdb::Status status =
      held ? rocksdb::DB::Open(settings, directory, families, &handles, &opened)
           : rocksdb::DB::OpenForReadOnly(settings, directory, families, &handles, &opened);
  database.reset(opened);
  if (status.ok()) {
    careful->NoteOpened();
  } else {
    held = false;
  }
  stores_held += held ? 1 : 0;
  return status;
}

Status RocksStore::Impl::CheckComplete() {
  MutexLock lock(mark_mutex);
  // Now that the store is ours: its former holder may have synced on since it was looked at.
  if (Status marked = held ? mark.Reread() : Status(); !marked) {
    return marked;
  }
  const uint64_t last = database->GetLatestSequenceNumber();
  if (last < mark.number()) {
    return Error{Code::kCorrupt, Effect::kNone,
                 directory + ": changes " + std::to_string(last + 1) + " to " +
                     std::to_string(mark.number()) +
                     " were synced and are gone: the log or a file of the store is damaged"};
  }
  return {};
}

Status RocksStore::MakeDirectory(const std::string& directory) {
  std::error_code failed = MakeFolders(directory);
  if (!failed) {
    failed = Writable(directory);
  }
  return FolderStatus(directory, directory, failed);
}

Status RocksStore::CheckDirectory(const std::string& directory) {
  std::error_code ignored;
  std::filesystem::path nearest = std::filesystem::absolute(directory, ignored);
  while (!std::filesystem::exists(nearest, ignored) && nearest.has_relative_path()) {
    nearest = nearest.parent_path();
  }
  std::error_code failed = Writable(nearest);
  if (!std::filesystem::is_directory(nearest, ignored)) {
    failed = std::make_error_code(std::errc::not_a_directory);
  } else if (!failed && TakesNoFiles(nearest)) {
    failed = std::make_error_code(std::errc::no_such_file_or_directory);
  }
  return FolderStatus(directory, nearest, failed);
}

Result<std::unique_ptr<RocksStore>> RocksStore::Open(const RocksOptions& options) {
  std::error_code failed;
  if (options.exists && !std::filesystem::exists(options.directory + "/CURRENT", failed)) {
    return Error{Code::kNotFound, Effect::kNone,
                 options.directory + ": the store, or its file CURRENT, is gone"};
  }
  // One that became read-only while the store was in use may be mended: RocksDB finds that out.
  const std::error_code unmade = MakeFolders(options.directory);
  if (const Status made = FolderStatus(options.directory, options.directory, unmade); !made) {
    return made.error();
  }
  auto impl = std::make_unique<Impl>();
  impl->directory = options.directory;
  const Result<bool> fresh = impl->OpenMark();
  if (!fresh) {
    return fresh.error();
  }
  rocksdb::DBOptions database = ToDatabase(options);
  // What is missing in a store that was there before is damage, and must not be made anew, empty.
  database.create_if_missing = database.create_missing_column_families = *fresh;
  database.listeners.push_back(impl->log_order);
  impl->held = true;
  const rocksdb::Status status = impl->OpenDatabase(options, database);
  if (status.IsIOError() && HeldBySomebody(status)) {
    return Error{Code::kUnavailable, Effect::kNone,
                 options.directory + ": another process, or another window of this one, holds it"};
  }
  if (!status.ok()) {
    return impl->Failed(status, Effect::kNone);
  }
  impl->log_order->Watch(impl->database.get());
  impl->StatLock(impl->lock_file);
  RemoveNames(options.directory);
  if (Status complete = impl->CheckComplete(); !complete) {
    impl->broken = true;  // nothing may be written over what is left
    return complete.error();
  }
  impl->Acknowledge(impl->database->GetLatestSequenceNumber());
  return std::unique_ptr<RocksStore>(new RocksStore(std::move(impl)));
}

Result<std::unique_ptr<RocksStore>> RocksStore::OpenToRead(const RocksOptions& options) {
  auto impl = std::make_unique<Impl>();
  impl->directory = options.directory;
  {
    MutexLock lock(impl->mark_mutex);
    if (Status marked = impl->mark.OpenToRead(options.directory); !marked) {
      return marked.error();
    }
  }
  const rocksdb::DBOptions settings = ToDatabase(options);
  settings.info_log->SetInfoLogLevel(
      rocksdb::InfoLogLevel::ERROR_LEVEL);  // warnings are its owner's
  if (const rocksdb::Status status = impl->OpenDatabase(options, settings); !status.ok()) {
    return impl->Failed(status, Effect::kNone);
  }
  if (Status complete = impl->CheckComplete(); !complete) {
    return complete.error();
  }
  return std::unique_ptr<RocksStore>(new RocksStore(std::move(impl)));
}

Result<int64_t> RocksStore::HolderOf(const std::string& directory) {
  if (stores_held > 0) {
    return Error{Code::kInvalid, Effect::kNone,
                 "this process holds a store itself, and would lose its lock by looking"};
  }
  const std::string path = directory + "/LOCK";
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0 && errno == ENOENT) {
    return 0;
  }
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  const bool told = file >= 0 && fcntl(file, F_GETLK, &lock) == 0;
  const int error = errno;
  if (file >= 0) {
    close(file);
  }
  if (!told) {
    return Error{Code::kUnavailable, Effect::kNone,
                 path + ": " + std::system_category().message(error)};
  }
  return lock.l_type == F_UNLCK ? 0 : static_cast<int64_t>(lock.l_pid);
}

}  // namespace oncemq
