// SPDX-License-Identifier: Apache-2.0
// Manifest: whom a local store belongs to, at which level, and the secret of its hashes (rule 28).
// Written when the store is made; each opening gets an incarnation of its own, and the earlier ones
// stay on the list until a commit of the present one was acknowledged.
//
// Thread safety: none needed, a value.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "oncemq/base/hash.h"
#include "oncemq/base/result.h"
#include "oncemq/clients/rocks_store.h"
#include "oncemq/dedup/window.h"

namespace oncemq {

struct Manifest {
  std::string identity;
  Level level = Level::kGuarded;
  KeyedHash::Secret secret{};
  uint64_t incarnation = 0;
  std::vector<uint64_t> earlier;  // oldest first: the first one and the latest, kMostEarlier in all

  // The group's last commit names that incarnation: none before it matters any more. Whether the
  // list has changed.
  bool LastCommitOf(uint64_t its_incarnation);
};

inline constexpr size_t kMostEarlier = 64;

// The store's manifest with the incarnation of a new opening, or a new one in a store that has
// none. It is written by whoever has found the rest of the store sound: an opening that fails and
// is tried again would fill the list of the earlier ones. kInvalid: it belongs to another identity
// or level; kCorrupt: it cannot be read, or it is gone while markers are there.
Result<Manifest> OpenManifest(RocksStore& store, std::string_view identity, Level level,
                              uint64_t former = 0);
// As it is; kCorrupt where there is none.
Result<Manifest> ReadManifest(RocksStore& store);
void PutManifest(const Manifest& manifest, RocksBatch& batch);

// For how long the store keeps ids, a row of its own: earlier versions have none, and pass over it.
Result<RememberTimes> ReadRememberTimes(RocksStore& store);
void PutRememberTimes(const RememberTimes& times, RocksBatch& batch);

// Bytes of the manifest; decoding is total.
std::string EncodeManifest(const Manifest& manifest);
Result<Manifest> DecodeManifest(std::string_view bytes);

}  // namespace oncemq
