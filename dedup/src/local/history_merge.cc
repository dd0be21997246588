// SPDX-License-Identifier: Apache-2.0
// What a history does to make several buckets one (docs/adr/0011).
#include <algorithm>
#include <utility>

#include "bucket_pages.h"
#include "history.h"
#include "oncemq/base/check.h"

namespace oncemq {
namespace {

bool IsPart(const History::Merge& merge, uint32_t number) {
  return std::any_of(merge.parts.begin(), merge.parts.end(),
                     [&](const BucketPart& part) { return part.number == number; });
}

}  // namespace

std::optional<History::Merge> History::ChooseMerge(const MergeRules& rules) {
  std::vector<BucketSize> sizes;
  sizes.reserve(buckets_.size());
  for (const Bucket& bucket : buckets_) {
    sizes.push_back({.ids = bucket.ids,
                     .oldest = bucket.oldest,
                     .newest = bucket.newest,
                     .taken = bucket.going != Bucket::Going::kNo});
  }
  const auto run = oncemq::ChooseMerge(sizes, rules);
  if (!run) {
    return std::nullopt;
  }
  Merge merge{.number = TakeNumber()};
  for (size_t i = run->first; i < run->first + run->count; i++) {
    const Bucket& bucket = buckets_[i];
    merge.parts.push_back({bucket.number, bucket.pages, bucket.ids, bucket.base});
    merge.oldest = i == run->first ? bucket.oldest : std::min(merge.oldest, bucket.oldest);
    merge.newest = std::max(merge.newest, bucket.newest);
    for (const Coordinates& top : bucket.reach.tops()) {
      merge.reach.Note(top);
    }
  }
  return merge;
}

Result<Bucket> History::WriteMerged(const Merge& merge, const KeyedHash& hasher,
                                    const std::atomic<bool>& stop) const {
  uint64_t bytes = 0;
  for (const BucketPart& part : merge.parts) {
    bytes += store_->FileBytes(kHistory, BucketKey(part.number), BucketKey(part.number + 1ull));
  }
  const auto free = store_->FreeBytes();
  if (free && *free / 2 < bytes) {
    return Error{Code::kFull, Effect::kNone,
                 "merging " + std::to_string(bytes) + " bytes needs twice the room, and " +
                     std::to_string(*free) + " bytes are free"};
  }
  const int64_t base = merge.parts[merge.parts.size() / 2].base;
  auto pages = MergePages(*store_, merge.parts, merge.number, base, hasher, stop);
  if (!pages) {
    return pages.error();
  }
  return Bucket{.number = merge.number,
                .pages = pages->pages,
                .ids = pages->ids,
                .newest = merge.newest,
                .base = base,
                .reach = merge.reach,
                .filter = std::move(pages->filter),
                .oldest = merge.oldest,
                .filter_rows = pages->filter_rows};
}

bool History::IsComplete(const Merge& merge) const {
  const auto present = std::count_if(buckets_.begin(), buckets_.end(), [&](const Bucket& bucket) {
    const bool stays = bucket.going == Bucket::Going::kNo;
    return stays && IsPart(merge, bucket.number);
  });
  return static_cast<size_t>(present) == merge.parts.size();
}

bool History::TakeFor(const Merge& merge) {
  if (!IsComplete(merge)) {
    return false;
  }
  for (Bucket& bucket : buckets_) {
    if (IsPart(merge, bucket.number)) {
      bucket.going = Bucket::Going::kMerged;
    }
  }
  return true;
}

Status History::WriteMergedFacts(const Merge& merge, const Bucket& merged) const {
  RocksBatch batch = store_->NewBatch();
  for (const BucketPart& part : merge.parts) {
    batch.Delete(kFacts, FactsKey(part.number));
  }
  return WriteFacts(merged, batch);
}

void History::Replace(const Merge& merge, Bucket merged) {
  const size_t gone =
      std::erase_if(buckets_, [&](const Bucket& bucket) { return IsPart(merge, bucket.number); });
  ONCEMQ_CHECK(gone == merge.parts.size(), "a bucket that is being merged is not forgotten");
  Add(std::move(merged));
  merges_++;
}

Status History::DropPages(const Merge& merge) const {
  for (const BucketPart& part : merge.parts) {
    if (Status gone = DropPagesOf(part.number); !gone) {
      return gone;
    }
  }
  return {};
}

}  // namespace oncemq
