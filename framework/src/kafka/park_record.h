// SPDX-License-Identifier: Apache-2.0
// A record of a park topic: an entry with its message, what became of one, or a command. The bytes
// are in docs/formats.md.
#pragma once

#include <librdkafka/rdkafka.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "oncemq/dedup/window.h"
#include "oncemq/framework/batch_machine.h"
#include "oncemq/framework/handler.h"

namespace oncemq {

enum class ParkKind : uint8_t {
  // Entries.
  kParked,
  kFollows,  // a parked message of its key
  kPassed,   // handled without an id, and without a body here
  // The outcome of an entry, by the owner of the partition.
  kAgain,  // redriven, and refused again
  kEnded,  // redriven, and done
  kDropped,
  kAttached,  // a copy of a parked message, not run
  // An owner has begun. Later records of earlier owners count for nothing.
  kOwner,
  // Commands, from a tool.
  kRedrive,
  kDrop,
  kCancel,  // the redrives of a run, before they begin
  kEdit,    // another body of an entry, and so a whole message
};
std::string_view ToString(ParkKind kind);
ParkKind ParkKindOf(RecordKind kind);
constexpr bool IsEntry(ParkKind kind) {
  return kind <= ParkKind::kPassed;
}
constexpr bool HasMessage(ParkKind kind) {
  return IsEntry(kind) || kind == ParkKind::kEdit;
}

struct ParkRecord {
  ParkKind kind = ParkKind::kParked;
  int64_t place = 0;    // in the park topic
  int64_t offset = -1;  // of its message in the source, or -1
  OwnerEpoch owner = 0;
  bool first = false;  // no owner had come as far before
  uint32_t attempts = 0;
  std::string id;
  std::string why;
  std::string run;        // of a command
  int64_t replaces = -1;  // by an edit: the place of the body until then
};

using ParkHeaders = std::vector<std::pair<std::string, std::optional<std::string>>>;

// Nothing for a foreign record. `own` gets the headers of its message.
std::optional<ParkRecord> ReadParkRecord(const rd_kafka_message_t& record,
                                         ParkHeaders* own = nullptr);

// The headers of an entry or an edit, to stand after the message's own.
ParkHeaders EntryHeaders(const ParkRecord& record, const Message& message, std::string_view group);
// The headers of any other record.
ParkHeaders OtherHeaders(const ParkRecord& record);

}  // namespace oncemq
