// SPDX-License-Identifier: Apache-2.0
// ZeroPages: a large block of zeroed memory that costs nothing until it is touched, on huge pages
// where the system has them and the block fills one. A table that is read at random spends most of
// its time on page walks otherwise.
//
// Thread safety: none needed, it is only memory.
#pragma once

#include <cstddef>
#include <utility>

namespace oncemq {

class ZeroPages {
 public:
  ZeroPages() = default;
  // data() is nullptr if the system has no memory to give. `huge`: what is touched takes two MiB at
  // once; for what will be touched anyway.
  explicit ZeroPages(size_t bytes, bool huge = true);
  ZeroPages(ZeroPages&& other) noexcept
      : mapping_(std::exchange(other.mapping_, nullptr)),
        mapped_bytes_(other.mapped_bytes_),
        data_(std::exchange(other.data_, nullptr)) {}
  ZeroPages& operator=(ZeroPages&& other) noexcept {
    std::swap(mapping_, other.mapping_);
    std::swap(mapped_bytes_, other.mapped_bytes_);
    std::swap(data_, other.data_);
    return *this;
  }
  ~ZeroPages();

  char* data() const { return data_; }

 private:
  void* mapping_ = nullptr;
  size_t mapped_bytes_ = 0;
  char* data_ = nullptr;
};

}  // namespace oncemq
