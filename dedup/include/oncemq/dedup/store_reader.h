// SPDX-License-Identifier: Apache-2.0
// StoreReader: a look into the store of a window on disk that nobody holds.
//
// Promise: nothing is written, not even a lock; the next owner finds the store as it was left. What
// it shows is what an opening would find, damage included. Memory as for the window itself.
// Failure: kUnavailable while a process holds the store, and its number is told; kNotFound where
// there is none; kCorrupt says what is damaged; kInvalid in a process that holds a store of its
// own: its lock would be lost with the look at another's.
//
// Thread safety: any thread. Blocks: for the disk.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "oncemq/base/clock.h"
#include "oncemq/base/result.h"
#include "oncemq/dedup/store_stat.h"

namespace oncemq {

class StoreReader {
 public:
  static Result<std::unique_ptr<StoreReader>> Open(const std::string& directory,
                                                   const Clock& clock);
  virtual ~StoreReader() = default;

  virtual Result<StoreStat> Stat() = 0;
  // As Window::Peek(). Claims of the process that is gone are nobody's.
  virtual Status Peek(std::span<const std::string_view> ids, std::span<MarkerView> views) = 0;
  // As Window::ListUncertain(), with the name of the topic.
  virtual Result<std::vector<UncertainRecord>> ListUncertain(WallTime since) = 0;
};

// The directories of the stores that lie there: of one, of a topic, or <topic>/<partition> of
// OpenPartitionWindows(), by name and number.
std::vector<std::string> FindStores(const std::string& directory);

// Admin socket of the process that holds a store, as it says (LocalWindowOptions::admin_socket), or
// empty. It means nothing while the store is free.
std::string AdminSocketOf(const std::string& directory);

}  // namespace oncemq
