// SPDX-License-Identifier: Apache-2.0
#include "zero_pages.h"

#include <sys/mman.h>

#include <cstdint>

namespace oncemq {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;

}  // namespace

// One huge page more than asked for, so that the block can begin at one. What isn't touched isn't
// there.
ZeroPages::ZeroPages(size_t bytes, bool huge) : mapped_bytes_(bytes + kHugePage) {
  void* mapping = mmap(nullptr, mapped_bytes_, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED) {
    return;
  }
  mapping_ = mapping;
  const auto address = reinterpret_cast<uintptr_t>(mapping);
  data_ = static_cast<char*>(mapping) + (kHugePage - address % kHugePage) % kHugePage;
  if (huge && bytes >= kHugePage) {
    // Only advice: without huge pages everything works, slower.
    static_cast<void>(madvise(data_, bytes, MADV_HUGEPAGE));
  }
}

ZeroPages::~ZeroPages() {
  if (mapping_ != nullptr) {
    munmap(mapping_, mapped_bytes_);
  }
}

}  // namespace oncemq
