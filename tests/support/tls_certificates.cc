// SPDX-License-Identifier: Apache-2.0
#include "tls_certificates.h"

#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <cstdio>
#include <stdexcept>

namespace oncemq::testing {
namespace {

constexpr long kDay = 24L * 60 * 60;

struct Free {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(X509_EXTENSION* extension) const { X509_EXTENSION_free(extension); }
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using Key = std::unique_ptr<EVP_PKEY, Free>;
using Certificate = std::unique_ptr<X509, Free>;

void Must(bool done, const char* what) {
  if (!done) {
    throw std::runtime_error(std::string("no certificate can be made: ") + what);
  }
}

Key NewKey() {
  Key key(EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-256"));
  Must(key != nullptr, "a key");
  return key;
}

void Extend(X509* certificate, int kind, const std::string& value) {
  const std::unique_ptr<X509_EXTENSION, Free> extension(
      X509V3_EXT_conf_nid(nullptr, nullptr, kind, value.c_str()));
  Must(extension != nullptr && X509_add_ext(certificate, extension.get(), -1) == 1, "an extension");
}

// Not yet signed. Begins two days ago, so that clocks need not agree.
Certificate Draft(EVP_PKEY* key, long serial, const std::string& subject, bool expired) {
  Certificate draft(X509_new());
  Must(draft != nullptr, "memory");
  X509_set_version(draft.get(), X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(draft.get()), serial);
  X509_gmtime_adj(X509_getm_notBefore(draft.get()), -2 * kDay);
  X509_gmtime_adj(X509_getm_notAfter(draft.get()), expired ? -kDay : 2 * kDay);
  X509_set_pubkey(draft.get(), key);
  const auto* name = reinterpret_cast<const unsigned char*>(subject.c_str());
  Must(X509_NAME_add_entry_by_txt(X509_get_subject_name(draft.get()), "CN", MBSTRING_UTF8, name, -1,
                                  -1, 0) == 1,
       "a name");
  return draft;
}

template <class Write>
void ToFile(const std::filesystem::path& path, const Write& write) {
  const std::unique_ptr<std::FILE, Free> file(std::fopen(path.c_str(), "w"));
  Must(file != nullptr && write(file.get()) == 1, "a file");
}

void WriteTo(const std::filesystem::path& path, X509* certificate) {
  ToFile(path, [&](std::FILE* file) { return PEM_write_X509(file, certificate); });
}

}  // namespace

struct TlsAuthority::Parts {
  Key key = NewKey();
  Certificate certificate;
  long issued = 1;
};

TlsAuthority::TlsAuthority() : parts_(std::make_unique<Parts>()) {
  EVP_PKEY* key = parts_->key.get();
  parts_->certificate = Draft(key, 1, "authority of a test", false);
  X509* own = parts_->certificate.get();
  X509_set_issuer_name(own, X509_get_subject_name(own));
  Extend(own, NID_basic_constraints, "critical,CA:TRUE");
  Must(X509_sign(own, key, EVP_sha256()) > 0, "a signature");
  WriteTo(file(), own);
}

TlsAuthority::~TlsAuthority() = default;

TlsFiles TlsAuthority::Issue(const TlsWanted& wanted) {
  const Key key = NewKey();
  const Certificate one = Draft(key.get(), ++parts_->issued, wanted.subject, wanted.expired);
  X509_set_issuer_name(one.get(), X509_get_subject_name(parts_->certificate.get()));
  if (!wanted.of.empty()) {
    Extend(one.get(), NID_subject_alt_name, wanted.of);
  }
  Must(X509_sign(one.get(), parts_->key.get(), EVP_sha256()) > 0, "a signature");
  const std::string stem = std::to_string(parts_->issued);
  const TlsFiles files{dir_.path() / (stem + ".pem"), dir_.path() / (stem + ".key")};
  WriteTo(files.certificate, one.get());
  ToFile(files.key, [&](std::FILE* file) {
    return PEM_write_PrivateKey(file, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
  });
  return files;
}

}  // namespace oncemq::testing
