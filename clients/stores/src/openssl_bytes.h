// SPDX-License-Identifier: Apache-2.0
// Text as OpenSSL takes bytes.
#pragma once

#include <string_view>

namespace oncemq {

inline const unsigned char* OpenSslBytes(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

}  // namespace oncemq
