// SPDX-License-Identifier: Apache-2.0
#include "oncemq/clients/rocks_store.h"

#include <rocksdb/convenience.h>
#include <rocksdb/sst_file_reader.h>
#include <rocksdb/sst_file_writer.h>

#include <filesystem>

#include "rocks_impl.h"

namespace oncemq {

RocksBatch::RocksBatch(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
RocksBatch::RocksBatch(RocksBatch&&) noexcept = default;
RocksBatch& RocksBatch::operator=(RocksBatch&&) noexcept = default;
RocksBatch::~RocksBatch() = default;

void RocksBatch::Put(size_t family, std::string_view key, std::string_view value) {
  impl_->Keep(impl_->batch.Put(impl_->Handle(family), AsSlice(key), AsSlice(value)));
}

void RocksBatch::Delete(size_t family, std::string_view key) {
  impl_->Keep(impl_->batch.Delete(impl_->Handle(family), AsSlice(key)));
}

void RocksBatch::DeleteRange(size_t family, std::string_view from, std::string_view to) {
  impl_->Keep(impl_->batch.DeleteRange(impl_->Handle(family), AsSlice(from), AsSlice(to)));
}

void RocksBatch::Clear() {
  impl_->batch.Clear();
  impl_->status = rocksdb::Status::OK();
}

size_t RocksBatch::bytes() const {
  return impl_->batch.GetDataSize();
}

RocksStore::RocksStore(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
RocksStore::~RocksStore() = default;

RocksBatch RocksStore::NewBatch() const {
  auto batch = std::make_unique<RocksBatch::Impl>();
  batch->handles = &impl_->handles;
  return RocksBatch(std::move(batch));
}

Status RocksStore::Write(RocksBatch& batch, bool sync) {
  if (Status usable = impl_->Usable(); !usable) {
    return usable;
  }
  if (!batch.impl_->status.ok()) {
    return impl_->Failed(batch.impl_->status, Effect::kNone);
  }
  rocksdb::Status status = impl_->database->Write({}, &batch.impl_->batch);
  if (status.ok() && impl_->log_order->failed()) {
    status = rocksdb::Status::IOError("a log cannot be synced");
  }
  if (!status.ok()) {
    return impl_->Broken(status);
  }
  batch.Clear();
  const uint64_t number = impl_->database->GetLatestSequenceNumber();
  // Not as a part of the write: the writes of others would wait behind it.
  Status synced = sync ? impl_->SyncLog() : Status();
  if (synced) {
    impl_->Acknowledge(number);
  }
  return synced;
}

Status RocksStore::Sync() {
  if (Status usable = impl_->Usable(); !usable) {
    return usable;
  }
  return impl_->SyncLog();
}

uint64_t RocksStore::acknowledged() const {
  return impl_->acknowledged;
}

bool RocksStore::unread() const {
  return impl_->careful->unread();
}

// A process goes on with files that were moved away: the lock guards a place where nobody looks,
// and what it stands for is missing where everybody does.
Status RocksStore::CheckPlace() {
  struct stat now {};
  const struct stat& then = impl_->lock_file;
  if (impl_->StatLock(now) && now.st_dev == then.st_dev && now.st_ino == then.st_ino) {
    return {};
  }
  impl_->broken = true;
  return Error{Code::kUnavailable, Effect::kNone,
               impl_->directory + ": was moved, removed or replaced while it was in use"};
}

Status RocksStore::Impl::SyncLog() {
  MutexLock lock(sync_mutex);
  if (Status usable = Usable(); !usable) {
    // The system tells of what it could not write once: a sync that finds nothing to do is no
    // proof.
    return Error{Code::kUnavailable, Effect::kUnknown, usable.error().message};
  }
  // Taken before: surely covered.
  const uint64_t number = database->GetLatestSequenceNumber();
  if (const rocksdb::Status status = careful->SyncLog(*database); !status.ok()) {
    return Broken(status);
  }
  Status marked = MarkSynced(number);
  broken = broken || !marked;
  return marked;
}

Result<std::optional<std::string>> RocksStore::Get(size_t family, std::string_view key) {
  std::string value;
  const rocksdb::Status status =
      impl_->database->Get({}, impl_->Handle(family), AsSlice(key), &value);
  if (Status readable = impl_->Readable(); !readable) {
    return readable.error();
  }
  if (status.IsNotFound()) {
    return std::optional<std::string>();
  }
  if (!status.ok()) {
    return impl_->Failed(status, Effect::kNone);
  }
  return std::optional(std::move(value));
}

Status RocksStore::MultiGet(
    size_t family, std::span<const std::string_view> keys,
    const std::function<void(size_t index, std::string_view value)>& found) {
  const size_t count = keys.size();
  std::vector<rocksdb::Slice> slices;
  slices.reserve(count);
  for (const std::string_view key : keys) {
    slices.push_back(AsSlice(key));
  }
  std::vector<rocksdb::PinnableSlice> values(count);
  std::vector<rocksdb::Status> statuses(count);
  impl_->database->MultiGet({}, impl_->Handle(family), count, slices.data(), values.data(),
                            statuses.data(), /*sorted_input=*/true);
  if (Status readable = impl_->Readable(); !readable) {
    return readable;
  }
  for (size_t i = 0; i < count; i++) {
    if (statuses[i].ok()) {
      found(i, AsView(values[i]));
    } else if (!statuses[i].IsNotFound()) {
      return impl_->Failed(statuses[i], Effect::kNone);
    }
  }
  return {};
}

Status RocksStore::Scan(
    size_t family, std::string_view from, std::string_view to,
    const std::function<bool(std::string_view key, std::string_view value)>& visit) {
  rocksdb::ReadOptions options;
  const rocksdb::Slice end = AsSlice(to);
  if (!to.empty()) {
    options.iterate_upper_bound = &end;
  }
  options.fill_cache = false;
  const std::unique_ptr<rocksdb::Iterator> rows(
      impl_->database->NewIterator(options, impl_->Handle(family)));
  for (rows->Seek(AsSlice(from)); rows->Valid(); rows->Next()) {
    if (!visit(AsView(rows->key()), AsView(rows->value()))) {
      return {};
    }
  }
  if (!rows->status().ok()) {
    return impl_->Failed(rows->status(), Effect::kNone);
  }
  return impl_->Readable();
}

Status RocksStore::Ingest(size_t family, const Rows& next) {
  Status ingested = IngestDraft(
      family, [&](std::string& key, std::string& value) { return Result<bool>(next(key, value)); });
  impl_->broken = impl_->broken || !ingested;
  return ingested;
}

Status RocksStore::IngestDraft(size_t family, const DraftRows& next) {
  if (Status usable = impl_->Usable(); !usable) {
    return usable;
  }
  const std::string path = impl_->directory + "/" + std::string(kIngestPrefix) +
                           std::to_string(impl_->next_file.fetch_add(1));
  std::error_code failed;
  std::filesystem::remove(path, failed);
  if (failed) {  // it may be another name of a file that the store has
    return Error{Code::kUnavailable, Effect::kNone, path + ": " + failed.message()};
  }
  const Result<bool> any = impl_->WriteFile(family, path, next);
  Status taken = any && *any ? TakeIn(family, path) : any ? Status() : Status(any.error());
  std::error_code ignored;
  std::filesystem::remove(path, ignored);
  return taken;
}

// False: there were no rows, and there is no file to be taken in.
Result<bool> RocksStore::Impl::WriteFile(size_t family, const std::string& path,
                                         const DraftRows& next) const {
  // The writer drops a file from the page cache by default, and the first reads would pay for it.
  rocksdb::SstFileWriter writer(rocksdb::EnvOptions(), file_options, Handle(family),
                                /*invalidate_page_cache=*/false);
  rocksdb::Status status = writer.Open(path);
  std::string key;
  std::string value;
  bool any = false;
  while (status.ok()) {
    const Result<bool> more = next(key, value);
    if (!more) {
      return more.error();
    }
    if (!*more) {
      break;
    }
    status = writer.Put(key, value);
    any = true;
  }
  if (status.ok() && any) {
    status = writer.Finish();
  }
  if (!status.ok()) {
    return Failed(status, Effect::kNone);
  }
  return any;
}

Status RocksStore::TakeIn(size_t family, const std::string& path) {
  rocksdb::IngestExternalFileOptions options;
  options.move_files = true;
  const rocksdb::Status status =
      impl_->database->IngestExternalFile(impl_->Handle(family), {path}, options);
  return status.ok() ? Status() : Status(impl_->Broken(status));
}

uint64_t RocksStore::FileBytes(size_t family, std::string_view from, std::string_view to) const {
  const rocksdb::Range range(AsSlice(from), AsSlice(to));
  uint64_t bytes = 0;
  rocksdb::SizeApproximationOptions options;
  options.include_files = true;
  const rocksdb::Status status =
      impl_->database->GetApproximateSizes(options, impl_->Handle(family), &range, 1, &bytes);
  return status.ok() ? bytes : 0;
}

std::optional<uint64_t> RocksStore::FreeBytes() const {
  std::error_code failed;
  const auto space = std::filesystem::space(impl_->directory, failed);
  return failed ? std::nullopt : std::optional<uint64_t>(space.available);
}

Status RocksStore::Drop(size_t family, std::string_view from, std::string_view to) {
  if (Status usable = impl_->Usable(); !usable) {
    return usable;
  }
  const rocksdb::Slice begin = AsSlice(from);
  const rocksdb::Slice end = AsSlice(to);
  const rocksdb::Status files = rocksdb::DeleteFilesInRange(
      impl_->database.get(), impl_->Handle(family), &begin, &end, false);
  if (!files.ok()) {
    return impl_->Broken(files);
  }
  bool any = false;  // what is not in files of its own
  Status left = Scan(family, from, to, [&](std::string_view, std::string_view) {
    any = true;
    return false;
  });
  if (!left || !any) {
    return left;
  }
  RocksBatch batch = NewBatch();
  batch.DeleteRange(family, from, to);
  return Write(batch, /*sync=*/false);
}

Status RocksStore::Flush(size_t family) {
  if (Status usable = impl_->Usable(); !usable) {
    return usable;
  }
  const rocksdb::Status status = impl_->database->Flush({}, impl_->Handle(family));
  if (!status.ok()) {
    return impl_->Broken(status);
  }
  return {};
}

// An iterator of RocksDB 7.8 may pass over a damaged block as if it had been empty, so whoever
// scans a family checks its files first.
Status RocksStore::Verify(size_t family) {
  if (!impl_->held) {
    return impl_->VerifyFiles(family);
  }
  // A compaction must not take a file away while it is read.
  if (const rocksdb::Status kept = impl_->database->DisableFileDeletions(); !kept.ok()) {
    return impl_->Failed(kept, Effect::kNone);
  }
  Status sound = impl_->VerifyFiles(family);
  const rocksdb::Status again = impl_->database->EnableFileDeletions(/*force=*/false);
  return !sound || again.ok() ? sound : Status(impl_->Failed(again, Effect::kNone));
}

Status RocksStore::Impl::VerifyFiles(size_t family) const {
  std::vector<rocksdb::LiveFileMetaData> files;
  database->GetLiveFilesMetaData(&files);
  const std::string name = Handle(family)->GetName();
  for (const rocksdb::LiveFileMetaData& file : files) {
    if (file.column_family_name != name) {
      continue;
    }
    rocksdb::SstFileReader reader(file_options);
    rocksdb::Status status = reader.Open(file.db_path + file.name);
    if (status.ok()) {
      status = reader.VerifyChecksum();
    }
    if (!status.ok()) {
      return Failed(status, Effect::kNone);
    }
  }
  return {};
}

}  // namespace oncemq
