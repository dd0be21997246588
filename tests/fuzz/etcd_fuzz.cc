// SPDX-License-Identifier: Apache-2.0
// What an etcd answers, and what lies in it for locks: any bytes must be refused or read. A value
// that was read is written as it was.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "etcd/etcd_keys.h"
#include "etcd_json.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (const auto json = oncemq::ParseJson(bytes)) {
    static_cast<void>(oncemq::TxnOf(*json));
    static_cast<void>(oncemq::LeaseOf(*json));
    static_cast<void>(oncemq::EtcdError(*json));
  }
  static_cast<void>(oncemq::HearLine(bytes, [](const oncemq::EtcdEvent&) { return true; }));
  if (const auto requested = oncemq::EtcdRequestOf(bytes);
      requested && BytesOf(*requested) != bytes) {
    std::abort();
  }
  const oncemq::EtcdLockKeys keys("s");
  const auto name = keys.NameOf(keys.names().substr(0, size % 40).append(bytes));
  if (name && keys.NameOf(keys.Queue(*name)) != name) {
    std::abort();
  }
  return 0;
}
