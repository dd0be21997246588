// SPDX-License-Identifier: Apache-2.0
// The decoders of the local store: any bytes give values or a refusal. The first byte chooses.
#include <cstdint>
#include <string>
#include <string_view>

#include "local/bucket.h"
#include "local/families.h"
#include "local/id_page.h"
#include "local/id_record.h"
#include "local/kept_marker.h"
#include "local/known_row.h"
#include "local/manifest.h"
#include "local/progress_table.h"
#include "local/reach.h"
#include "local/sealed_row.h"
#include "oncemq/base/bytes.h"

namespace {

// With the sum that is asked for, so that the parser behind it is reached.
std::string Sealed(std::string_view bytes) {
  return oncemq::Seal(std::string(bytes));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace oncemq;  // NOLINT: a whole file about one library
  if (size < 2) {
    return 0;
  }
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 9) {
    case 0: {
      size_t taken = 0;
      const auto record = ReadRecord(bytes, &taken);
      if (record && (taken > bytes.size() || taken % kRecordUnit != 0)) {
        __builtin_trap();
      }
      break;
    }
    case 1: {
      IdRecord record;
      static_cast<void>(FindInPage(bytes, 5, bytes.front(), bytes.substr(0, 1), false, &record));
      size_t records = 0;
      IdPageReader reader(bytes, 5);
      while (reader.Next(&record)) {
        records++;
      }
      if (records > bytes.size() || (records > 0 && record.id.empty())) {
        __builtin_trap();
      }
      break;
    }
    case 2:
      static_cast<void>(DecodeKept(bytes));
      static_cast<void>(DecodeKept(Sealed(bytes)));
      break;
    case 3:
      static_cast<void>(DecodeManifest(bytes));
      static_cast<void>(DecodeManifest(Sealed(bytes)));
      break;
    case 4: {
      ByteReader reader(bytes);
      static_cast<void>(Reach::Decode(reader));
      break;
    }
    case 5: {
      ProgressTable table;
      static_cast<void>(table.Load("progress/12345678", Sealed(bytes)));
      static_cast<void>(ReadPartitionKey(bytes, kOwnerEpochPrefix));
      break;
    }
    case 6: {
      const auto known = DecodeKnown(Sealed(bytes));
      if (known && known->from > known->to) {
        __builtin_trap();
      }
      break;
    }
    case 7: {
      const auto bucket = DecodeFacts(FactsKey(7), Sealed(bytes));
      if (bucket && (bucket->pages == 0 || bucket->oldest > bucket->newest)) {
        __builtin_trap();
      }
      break;
    }
    default:
      if (const auto sum = SumOf(bytes); sum.has_value() != (bytes.size() == 8)) {
        __builtin_trap();
      }
      break;
  }
  return 0;
}
