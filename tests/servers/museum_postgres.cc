// SPDX-License-Identifier: Apache-2.0
// A row for each name: who has it, and until when by the server's clock.
#include <utility>

#include "museum_exhibit.h"
#include "oncemq/clients/postgres_client.h"

namespace oncemq::testing {
namespace {

class OneStepRow : public Exhibit {
 public:
  explicit OneStepRow(std::unique_ptr<SqlClient> client) : client_(std::move(client)) {}
  Result<LockAnswer> Request(const AcquireRequest& request) override {
    return Granted(
        Run("INSERT INTO museum VALUES ($1, $2, clock_timestamp() + $3 * interval '1 ms') "
            "ON CONFLICT (name) DO UPDATE SET owner = EXCLUDED.owner, ends = EXCLUDED.ends "
            "WHERE museum.owner = EXCLUDED.owner OR museum.ends < clock_timestamp()",
            request.name, request.token, request.lease));
  }

 protected:
  Result<int64_t> ExtendOne(const LockClaim& claim) override {
    return Run(
        "UPDATE museum SET ends = clock_timestamp() + $3 * interval '1 ms' "
        "WHERE name = $1 AND owner = $2",
        claim.name, claim.token, claim.lease);
  }
  Result<int64_t> FreeOne(const LockClaim& claim) override {
    const auto done = client_->Run({"DELETE FROM museum WHERE name = $1 AND owner = $2",
                                    {claim.name, std::string_view(TextOf(claim.token))}});
    return done ? Result<int64_t>(static_cast<int64_t>(done->affected)) : done.error();
  }
  // How many rows it has changed.
  Result<int64_t> Run(std::string_view text, std::string_view name, const Token& token,
                      milliseconds lease) {
    const std::string owner = TextOf(token);
    const auto done = client_->Run({text, {name, std::string_view(owner), lease.count()}});
    return done ? Result<int64_t>(static_cast<int64_t>(done->affected)) : done.error();
  }
  SqlClient& client() { return *client_; }

 private:
  const std::unique_ptr<SqlClient> client_;
};

// As it is written by whoever thinks in rows: look, and then write.
class ReadThenWriteRow final : public OneStepRow {
 public:
  using OneStepRow::OneStepRow;
  Result<LockAnswer> Request(const AcquireRequest& request) override {
    const std::string mine = TextOf(request.token);
    const auto there = client().Run(
        {"SELECT 1 FROM museum WHERE name = $1 AND owner <> $2 AND ends >= clock_timestamp()",
         {request.name, std::string_view(mine)}});
    if (!there || !there->rows.empty()) {
      return there ? Granted(0) : there.error();
    }
    return Granted(
        Run("INSERT INTO museum VALUES ($1, $2, clock_timestamp() + $3 * interval '1 ms') "
            "ON CONFLICT (name) DO UPDATE SET owner = EXCLUDED.owner, ends = EXCLUDED.ends",
            request.name, request.token, request.lease));
  }
};

}  // namespace

OpenedExhibit OpenPostgresExhibit(std::string_view name, std::string_view at) {
  const auto endpoint = ParsePostgresEndpoint(at);
  if (!endpoint) {
    return endpoint.error();
  }
  auto client = OpenPostgres(*endpoint);
  if (!client) {
    return client.error();
  }
  const auto made =
      (*client)->Run({"CREATE TABLE IF NOT EXISTS museum "
                      "(name bytea PRIMARY KEY, owner bytea NOT NULL, ends timestamptz NOT NULL)"});
  if (!made) {
    return made.error();  // two at a time: one of them comes again
  }
  if (name == "read-then-write-row") {
    return std::shared_ptr<LockEngine>(std::make_shared<ReadThenWriteRow>(*std::move(client)));
  }
  return std::shared_ptr<LockEngine>(std::make_shared<OneStepRow>(*std::move(client)));
}

}  // namespace oncemq::testing
