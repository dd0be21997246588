// SPDX-License-Identifier: Apache-2.0
// Hashes for tables in memory, keyed by a secret drawn when the process starts, so that nobody
// outside can choose keys that collide. Equal hashes may make us slower; whatever decides about an
// effect compares the bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace oncemq {

// Hash of a key or an id under this process's secret; stable within a process, never stored, never
// zero.
//
// Thread safety: any thread.
uint64_t ProcessHash(std::string_view bytes);

// Replaces the secret by one derived from a seed, for runs that must be repeatable. Call before the
// first hash.
void SeedProcessHash(uint64_t seed);

// A hash that is the same in every process and version: for names in metadata, not for untrusted
// tables.
uint64_t StableHash(std::string_view bytes);

// A hash under a secret that somebody keeps: the same as long as the secret is, and not to be
// guessed without it.
//
// Thread safety: immutable after construction.
class KeyedHash {
 public:
  static constexpr size_t kSecretBytes = 32;
  using Secret = std::array<unsigned char, kSecretBytes>;
  explicit KeyedHash(const Secret& secret);
  uint64_t operator()(std::string_view bytes) const;

 private:
  std::array<unsigned char, 192> expanded_;
};

// Spreads an integer over 64 bits (never zero for the inputs that occur: 0 maps to a constant).
constexpr uint64_t MixBits(uint64_t x) {
  x += 0x9E3779B97F4A7C15ull;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
  return x ^ (x >> 31);
}

}  // namespace oncemq
