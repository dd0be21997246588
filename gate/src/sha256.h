// SPDX-License-Identifier: Apache-2.0
// The one hash of the gate.
//
// Thread safety: any thread.
#pragma once

#include <openssl/evp.h>

#include <string_view>

#include "oncemq/base/check.h"
#include "oncemq/gate/contents.h"

namespace oncemq {

inline ContentsDigest Sha256(std::string_view bytes) {
  ContentsDigest digest;
  unsigned int size = 0;
  const int made =
      EVP_Digest(bytes.data(), bytes.size(), digest.data(), &size, EVP_sha256(), nullptr);
  ONCEMQ_CHECK(made == 1 && size == digest.size(), "SHA-256 is always there");
  return digest;
}

}  // namespace oncemq
