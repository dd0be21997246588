// SPDX-License-Identifier: Apache-2.0
// OutcomeLog: the record of refused messages, and of those handled without an id (rule 4). It is a
// journal file, or a park topic for each source topic.
//
// **Promise:** an answered entry survives the machine.
//
// **Failure:** an error may have left some of the entries. A second copy of one is the same entry.
//
// **Thread safety:** any thread. Blocks until the record is acknowledged.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "oncemq/base/result.h"
#include "oncemq/framework/batch_machine.h"
#include "source.h"

namespace oncemq {

class OutcomeLog {
 public:
  virtual ~OutcomeLog() = default;

  // The topic of a number, where a window numbers topics by itself.
  virtual void Name(uint32_t source, const std::string& topic) = 0;
  // kInvalid, kNotFound: it takes no entries until a person acts.
  virtual Status Check() { return {}; }
  // Puts the entries on record. Returns the number of the first, the others follow. `view` belongs
  // to the batch.
  virtual Result<uint64_t> Record(std::span<const JournalEntry> entries, MessageView& view) = 0;
};

}  // namespace oncemq
