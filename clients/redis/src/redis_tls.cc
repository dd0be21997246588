// SPDX-License-Identifier: Apache-2.0
// TLS by hiredis_ssl, on a session of our own making: hiredis checks who signed a certificate, but
// up to 1.4 not for whom; it waits for each byte by itself, and not for all of a handshake until a
// moment; and it takes a key's password from the terminal.
#include "redis_wire.h"

#include <fcntl.h>
#include <hiredis/hiredis_ssl.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>

#include <cerrno>
#include <cstring>

#include "no_pipe_signal.h"
#include "oncemq/base/wait_ready.h"
#include "oncemq/clients/redis_client.h"

namespace oncemq {
namespace {

struct Free {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  void operator()(SSL* session) const { SSL_free(session); }
};
using ContextPtr = std::unique_ptr<SSL_CTX, Free>;
using SessionPtr = std::unique_ptr<SSL, Free>;

Error Unusable(std::string why) {
  return {Code::kInvalid, Effect::kNone, "TLS: " + std::move(why)};
}

// Why the last call to OpenSSL failed. Reads errno, so it comes first.
std::string Why() {
  const int system = errno;
  const unsigned long last = ERR_peek_last_error();
  const char* reason = last == 0 ? nullptr : ERR_reason_error_string(last);
  if (reason != nullptr) {
    return reason;
  }
  return system == 0 ? "the server has hung up" : std::strerror(system);
}

// A new call: what it says goes wrong is its own.
void Forget() {
  ERR_clear_error();
  errno = 0;
}

// What poll() must say before the call is made again; 0: it has failed.
short WaitFor(const SSL* session, int result) {
  switch (SSL_get_error(session, result)) {
    case SSL_ERROR_WANT_READ:
      return POLLIN;
    case SSL_ERROR_WANT_WRITE:
      return POLLOUT;
    default:
      return 0;
  }
}

// Nobody sits at a terminal.
int NoPassword(char*, int, int, void*) {
  return 0;
}

Status OwnCertificate(SSL_CTX* context, const RedisEndpoint& endpoint) {
  if (endpoint.certificate_file.empty()) {
    return {};
  }
  Forget();
  if (SSL_CTX_use_certificate_chain_file(context, endpoint.certificate_file.c_str()) != 1) {
    return Unusable("our certificate can't be read from its file: " + Why());
  }
  if (SSL_CTX_use_PrivateKey_file(context, endpoint.key_file.c_str(), SSL_FILETYPE_PEM) != 1) {
    return Unusable("the key of our certificate can't be used, or has a password: " + Why());
  }
  return {};
}

Result<ContextPtr> NewContext(const RedisEndpoint& endpoint) {
  Forget();
  ContextPtr context(SSL_CTX_new(TLS_client_method()));
  if (context == nullptr || SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION) != 1) {
    return Unusable(Why());
  }
  SSL_CTX_set_options(context.get(), SSL_OP_NO_RENEGOTIATION);
  SSL_CTX_set_default_passwd_cb(context.get(), NoPassword);
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  const int known =
      endpoint.ca_file.empty()
          ? SSL_CTX_set_default_verify_paths(context.get())
          : SSL_CTX_load_verify_locations(context.get(), endpoint.ca_file.c_str(), nullptr);
  if (known != 1) {
    return Unusable("the file of authorities can't be read: " + Why());
  }
  if (const Status own = OwnCertificate(context.get(), endpoint); !own) {
    return own.error();
  }
  return context;
}

// Who must be there. An empty name would mean anybody, and one that begins with a dot many.
Status Expect(SSL* session, const std::string& who) {
  if (who.empty() || who.front() == '.' || who.find('\0') != std::string::npos) {
    return Unusable("the server's name can't be checked");
  }
  X509_VERIFY_PARAM* rules = SSL_get0_param(session);
  X509_VERIFY_PARAM_set_hostflags(
      rules, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
  if (X509_VERIFY_PARAM_set1_ip_asc(rules, who.c_str()) == 1) {
    return {};  // no name is told: addresses have no place in that field
  }
  if (X509_VERIFY_PARAM_set1_host(rules, who.data(), who.size()) != 1 ||
      SSL_ctrl(session, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
               const_cast<char*>(who.c_str())) != 1) {
    return Unusable("the server's name can't be used");
  }
  return {};
}

Error Refused(const SSL* session, const std::string& who) {
  const std::string why = Why();
  const long verdict = SSL_get_verify_result(session);
  if (verdict != X509_V_OK) {
    return Unusable("the server is not to be trusted as " + who + ": " +
                    X509_verify_cert_error_string(verdict));
  }
  return {Code::kUnavailable, Effect::kNone, "no TLS with " + who + ": " + why};
}

Status ShakeHands(redisContext& connection, SSL* session, const std::string& who, BootTime until) {
  for (;;) {
    Forget();
    const int done = SSL_do_handshake(session);
    if (done == 1) {
      break;
    }
    const short wait = WaitFor(session, done);
    if (wait == 0) {
      return Refused(session, who);
    }
    if (!WaitReady(connection.fd, wait, until)) {
      return Error{Code::kTimeout, Effect::kNone, "TLS with " + who + ": no handshake in time"};
    }
  }
  const bool known =
      SSL_get0_peer_certificate(session) != nullptr && SSL_get_verify_result(session) == X509_V_OK;
  return known ? Status() : Status(Refused(session, who));
}

class Tls final : public RedisWire {
 public:
  Tls(redisContext& connection, SSL* session) : connection_(connection), session_(session) {}

  // By records: of one that was not sent to its end the server can read nothing.
  Result<Sent> Send(std::string_view bytes) override {
    const NoPipeSignal quiet;
    Forget();
    size_t some = 0;
    const int done = SSL_write_ex(session_, bytes.data(), bytes.size(), &some);
    if (done == 1) {
      return Sent{.bytes = some};
    }
    if (const short wait = WaitFor(session_, done); wait != 0) {
      return Sent{.wait = wait};
    }
    return Error{Code::kUnavailable, Effect::kNone, Why()};
  }

  Status Read() override {
    const NoPipeSignal quiet;
    Forget();
    if (redisBufferRead(&connection_) != REDIS_OK) {
      return Error{Code::kUnavailable, Effect::kUnknown, Why()};
    }
    return {};
  }

  // So far never: hiredis reads as much at a time as a record can hold.
  bool Pending() const override { return SSL_pending(session_) > 0; }

  // What TLS itself has to say is no word.
  bool Fresh() override {
    const NoPipeSignal quiet;
    Forget();
    char next = 0;
    const int done = SSL_peek(session_, &next, 1);
    return done <= 0 && WaitFor(session_, done) == POLLIN;
  }

 private:
  redisContext& connection_;
  SSL* const session_;  // the connection's
};

}  // namespace

Status RedisTlsIsBuilt() {
  return {};
}

Result<std::unique_ptr<RedisWire>> TlsRedisWire(redisContext& connection,
                                                const RedisEndpoint& endpoint,
                                                const std::string& host, BootTime until) {
  const std::string& who = endpoint.server_name.empty() ? host : endpoint.server_name;
  const auto context = NewContext(endpoint);
  if (!context) {
    return context.error();
  }
  SessionPtr session(SSL_new(context->get()));
  if (session == nullptr) {
    return Unusable(Why());
  }
  if (const Status expected = Expect(session.get(), who); !expected) {
    return expected.error();
  }
  SSL_set_mode(session.get(), SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  // From here on nothing blocks in a call: each waits until its own moment.
  const int flags = fcntl(connection.fd, F_GETFL);
  if (flags < 0 || fcntl(connection.fd, F_SETFL, flags | O_NONBLOCK) != 0) {
    return Error{Code::kUnavailable, Effect::kNone, std::strerror(errno)};
  }
  connection.flags &= ~REDIS_BLOCK;
  const NoPipeSignal quiet;
  if (redisInitiateSSL(&connection, session.get()) != REDIS_OK) {
    return Refused(session.get(), who);
  }
  SSL* shared = session.release();
  if (const Status shaken = ShakeHands(connection, shared, who, until); !shaken) {
    return shaken.error();
  }
  return std::unique_ptr<RedisWire>(new Tls(connection, shared));
}

}  // namespace oncemq
