// SPDX-License-Identifier: Apache-2.0
// Certificates that are made while a test runs, and known to nobody else.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "temp_dir.h"

namespace oncemq::testing {

struct TlsFiles {
  std::filesystem::path certificate;
  std::filesystem::path key;
};

struct TlsWanted {
  std::string of = "IP:127.0.0.1,DNS:localhost";  // in OpenSSL's words; empty: nobody
  std::string subject = "somebody";
  bool expired = false;
};

// Signs certificates. Its files go with it.
// Throws std::runtime_error.
//
// Thread safety: one thread at a time.
class TlsAuthority {
 public:
  TlsAuthority();
  ~TlsAuthority();
  TlsAuthority(const TlsAuthority&) = delete;
  TlsAuthority& operator=(const TlsAuthority&) = delete;

  // Its own certificate: who is given this file trusts it.
  std::filesystem::path file() const { return dir_.path() / "authority.pem"; }
  TlsFiles Issue(const TlsWanted& wanted = {});

 private:
  struct Parts;
  const TempDir dir_;
  const std::unique_ptr<Parts> parts_;
};

}  // namespace oncemq::testing
