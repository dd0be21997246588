// SPDX-License-Identifier: Apache-2.0
// SqlBatch: the writes of the handlers of one batch into PostgreSQL. Statements that are added wait
// for the end of the batch. The first one that is run opens a transaction, which inserts the
// markers of the batch before anything else: so a concurrent copy waits there (rule 48).
//
// Thread safety: none; belongs to its batch.
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "added_statements.h"
#include "done_markers.h"
#include "oncemq/clients/sql_client.h"
#include "oncemq/dedup/effects.h"
#include "oncemq/dedup/sql_effects.h"

namespace oncemq {

inline bool IsUniqueViolation(const SqlRefusal& refusal) {
  return refusal.state == "23505";
}

// A refusal of one of the first `ours` statements is about the batch, any other one about a
// statement of a handler. kInvalid: the statement is refused, not the batch.
Error ErrorOfBatch(const SqlRefusal& refusal, size_t ours);

class SqlBatch final : public EffectBatch, public SqlEffects {
 public:
  // The beginning of the transaction: the INSERT of the markers refuses it where the batch has lost
  // its partition, or the server commits.
  struct Opening {
    std::vector<SqlStatement> before;  // the INSERT
    std::string_view unpark;           // for parked ids of the batch
    std::string_view insert;
    int64_t scope = 0;
    std::array<int64_t, 4> expected{};  // owner; start, timeline and position of the server
  };
  // `granted`: the claims of the batch; their ids outlive it. `digests`: of these.
  SqlBatch(const Window* window, std::shared_ptr<SqlClient> client,
           std::vector<ClaimRequest> granted, std::vector<std::string> digests, Opening opening);
  virtual ~SqlBatch() = default;

  SqlEffects* sql() override { return this; }
  void Begin() override;
  Status Keep() override;
  void Undo() override;
  std::string_view refusal() const override;
  bool Full() const override { return messages_ >= kMostMessages; }

  SqlDialect dialect() const override { return SqlDialect::kPostgres; }
  Result<SqlAnswer> Run(const SqlStatement& statement) override;
  Status Add(const SqlStatement& statement) override;

  // The log time that a marker gets before its handler has run.
  static LogTime FiledAt(const ClaimRequest& claim) {
    return std::max(claim.time, claim.copies_until);
  }
  const std::vector<ClaimRequest>& granted() const { return granted_; }
  std::string_view digest(size_t grant) const { return digests_[grant]; }
  // The number of a grant, which is looked for from `from` on.
  std::optional<size_t> GrantOf(std::string_view id, const Token& token, size_t from) const;
  // The statements of the opening for these markers. Valid as long as they.
  std::vector<SqlStatement> Opens(const DoneMarkers& markers) const;
  // Whether the transaction is open, and the markers of all that was granted are in it.
  bool live() const { return transaction_ != nullptr; }
  // Ends it: `first`, the added statements, and the COMMIT, in one round trip.
  Result<SqlOutcome> Commit(std::span<const SqlStatement> first);
  // Why no message can be kept any more.
  const std::optional<Error>& lost() const { return lost_; }

 private:
  static constexpr size_t kMostMessages = 50;  // with savepoints, in one transaction
  DoneMarkers GrantedMarkers() const;
  // Whose statements wait: those before `end`, from the end of the one before it.
  struct Adder {
    size_t end;
    std::string_view id;
    uint32_t attempt;
  };
  void NameAdder(SqlRefusal& refusal, size_t first) const;
  void AllSent();
  Error Lose(Error error);
  Result<SqlAnswer> Refused(SqlRefusal& refusal, size_t first, size_t added);

  const std::shared_ptr<SqlClient> client_;
  const std::vector<ClaimRequest> granted_;
  const std::vector<std::string> digests_;  // as granted_
  const Opening opening_;
  std::unique_ptr<SqlTransaction> transaction_;
  AddedStatements added_;         // not sent yet
  size_t added_before_ = 0;       // by messages before the present one
  std::vector<Adder> adders_;     // of these
  size_t messages_ = 0;           // with a savepoint
  bool wrote_ = false;            // the present message has its savepoint
  bool undo_ = false;             // the last message's writes are still to be taken back
  std::optional<Error> refused_;  // of the present message
  std::optional<Error> lost_;
};

}  // namespace oncemq
