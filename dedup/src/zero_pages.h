// SPDX-License-Identifier: Apache-2.0
// ZeroPages: a large block of zeroed memory that costs nothing until it is touched, on huge pages
// where the system has them. A table that is read at random spends most of its time on page walks
// otherwise.
//
// Thread safety: none needed, it is only memory.
#pragma once

#include <cstddef>
#include <utility>

namespace oncemq {

class ZeroPages {
 public:
  // data() is nullptr if the system has no memory to give.
  explicit ZeroPages(size_t bytes);
  ZeroPages(ZeroPages&& other) noexcept
      : mapping_(std::exchange(other.mapping_, nullptr)),
        mapped_bytes_(other.mapped_bytes_),
        data_(std::exchange(other.data_, nullptr)) {}
  ZeroPages& operator=(ZeroPages&&) = delete;
  ~ZeroPages();

  char* data() const { return data_; }

 private:
  void* mapping_ = nullptr;
  size_t mapped_bytes_;
  char* data_ = nullptr;
};

}  // namespace oncemq
