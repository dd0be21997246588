// SPDX-License-Identifier: Apache-2.0
#include "manifest.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "../other_owner.h"
#include "families.h"
#include "oncemq/base/bytes.h"
#include "oncemq/base/random.h"
#include "sealed_row.h"

namespace oncemq {
namespace {

constexpr uint64_t kVersion = 1;
constexpr size_t kNumberBytes = 8;

Error DamagedManifest(const char* what) {
  return {Code::kCorrupt, Effect::kNone, std::string("the manifest ") + what};
}

Manifest NewManifest(std::string_view identity, Level level) {
  Manifest manifest{.identity = std::string(identity), .level = level};
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

Result<Manifest> ReadOrMake(RocksStore& store, std::string_view identity, Level level) {
  const auto bytes = store.Get(kFacts, kManifestKey);
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
    return DamagedManifest("is gone, and ids are there");
  }
  return NewManifest(identity, level);
}

}  // namespace

bool Manifest::LastCommitOf(uint64_t its_incarnation) {
  const auto last = its_incarnation == incarnation
                        ? earlier.end()
                        : std::find(earlier.begin(), earlier.end(), its_incarnation);
  const bool known = last != earlier.end() || its_incarnation == incarnation;
  if (!known || last == earlier.begin()) {
    return false;
  }
  earlier.erase(earlier.begin(), last);
  return true;
}

std::string EncodeManifest(const Manifest& manifest) {
  std::string bytes;
  AppendVarint(bytes, kVersion);
  AppendVarint(bytes, static_cast<uint64_t>(manifest.level));
  AppendVarint(bytes, manifest.identity.size());
  bytes += manifest.identity;
  bytes.append(reinterpret_cast<const char*>(manifest.secret.data()), manifest.secret.size());
  AppendKey(bytes, manifest.incarnation, kNumberBytes);
  for (const uint64_t earlier : manifest.earlier) {
    AppendKey(bytes, earlier, kNumberBytes);
  }
  return Seal(std::move(bytes));
}

Result<Manifest> DecodeManifest(std::string_view bytes) {
  const auto content = Unseal(bytes);
  if (!content) {
    return DamagedManifest("is damaged");
  }
  ByteReader reader(*content);
  if (reader.Varint() != kVersion) {
    return DamagedManifest("has a version that is not known");
  }
  const auto level = reader.Varint();
  const auto size = reader.Varint();
  std::string_view rest = reader.rest();
  constexpr size_t kFixed = KeyedHash::kSecretBytes + kNumberBytes;
  if (!size || *level > static_cast<uint64_t>(Level::kOpaque) || rest.size() < kFixed ||
      *size > rest.size() - kFixed || (rest.size() - kFixed - *size) % kNumberBytes != 0 ||
      rest.size() - kFixed - *size > kMostEarlier * kNumberBytes) {
    return DamagedManifest("is damaged");
  }
  Manifest manifest{.identity = std::string(rest.substr(0, *size)),
                    .level = static_cast<Level>(*level)};
  rest.remove_prefix(*size);
  std::memcpy(manifest.secret.data(), rest.data(), manifest.secret.size());
  rest.remove_prefix(manifest.secret.size());
  manifest.incarnation = *ReadKey(rest, 0, kNumberBytes);
  for (size_t at = kNumberBytes; at < rest.size(); at += kNumberBytes) {
    manifest.earlier.push_back(*ReadKey(rest, at, kNumberBytes));
  }
  return manifest;
}

void PutManifest(const Manifest& manifest, RocksBatch& batch) {
  batch.Put(kFacts, kManifestKey, EncodeManifest(manifest));
}

Result<Manifest> ReadManifest(RocksStore& store) {
  const auto bytes = store.Get(kFacts, kManifestKey);
  if (!bytes) {
    return bytes.error();
  }
  return *bytes ? DecodeManifest(**bytes) : Result<Manifest>(DamagedManifest("is not there"));
}

Result<RememberTimes> ReadRememberTimes(RocksStore& store) {
  const auto row = store.Get(kFacts, kRememberKey);
  if (!row || !*row) {
    return row ? Result<RememberTimes>(RememberTimes{}) : row.error();
  }
  const auto numbers = UnsealNumbers<2>(**row);
  if (!numbers || (*numbers)[0] > INT64_MAX || (*numbers)[1] > INT64_MAX) {
    return Error{Code::kCorrupt, Effect::kNone, "for how long ids are kept cannot be read"};
  }
  return RememberTimes{milliseconds(static_cast<int64_t>((*numbers)[0])),
                       milliseconds(static_cast<int64_t>((*numbers)[1]))};
}

void PutRememberTimes(const RememberTimes& times, RocksBatch& batch) {
  batch.Put(kFacts, kRememberKey,
            SealNumbers({static_cast<uint64_t>(times.remember.count()),
                         static_cast<uint64_t>(times.skew.count())}));
}

Result<Manifest> OpenManifest(RocksStore& store, std::string_view identity, Level level,
                              uint64_t former) {
  Result<Manifest> manifest = ReadOrMake(store, identity, level);
  if (!manifest) {
    return manifest;
  }
  if (manifest->identity != identity) {
    return OtherOwner("the directory", manifest->identity, identity);
  }
  if (manifest->level != level) {
    // What one level may forget the other has to know.
    return Error{Code::kInvalid, Effect::kNone,
                 "the directory was written at the level " +
                     std::string(ToString(manifest->level)) + ", not " +
                     std::string(ToString(level))};
  }
  if (manifest->incarnation != 0) {
    manifest->earlier.push_back(manifest->incarnation);
    if (manifest->earlier.size() > kMostEarlier) {
      // Not the first: the last acknowledged commit names it.
      // Nor the one that this process goes on from.
      const bool its = manifest->earlier[1] == former;
      manifest->earlier.erase(manifest->earlier.begin() + (its ? 2 : 1));
    }
  }
  manifest->incarnation = SecureRandom64() | 1;  // 0 is none
  return manifest;
}

}  // namespace oncemq
