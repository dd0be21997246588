// SPDX-License-Identifier: Apache-2.0
// HugeAllocator: of a container that is large and read at random. From 1.5 MiB on, its memory
// begins at one and asks the system for them: else most reads would wait for a page walk.
//
// Memory: rounded up to whole huge pages then.
// Failure: std::bad_alloc, as of any allocator.
//
// Thread safety: none needed, it has no state.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdlib>
#include <new>

namespace oncemq {

template <class T>
struct HugeAllocator {
  using value_type = T;

  HugeAllocator() = default;
  template <class U>
  explicit HugeAllocator(const HugeAllocator<U>&) {}

  T* allocate(size_t count) {
    size_t bytes = (count * sizeof(T) + alignof(T) - 1) / alignof(T) * alignof(T);
    const bool huge = bytes >= kHugePage / 4 * 3;
    bytes = huge ? (bytes + kHugePage - 1) / kHugePage * kHugePage : bytes;
    void* memory = std::aligned_alloc(huge ? kHugePage : alignof(T), bytes);
    if (memory == nullptr) {
      throw std::bad_alloc();
    }
    if (huge) {
      // Only advice: without huge pages everything works, slower.
      static_cast<void>(madvise(memory, bytes, MADV_HUGEPAGE));
    }
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, size_t) { std::free(memory); }

  bool operator==(const HugeAllocator&) const = default;

 private:
  static constexpr size_t kHugePage = size_t{2} << 20;
};

}  // namespace oncemq
