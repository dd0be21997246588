// SPDX-License-Identifier: Apache-2.0
#include "manifest.h"

#include <cstring>

#include "families.h"
#include "oncemq/base/bytes.h"
#include "oncemq/base/random.h"

namespace oncemq {
namespace {

constexpr std::string_view kKey = "manifest";
constexpr uint64_t kVersion = 1;

Error Damaged(const char* what) {
  return {Code::kCorrupt, Effect::kNone, std::string("the manifest ") + what};
}

Manifest NewManifest(std::string_view identity) {
  Manifest manifest{.identity = std::string(identity)};
  for (size_t i = 0; i < manifest.secret.size(); i += sizeof(uint64_t)) {
    const uint64_t word = SecureRandom64();
    std::memcpy(manifest.secret.data() + i, &word, sizeof word);
  }
  return manifest;
}

Result<bool> HasRows(RocksStore& store) {
  bool any = false;
  for (const size_t family : {kJournal, kHistory, kKept}) {
    const Status scanned = store.Scan(family, "", "\xff\xff\xff\xff\xff\xff\xff\xff",
                                      [&](std::string_view, std::string_view) {
                                        any = true;
                                        return false;
                                      });
    if (!scanned) {
      return scanned.error();
    }
  }
  return any;
}

Result<Manifest> ReadOrMake(RocksStore& store, std::string_view identity) {
  const auto bytes = store.Get(kFacts, kKey);
  if (!bytes) {
    return bytes.error();
  }
  if (*bytes) {
    return DecodeManifest(**bytes);
  }
  const auto rows = HasRows(store);
  if (!rows) {
    return rows.error();
  }
  if (*rows) {
    return Damaged("is gone, and ids are there");
  }
  return NewManifest(identity);
}

}  // namespace

std::string EncodeManifest(const Manifest& manifest) {
  std::string bytes;
  AppendVarint(bytes, kVersion);
  AppendVarint(bytes, manifest.identity.size());
  bytes += manifest.identity;
  bytes.append(reinterpret_cast<const char*>(manifest.secret.data()), manifest.secret.size());
  AppendKey(bytes, manifest.incarnation, 8);
  return Seal(std::move(bytes));
}

Result<Manifest> DecodeManifest(std::string_view bytes) {
  const auto content = Unseal(bytes);
  if (!content) {
    return Damaged("is damaged");
  }
  ByteReader reader(*content);
  if (reader.Varint() != kVersion) {
    return Damaged("has a version that is not known");
  }
  const auto size = reader.Varint();
  constexpr size_t kRest = KeyedHash::kSecretBytes + 8;
  if (!size || reader.rest().size() < kRest || *size != reader.rest().size() - kRest) {
    return Damaged("is damaged");
  }
  const std::string_view rest = reader.rest();
  Manifest manifest{.identity = std::string(rest.substr(0, *size))};
  std::memcpy(manifest.secret.data(), rest.data() + *size, manifest.secret.size());
  for (const char byte : rest.substr(rest.size() - 8)) {
    manifest.incarnation = manifest.incarnation << 8 | static_cast<unsigned char>(byte);
  }
  return manifest;
}

Result<Manifest> OpenManifest(RocksStore& store, std::string_view identity) {
  Result<Manifest> manifest = ReadOrMake(store, identity);
  if (!manifest) {
    return manifest;
  }
  if (manifest->identity != identity) {
    return Error{Code::kInvalid, Effect::kNone,
                 "the directory belongs to \"" + manifest->identity + "\", not to \"" +
                     std::string(identity) + "\""};
  }
  manifest->incarnation = SecureRandom64();
  RocksBatch batch = store.NewBatch();
  batch.Put(kFacts, kKey, EncodeManifest(*manifest));
  if (Status written = store.Write(batch, /*sync=*/true); !written) {
    return written.error();
  }
  return manifest;
}

}  // namespace oncemq
