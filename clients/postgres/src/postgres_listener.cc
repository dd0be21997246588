// SPDX-License-Identifier: Apache-2.0
#include <optional>

#include "oncemq/base/connection_listener.h"
#include "oncemq/base/log.h"
#include "oncemq/base/store_login.h"
#include "oncemq/clients/postgres_client.h"
#include "postgres_connection.h"

namespace oncemq {
namespace {

// A network that is cut says nothing: after so long a silence the server is asked for a word.
constexpr milliseconds kSilence{2'000};
constexpr size_t kLongestChannel = 63;

}  // namespace

struct PostgresListener::Parts {
  const SqlEndpoint endpoint;
  const SqlTimes times;
  const std::string channel;
  const std::function<void(std::string_view)> heard;
  const std::function<void(bool)> connected;
  const std::shared_ptr<StoreLogin> login;
  std::optional<ConnectionListener<PostgresConnection>> listener;

  bool Listen(PostgresConnection& on);
};

PostgresListener::PostgresListener(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

std::unique_ptr<PostgresListener> PostgresListener::Start(
    const SqlEndpoint& endpoint, const SqlTimes& times, const std::string& channel,
    std::function<void(std::string_view)> heard, std::function<void(bool)> connected) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz0123456789_";
  if (channel.empty() || channel.size() > kLongestChannel ||
      channel.find_first_not_of(kLetters) != std::string::npos) {
    return nullptr;
  }
  std::unique_ptr<Parts> parts(new Parts{endpoint,
                                         times,
                                         channel,
                                         std::move(heard),
                                         std::move(connected),
                                         StoreLogin::Of(endpoint),
                                         {}});
  Parts* const raw = parts.get();
  parts->listener.emplace(ConnectionListener<PostgresConnection>::Calls{
      .area = "postgres",
      .open =
          [raw] {
            const BootTime until = BootNow() + raw->times.connect;
            return raw->login->Enter(raw->endpoint, until, [&](const SqlEndpoint& as) {
              return PostgresConnection::Open(as, raw->times, until);
            });
          },
      .listen = [raw](PostgresConnection& on) { return raw->Listen(on); },
      .lost = [raw] { raw->connected(false); }});
  if (!parts->listener->Start("oncemq-postgres")) {
    return nullptr;
  }
  return std::unique_ptr<PostgresListener>(new PostgresListener(std::move(parts)));
}

PostgresListener::~PostgresListener() = default;

// Until the connection is of no use. False: it never heard anything.
bool PostgresListener::Parts::Listen(PostgresConnection& on) {
  const Clock& clock = SystemClock::Instance();
  // An identifier can't be a parameter; this one was looked at letter by letter.
  const std::string text = "LISTEN " + channel;
  const SqlStatement listen{text};
  const SqlStatement word{"SELECT 1"};
  const auto listens = on.Run({&listen, 1}, clock.Boot() + times.call);
  if (!listens || listens->refusal) {
    const Error error = listens ? SqlError(*listens->refusal) : listens.error();
    Log(LogLevel::kWarn, "postgres", "cannot listen", {{"error", ToString(error)}});
    return false;
  }
  connected(true);
  for (;;) {
    const auto next = on.Heard(clock.Boot() + kSilence);
    if (!next) {
      return true;
    }
    if (*next) {
      heard(**next);
      continue;
    }
    const auto said = on.Run({&word, 1}, clock.Boot() + times.call);
    if (!said || said->refusal) {
      return true;
    }
  }
}

}  // namespace oncemq
