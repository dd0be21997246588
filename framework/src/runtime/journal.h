// SPDX-License-Identifier: Apache-2.0
// Journal: the record of messages that were refused for good, and of those that were handled
// without an id (rule 4). A text file that only grows, one JSON object a line (docs/formats.md):
//
//   {"v":1,"entry":7,"topic":"payments","partition":3,"offset":1042,"id":"p-17","why":"no payment"}
//
// A handled one has "outcome":"passed" before its "why".
// Never a payload. An id that is not plain text stands as "id_hex".
// Promise: what Append() answered survives the machine; entry numbers go on where the file ended. A
// line that was torn by a crash was never answered, and is cut off. One journal has one writer, in
// all processes: the file stays locked while it is open.
//
// Thread safety: any thread; one lock around each batch. Blocks: for one fsync.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "oncemq/base/mutex.h"
#include "oncemq/base/result.h"
#include "outcome_log.h"

namespace oncemq {

class Journal final : public OutcomeLog {
 public:
  // `topics` by Coordinates::source. kCorrupt: the file is not a journal of ours. kInvalid: another
  // member has it open, or it is no ordinary file.
  static Result<std::unique_ptr<Journal>> Open(const std::string& path,
                                               std::vector<std::string> topics);
  ~Journal() override;
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  void Name(uint32_t source, const std::string& topic) override;
  Result<uint64_t> Record(std::span<const JournalEntry> entries, MessageView& /*view*/) override {
    return Append(entries);
  }
  Result<uint64_t> Append(std::span<const JournalEntry> entries);

 private:
  Journal(int fd, std::string path, std::vector<std::string> topics, uint64_t next, int64_t end)
      : fd_(fd), path_(std::move(path)), topics_(std::move(topics)), next_(next), end_(end) {}

  const int fd_;
  const std::string path_;
  Mutex mutex_;
  std::vector<std::string> topics_ GUARDED_BY(mutex_);
  uint64_t next_ GUARDED_BY(mutex_);
  int64_t end_ GUARDED_BY(mutex_);  // bytes that are surely whole lines
};

}  // namespace oncemq
