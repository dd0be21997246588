// SPDX-License-Identifier: Apache-2.0
#include "id_digest.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "oncemq/base/check.h"

namespace oncemq {

std::string DigestOf(std::string_view id, const KeyedHash::Secret& secret) {
  std::string digest(EVP_MAX_MD_SIZE, '\0');
  unsigned int size = 0;
  const unsigned char* made = HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
                                   reinterpret_cast<const unsigned char*>(id.data()), id.size(),
                                   reinterpret_cast<unsigned char*>(digest.data()), &size);
  ONCEMQ_CHECK(made != nullptr, "SHA-256 is always there");
  digest.resize(size);
  return digest;
}

}  // namespace oncemq
