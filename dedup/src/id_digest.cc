// SPDX-License-Identifier: Apache-2.0
#include "id_digest.h"

#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/params.h>

#include "oncemq/base/check.h"

namespace oncemq {

std::string DigestOf(std::string_view id, const KeyedHash::Secret& secret) {
  const std::array<char, kIdDigestBytes> digest = IdDigester(secret).Of(id);
  return std::string(digest.data(), digest.size());
}

IdDigester::IdDigester(const KeyedHash::Secret& secret) {
  static EVP_MAC* const hmac = EVP_MAC_fetch(nullptr, "HMAC", nullptr);
  context_.reset(hmac == nullptr ? nullptr : EVP_MAC_CTX_new(hmac));
  char hash[] = "SHA256";
  const std::array how{OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, hash, 0),
                       OSSL_PARAM_construct_end()};
  ONCEMQ_CHECK(context_ != nullptr &&
                   EVP_MAC_init(context_.get(), secret.data(), secret.size(), how.data()) == 1,
               "HMAC-SHA-256 is always there");
}

std::array<char, kIdDigestBytes> IdDigester::Of(std::string_view id, std::string_view before) {
  std::array<char, kIdDigestBytes> digest;
  size_t size = 0;
  const auto take = [&](std::string_view part) {
    return EVP_MAC_update(context_.get(), reinterpret_cast<const unsigned char*>(part.data()),
                          part.size()) == 1;
  };
  // Without a key it begins again with the prepared one.
  const bool made = EVP_MAC_init(context_.get(), nullptr, 0, nullptr) == 1 &&
                    (before.empty() || take(before)) && take(id) &&
                    EVP_MAC_final(context_.get(), reinterpret_cast<unsigned char*>(digest.data()),
                                  &size, digest.size()) == 1;
  ONCEMQ_CHECK(made && size == digest.size(), "HMAC-SHA-256 is always there");
  return digest;
}

void IdDigester::Free::operator()(evp_mac_ctx_st* context) const {
  EVP_MAC_CTX_free(context);
}

}  // namespace oncemq
