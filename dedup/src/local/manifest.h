// SPDX-License-Identifier: Apache-2.0
// Manifest: whom a local store belongs to, and the secret of its hashes (rule 28). Written when the
// store is made; the incarnation anew at each opening.
//
// Thread safety: none needed, a value.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "oncemq/base/hash.h"
#include "oncemq/base/result.h"
#include "oncemq/clients/rocks_store.h"

namespace oncemq {

struct Manifest {
  std::string identity;
  KeyedHash::Secret secret{};
  uint64_t incarnation = 0;
};

// The store's manifest, or a new one in a store that has none. kInvalid: it belongs to another
// identity; kCorrupt: it cannot be read, or it is gone while markers are there.
Result<Manifest> OpenManifest(RocksStore& store, std::string_view identity);

// Bytes of the manifest; decoding is total.
std::string EncodeManifest(const Manifest& manifest);
Result<Manifest> DecodeManifest(std::string_view bytes);

}  // namespace oncemq
