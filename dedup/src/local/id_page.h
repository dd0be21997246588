// SPDX-License-Identifier: Apache-2.0
// IdPage: about 64 finished ids of the history in one value, found by a tag of their hash. One row
// for each id would cost four times as much to look up (docs/formats.md, "Pages of the history").
//
// Promise: decoding is total: any bytes give the record, say that it is not there, or say that the
// page is damaged.
//
// Thread safety: none needed, values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "id_record.h"

namespace oncemq {

// Collects the records of one page.
class IdPageBuilder {
 public:
  // Offsets are counted from `base`, which the pages of a bucket share.
  explicit IdPageBuilder(int64_t base) : base_(base) {}
  void Add(uint64_t hash, const IdRecord& record);
  // The page, and the builder is empty again.
  std::string Finish();

 private:
  const int64_t base_;
  std::string tags_;
  std::string records_;
};

enum class PageResult : uint8_t { kFound, kMissing, kDamaged };

// Looks for an id. Views of `found` lie in the page.
PageResult FindInPage(std::string_view page, int64_t base, uint64_t hash, std::string_view id,
                      bool digest, IdRecord* found);

// Every record of a page, in the order in which it was added. Views lie in the page.
class IdPageReader {
 public:
  // `base` as for the page's builder.
  IdPageReader(std::string_view page, int64_t base);

  // False: there is none left, or damage.
  bool Next(IdRecord* record);
  // Of the record that was read last.
  bool MayHaveHash(uint64_t hash) const;
  bool damaged() const { return damaged_; }

 private:
  int64_t base_;
  std::string_view tags_;
  std::string_view rest_;
  size_t read_ = 0;
  bool damaged_ = false;
};

}  // namespace oncemq
