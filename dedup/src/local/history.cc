// SPDX-License-Identifier: Apache-2.0
#include "history.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "bucket_pages.h"
#include "families.h"
#include "id_page.h"
#include "oncemq/base/check.h"
#include "sealed_row.h"

namespace oncemq {
Status History::Open(bool read_only) {
  Status read;
  Status scanned = store_->Scan(kFacts, kFactsPrefix, kFactsEnd,
                                [&](std::string_view key, std::string_view facts) {
                                  auto bucket = DecodeFacts(key, facts);
                                  if (!bucket) {
                                    read = DamagedHistory("the facts of a bucket");
                                    return false;
                                  }
                                  Add(*std::move(bucket));
                                  return true;
                                });
  if (!scanned || !read) {
    return scanned ? read : scanned;
  }
  const auto next = store_->Get(kFacts, kNextBucketKey);
  if (!next) {
    return next.error();
  }
  if (*next) {
    const auto number = UnsealNumbers<1>(**next);
    if (!number || (*number)[0] < next_ || (*number)[0] > UINT32_MAX) {
      return DamagedHistory("the number of the next bucket");
    }
    next_ = static_cast<uint32_t>((*number)[0]);
  }
  const Status filters = ReadFilters();
  return read_only || !filters ? filters : DropUnknown();
}

Status History::ReadFilters() {
  for (Bucket& bucket : buckets_) {
    if (bucket.filter_rows == 0) {
      continue;
    }
    auto filter = ReadFilter(*store_, bucket.number, bucket.pages, bucket.filter_rows);
    if (!filter) {
      return filter.error();
    }
    bucket.filter = *std::move(filter);
  }
  return {};
}

// Pages without facts: of a bucket that was not finished, or was about to go. Only what is there is
// dropped: a deletion that reached over numbers to come would keep their files from ever going.
Status History::DropUnknown() {
  std::string from;
  for (;;) {
    std::optional<uint64_t> number;
    Status scanned = store_->Scan(kHistory, from, {}, [&](std::string_view key, std::string_view) {
      number = ReadKey(key, 0, 4);
      return false;
    });
    if (!scanned || !number) {
      return scanned;
    }
    const auto known = [&](const Bucket& bucket) { return bucket.number == *number; };
    if (std::none_of(buckets_.begin(), buckets_.end(), known)) {
      next_ = std::max(next_, static_cast<uint32_t>(*number + 1));
      if (Status dropped = DropPagesOf(*number); !dropped) {
        return dropped;
      }
    }
    from = BucketKey(*number + 1);
  }
}

Status History::DropPagesOf(uint64_t number) const {
  return store_->Drop(kHistory, BucketKey(number), BucketKey(number + 1));
}

std::vector<History::Hit> History::PerhapsIn(std::span<const HistoryLookup> lookups) const {
  std::vector<Hit> hits;
  for (uint32_t b = 0; b < buckets_.size(); b++) {
    const Bucket& bucket = buckets_[b];
    for (const HistoryLookup& lookup : lookups) {
      bucket.filter.Prefetch(lookup.hash);
    }
    for (uint32_t i = 0; i < lookups.size(); i++) {
      if (lookups[i].wanted && !lookups[i].record && bucket.filter.MayHave(lookups[i].hash)) {
        hits.push_back({i, b, PageOf(lookups[i].hash, bucket.pages)});
      }
    }
  }
  // In the order of their keys.
  std::sort(hits.begin(), hits.end(), [this](const Hit& a, const Hit& b) {
    const uint32_t first = buckets_[a.bucket].number;
    const uint32_t second = buckets_[b.bucket].number;
    return first != second ? first < second : a.page < b.page;
  });
  return hits;
}

Status History::Find(std::span<HistoryLookup> lookups) const {
  const std::vector<Hit> hits = PerhapsIn(lookups);
  if (hits.empty()) {
    return {};
  }
  std::vector<std::string> keys;
  std::vector<std::string_view> views;
  keys.reserve(hits.size());
  views.reserve(hits.size());
  for (const Hit& hit : hits) {
    keys.push_back(PageKey(buckets_[hit.bucket].number, hit.page));
    views.push_back(keys.back());
  }
  size_t pages = 0;
  bool damaged = false;
  Status read = store_->MultiGet(kHistory, views, [&](size_t index, std::string_view page) {
    HistoryLookup& lookup = lookups[hits[index].lookup];
    const Bucket& bucket = buckets_[hits[index].bucket];
    IdRecord record;
    pages++;
    lookup.pages++;
    switch (FindInPage(page, bucket.base, lookup.hash, lookup.id, lookup.digest, &record)) {
      case PageResult::kFound:
        if (bucket.newest >= lookup.filed) {
          std::string bytes(RecordBytes(record), '\0');
          WriteRecord(record, bytes.data());
          lookup.bytes = std::move(bytes);
          size_t taken = 0;
          lookup.record = ReadRecord(lookup.bytes, &taken);
          lookup.filed = bucket.newest;
        }
        break;
      case PageResult::kMissing:
        break;
      case PageResult::kDamaged:
        damaged = true;
        break;
    }
  });
  if (!read) {
    return read;
  }
  if (damaged || pages != hits.size()) {
    return DamagedHistory(damaged ? "a page cannot be read" : "a page is missing");
  }
  return {};
}

// Every page of a bucket is written, also an empty one: a page that is missing is damage.
Result<Bucket> History::Write(uint32_t number, const RecentIds& ids, LogTime newest,
                              const Reach& reach) const {
  Bucket bucket{.number = number,
                .pages = static_cast<uint32_t>(ids.size() / kIdsPerPage + 1),
                .ids = ids.size(),
                .newest = newest,
                .reach = reach,
                .filter = IdFilter(ids.size()),
                .oldest = newest};
  const std::vector<RecentIds::Sorted> sorted = ids.Sort();
  // Most offsets lie near each other; one of them is as good a base as any.
  bucket.base = sorted.empty() ? 0 : ids.At(sorted[sorted.size() / 2].slot).at.offset;
  size_t at = 0;
  uint32_t page = 0;
  const Status written = store_->Ingest(kHistory, [&](std::string& key, std::string& value) {
    if (page == bucket.pages) {
      return false;
    }
    IdPageBuilder builder(bucket.base);
    for (; at < sorted.size() && PageOf(sorted[at].hash, bucket.pages) == page; at++) {
      builder.Add(sorted[at].hash, ids.At(sorted[at].slot));
      bucket.filter.Add(sorted[at].hash);
    }
    key = PageKey(bucket.number, page++);
    value = builder.Finish();
    return true;
  });
  if (!written) {
    return written.error();
  }
  return bucket;
}

Status History::WriteFacts(const Bucket& bucket, RocksBatch& with) const {
  with.Put(kFacts, FactsKey(bucket.number), EncodeFacts(bucket));
  MutexLock lock(facts_mutex_);
  next_on_disk_ = std::max(next_on_disk_, uint64_t{bucket.number} + 1);
  // Numbers are not used again: deletions of a former bucket lie over its number.
  with.Put(kFacts, kNextBucketKey, SealNumbers({next_on_disk_}));
  return store_->Write(with, /*sync=*/true);
}

void History::Add(Bucket bucket) {
  next_ = std::max(next_, bucket.number + 1);
  // Of equal times the larger first: it was merged of the older ones.
  const auto before = [](const Bucket& one, const Bucket& other) {
    return std::tuple(one.newest, other.ids, one.number) <
           std::tuple(other.newest, one.ids, other.number);
  };
  const auto at = std::lower_bound(buckets_.begin(), buckets_.end(), bucket, before);
  buckets_.insert(at, std::move(bucket));
}

History::Aged History::TakeAged(LogTime limit, const ProgressTable& progress) {
  Aged aged;
  for (Bucket& bucket : buckets_) {
    if (bucket.newest < limit && bucket.going == Bucket::Going::kNo &&
        progress.Passed(bucket.reach)) {
      bucket.going = Bucket::Going::kForgotten;
      aged.buckets.push_back(bucket.number);
      aged.newest = std::max(aged.newest, bucket.newest);
    }
  }
  return aged;
}

Status History::ForgetFacts(const Aged& aged, RocksBatch& with) const {
  for (const uint32_t number : aged.buckets) {
    with.Delete(kFacts, FactsKey(number));
  }
  return store_->Write(with, /*sync=*/true);
}

void History::ForgetBuckets(const Aged& aged) {
  const size_t gone = std::erase_if(buckets_, [&](const Bucket& bucket) {
    return std::find(aged.buckets.begin(), aged.buckets.end(), bucket.number) != aged.buckets.end();
  });
  ONCEMQ_CHECK(gone == aged.buckets.size(), "a bucket that is being forgotten is not merged");
}

Status History::DropPages(const Aged& aged) const {
  for (const uint32_t number : aged.buckets) {
    if (Status gone = DropPagesOf(number); !gone) {
      return gone;
    }
  }
  return {};
}

uint64_t History::ids() const {
  uint64_t sum = 0;
  for (const Bucket& bucket : buckets_) {
    sum += bucket.ids;
  }
  return sum;
}

size_t History::memory_bytes() const {
  size_t sum = 0;
  for (const Bucket& bucket : buckets_) {
    sum += bucket.filter.bytes().size();
  }
  return sum;
}

}  // namespace oncemq
