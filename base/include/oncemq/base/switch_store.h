// SPDX-License-Identifier: Apache-2.0
// SwitchStore: where the record of a switchboard is kept, and what its processes say of themselves.
// It must be linearizable, and never be only in the store that is to be left.
#pragma once

#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>

#include "oncemq/base/clock.h"
#include "oncemq/base/result.h"

namespace oncemq {

// Promise: Swap is one step for everybody, and a Read that was sent after it was answered sees it.
// Every call is bounded in time.
//
// Thread safety: any thread.
class SwitchStore {
 public:
  virtual ~SwitchStore() = default;

  struct Text {
    std::string text;      // empty: nobody has written one
    uint64_t version = 0;  // for Swap
  };
  virtual Result<Text> Read() = 0;
  // False: it was another version, and nothing was changed.
  virtual Result<bool> Swap(std::string_view text, uint64_t version) = 0;
  // Returns when the text may be of another version, at `until`, or when `stop` is requested. A
  // hint: an implementation may sleep through a change, but then until `until` only.
  virtual Status Await(uint64_t version, BootTime until, const std::stop_token& stop) = 0;

  // What each says of itself: overwritten by its next word, kept until it is buried.
  virtual Status Say(std::string_view who, std::string_view word) = 0;
  virtual Result<std::map<std::string, std::string>> Hear() = 0;
  virtual Status Bury(std::string_view who) = 0;

 protected:
  // Await() of a store that tells nothing by itself.
  Status AwaitByPolling(uint64_t version, BootTime until, const std::stop_token& stop,
                        milliseconds poll_interval);
};

// In a directory of a file system that all of its processes share, and that locks and renames as
// POSIX has it: of one host, in the end. It looks for a change four times a second. `name`: of the
// switchboard, as stores are called; a directory keeps several, which know nothing of each other.
// Failure: kInvalid.
Result<std::shared_ptr<SwitchStore>> OpenFileSwitchStore(const std::string& directory,
                                                         const std::string& name = "locks");

}  // namespace oncemq
