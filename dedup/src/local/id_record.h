// SPDX-License-Identifier: Apache-2.0
// IdRecord: what a local store keeps of a finished id. Its bytes here are those of the journal and
// of the present generation in memory (docs/formats.md, "Finished ids"); the history packs closer.
//
// Decoding is total: any bytes give records or a refusal.
//
// Thread safety: none needed, values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "oncemq/dedup/window.h"

namespace oncemq {

struct IdRecord {
  std::string_view id;  // as stored: the id itself, or its digest
  bool digest = false;  // the id was too long to be stored
  uint32_t fingerprint = 0;
  Coordinates at;
  uint32_t completer = 0;  // CompleterOf() its token; 0: restored
  std::string_view result;
};

// Who completed it, in a quarter of a token's bytes: once in 2^32, somebody who repeats a
// completion that was never his is told that it was made. The id is finished in either case.
uint32_t CompleterOf(const Token& token);

inline constexpr size_t kRecordUnit = 4;  // a record begins at a multiple of it

// Bytes that the record takes, padding included.
size_t RecordBytes(const IdRecord& record);

// Writes RecordBytes() bytes at `out`.
void WriteRecord(const IdRecord& record, char* out);

// Reads the record at the front; `taken` says how many bytes it had. Views lie in `bytes`.
std::optional<IdRecord> ReadRecord(std::string_view bytes, size_t* taken);

}  // namespace oncemq
