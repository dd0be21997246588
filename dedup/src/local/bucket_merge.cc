// SPDX-License-Identifier: Apache-2.0
#include "bucket_merge.h"

#include <algorithm>

#include "bucket_pages.h"
#include "oncemq/base/check.h"
#include "oncemq/clients/rocks_store.h"
#include "sealed_row.h"

namespace oncemq {
namespace {

constexpr size_t kFileBytes = size_t{32} << 20;
constexpr size_t kFilterRowBytes = size_t{1} << 20;

// The records of one bucket in the order of their hashes.
class BucketCursor {
 public:
  BucketCursor(RocksStore& store, const BucketPart& part, const KeyedHash& hasher)
      : store_(store), part_(part), hasher_(hasher) {}

  // The next record, unless it has ended.
  Status Next() {
    while (!reader_.Next(&record_)) {
      if (reader_.damaged()) {
        return DamagedHistory("a page cannot be read");
      }
      if (Status opened = NextPage(); !opened || ended_) {
        return opened;
      }
    }
    const uint64_t former = hash_;
    hash_ = hasher_(record_.id);
    read_++;
    if (!reader_.MayHaveHash(hash_) || PageOf(hash_, part_.pages) != page_ || hash_ < former) {
      return DamagedHistory("a page holds what belongs elsewhere");
    }
    return {};
  }

  bool ended() const { return ended_; }
  uint64_t hash() const { return hash_; }
  const IdRecord& record() const { return record_; }

 private:
  Status NextPage() {
    if (next_ == pages_.size()) {
      if (first_ + pages_.size() == part_.pages) {
        ended_ = true;
        return read_ == part_.ids ? Status() : Status(DamagedHistory("ids are missing"));
      }
      if (Status read = ReadPages(); !read) {
        return read;
      }
    }
    page_ = first_ + static_cast<uint32_t>(next_);
    reader_ = IdPageReader(pages_[next_++], part_.base);
    return {};
  }

  // By key: an iterator may pass over damage.
  Status ReadPages() {
    constexpr size_t kBytes = size_t{1} << 20;
    constexpr size_t kMostPages = 256;
    size_t bytes = 0;
    for (const std::string& page : pages_) {
      bytes += page.size();
    }
    first_ += static_cast<uint32_t>(pages_.size());
    // As many as came to so many bytes before; the first one alone shows how large they are.
    const size_t fit = pages_.empty() ? 1 : kBytes * pages_.size() / std::max<size_t>(bytes, 1);
    const size_t count =
        std::min<size_t>(std::clamp<size_t>(fit, 1, kMostPages), part_.pages - first_);
    std::vector<std::string> keys;
    std::vector<std::string_view> views;
    keys.reserve(count);
    for (uint32_t i = 0; i < count; i++) {
      views.push_back(keys.emplace_back(PageKey(part_.number, first_ + i)));
    }
    pages_.resize(count);
    next_ = 0;
    size_t found = 0;
    Status read = store_.MultiGet(kHistory, views, [&](size_t index, std::string_view page) {
      pages_[index] = page;
      found++;
    });
    return !read || found == count ? read : Status(DamagedHistory("a page is missing"));
  }

  RocksStore& store_;
  const BucketPart part_;
  const KeyedHash& hasher_;
  std::vector<std::string> pages_;  // from page first_ on
  uint32_t first_ = 0;
  size_t next_ = 0;  // of these
  uint32_t page_ = 0;
  IdPageReader reader_{std::string_view("\0", 1), 0};  // of no records
  IdRecord record_;
  uint64_t hash_ = 0;
  uint64_t read_ = 0;
  bool ended_ = false;
};

class PageMerge {
 public:
  PageMerge(RocksStore& store, std::span<const BucketPart> parts, uint32_t number, int64_t base,
            const KeyedHash& hasher, const std::atomic<bool>& stop)
      : store_(store), number_(number), stop_(stop), builder_(base) {
    for (const BucketPart& part : parts) {
      cursors_.emplace_back(store, part, hasher);
      most_ids_ += part.ids;
    }
    merged_.pages = static_cast<uint32_t>(most_ids_ / kIdsPerPage + 1);
    merged_.filter = IdFilter(most_ids_);
    merged_.filter_rows = static_cast<uint32_t>(
        (merged_.filter.bytes().size() + kFilterRowBytes - 1) / kFilterRowBytes);
  }

  Result<MergedPages> Run() {
    for (BucketCursor& cursor : cursors_) {
      if (Status first = cursor.Next(); !first) {
        return first.error();
      }
    }
    while (row_ < merged_.pages + merged_.filter_rows) {
      size_t bytes = 0;
      Status written =
          store_.IngestDraft(kHistory, [&](std::string& key, std::string& value) -> Result<bool> {
            if (bytes >= kFileBytes || row_ == merged_.pages + merged_.filter_rows) {
              return false;
            }
            if (Status filled = NextRow(value); !filled) {
              return filled.error();
            }
            key = PageKey(number_, row_++);
            bytes += value.size();
            return true;
          });
      if (!written) {
        return written.error();
      }
    }
    return std::move(merged_);
  }

 private:
  Status NextRow(std::string& row) {
    if (stop_) {
      return Error{Code::kUnavailable, Effect::kNone, "the window is being closed"};
    }
    if (row_ >= merged_.pages) {
      const size_t at = size_t{row_ - merged_.pages} * kFilterRowBytes;
      row = Seal(std::string(merged_.filter.bytes().substr(at, kFilterRowBytes)));
      return {};
    }
    for (;;) {
      BucketCursor* least = Least();
      if (least == nullptr || PageOf(least->hash(), merged_.pages) != row_) {
        break;
      }
      if (kept_.Take(least->hash(), least->record())) {
        builder_.Add(least->hash(), least->record());
        merged_.filter.Add(least->hash());
        merged_.ids++;
      }
      if (Status next = least->Next(); !next) {
        return next;
      }
    }
    row = builder_.Finish();
    return {};
  }

  // Of equal hashes the one of the youngest bucket, so that its record is taken.
  BucketCursor* Least() {
    BucketCursor* least = nullptr;
    for (size_t i = cursors_.size(); i-- > 0;) {
      BucketCursor& cursor = cursors_[i];
      if (!cursor.ended() && (least == nullptr || cursor.hash() < least->hash())) {
        least = &cursor;
      }
    }
    return least;
  }

  RocksStore& store_;
  const uint32_t number_;
  const std::atomic<bool>& stop_;
  std::vector<BucketCursor> cursors_;
  uint64_t most_ids_ = 0;
  uint32_t row_ = 0;
  IdPageBuilder builder_;
  IdsOfOneHash kept_;
  MergedPages merged_{.filter = IdFilter(0)};
};

}  // namespace

bool IdsOfOneHash::Take(uint64_t hash, const IdRecord& record) {
  ONCEMQ_CHECK(hash >= hash_, "hashes come in order");
  if (hash != hash_) {
    hash_ = hash;
    count_ = 0;
  }
  for (size_t i = 0; i < count_; i++) {
    const auto& [id, digest] = ids_[i];
    if (id == record.id && digest == record.digest) {
      return false;
    }
  }
  if (count_ == ids_.size()) {
    ids_.emplace_back();
  }
  ids_[count_].first = record.id;
  ids_[count_].second = record.digest;
  count_++;
  return true;
}

Result<MergedPages> MergePages(RocksStore& store, std::span<const BucketPart> parts,
                               uint32_t number, int64_t base, const KeyedHash& hasher,
                               const std::atomic<bool>& stop) {
  return PageMerge(store, parts, number, base, hasher, stop).Run();
}

Result<IdFilter> ReadFilter(RocksStore& store, uint32_t number, uint32_t pages, uint32_t rows) {
  std::string bytes;
  for (uint32_t i = 0; i < rows; i++) {
    const auto row = store.Get(kHistory, PageKey(number, pages + i));
    if (!row) {
      return row.error();
    }
    const auto part = *row ? Unseal(**row) : std::nullopt;
    if (!part || part->size() > kFilterRowBytes ||
        (i + 1 < rows && part->size() < kFilterRowBytes)) {
      return DamagedHistory("the filter of a bucket");
    }
    bytes += *part;
  }
  auto filter = IdFilter::FromBytes(bytes);
  return filter ? Result<IdFilter>(*std::move(filter))
                : Result<IdFilter>(DamagedHistory("the filter of a bucket"));
}

}  // namespace oncemq
