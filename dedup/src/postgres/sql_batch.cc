// SPDX-License-Identifier: Apache-2.0
#include "sql_batch.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "oncemq/base/check.h"
#include "oncemq/base/log.h"
#include "oncemq/base/outage.h"
#include "oncemq/clients/postgres_client.h"

namespace oncemq {
namespace {

constexpr std::string_view kSave = "SAVEPOINT oncemq_message";
constexpr std::string_view kBack = "ROLLBACK TO SAVEPOINT oncemq_message";

// Without what stands before the first word of a statement: spaces and comments, which nest.
std::string_view FromFirstWord(std::string_view text) {
  while (!text.empty() && std::isalpha(static_cast<unsigned char>(text[0])) == 0) {
    if (text.starts_with("--")) {
      text.remove_prefix(std::min(text.find('\n'), text.size()));
    } else if (text.starts_with("/*")) {
      int depth = 0;
      do {
        const bool opens = text.starts_with("/*");
        depth += opens ? 1 : text.starts_with("*/") ? -1 : 0;
        text.remove_prefix(opens || text.starts_with("*/") ? 2 : 1);
      } while (depth > 0 && !text.empty());
    } else {
      text.remove_prefix(1);
    }
  }
  return text;
}

// It would end the transaction under its markers.
bool EndsTransaction(std::string_view text) {
  text = FromFirstWord(text);
  std::string word;
  for (const char c : text) {
    if (std::isalpha(static_cast<unsigned char>(c)) == 0) {
      break;
    }
    word.push_back(static_cast<char>(std::toupper(static_cast<unsigned char>(c))));
  }
  for (const std::string_view one : {"BEGIN", "START", "COMMIT", "END", "ROLLBACK", "ABORT",
                                     "SAVEPOINT", "RELEASE", "PREPARE"}) {
    if (word == one) {
      return true;
    }
  }
  return false;
}

Error OurTransaction() {
  return {Code::kInternal, Effect::kNone,
          "a statement of a handler does not begin or end a transaction"};
}

// Classes of the server's state, and 55P03: somebody has a lock. Everything else is about what was
// asked, an error that a function raises with a code of its own too.
bool IsOfServer(const SqlRefusal& refusal) {
  for (const std::string_view begin : {"08", "25", "40", "53", "55P03", "57", "58", "72", "XX"}) {
    if (refusal.state.starts_with(begin)) {
      return true;
    }
  }
  return refusal.old_plan;
}

// A missing right, table or column, or a typo: after a deployment each message would be refused.
bool IsOfProgram(const SqlRefusal& refusal) {
  return refusal.state.starts_with("42");
}

// The content that was refused is not of the message that is told so.
Error OfAnotherMessage(Error error) {
  error.code = error.code == Code::kInvalid ? Code::kUnavailable : error.code;
  return error;
}

}  // namespace

Error ErrorOfBatch(const SqlRefusal& refusal, size_t ours) {
  Error error = SqlError(refusal);
  if (refusal.at < ours && IsUniqueViolation(refusal)) {
    error = {Code::kFenced, Effect::kNone, "another process has finished an id of this batch"};
  } else if (refusal.at < ours && refusal.state == "22012") {
    error = {Code::kFenced, Effect::kNone, "the batch has lost its partition"};
  } else if (refusal.at >= ours && !IsOfServer(refusal)) {
    error.code = Code::kInvalid;
  } else if (!IsOutage(error)) {
    error.code = Code::kUnavailable;
  }
  return error;
}

SqlBatch::SqlBatch(const Window* window, std::shared_ptr<SqlClient> client,
                   std::vector<ClaimRequest> granted, std::vector<std::string> digests,
                   Opening opening)
    : EffectBatch(window),
      client_(std::move(client)),
      granted_(std::move(granted)),
      digests_(std::move(digests)),
      opening_(std::move(opening)) {
  ONCEMQ_CHECK(digests_.size() == granted_.size(), "a digest for each grant");
}

std::optional<size_t> SqlBatch::GrantOf(std::string_view id, const Token& token,
                                        size_t from) const {
  for (size_t i = 0; i < granted_.size(); i++) {
    const size_t at = (from + i) % granted_.size();
    if (granted_[at].token == token && granted_[at].id == id) {
      return at;
    }
  }
  return std::nullopt;
}

std::vector<SqlStatement> SqlBatch::Opens(const DoneMarkers& markers) const {
  std::vector<SqlStatement> opens = opening_.before;
  if (markers.unparks()) {
    opens.push_back({opening_.unpark, markers.Unparks(opening_.scope)});
  }
  SqlStatement& insert =
      opens.emplace_back(SqlStatement{opening_.insert, markers.Inserts(opening_.scope)});
  insert.values.insert(insert.values.end(), opening_.expected.begin(), opening_.expected.end());
  return opens;
}

void SqlBatch::Begin() {
  added_before_ = added_.size();
  wrote_ = false;
  refused_.reset();
}

Status SqlBatch::Keep() {
  if (lost_ || refused_) {
    Error why = lost_ ? *lost_ : *refused_;
    Undo();
    return why;
  }
  if (added_.size() > added_before_) {
    adders_.push_back({added_.size(), id(), attempt()});
  }
  return {};
}

std::string_view SqlBatch::refusal() const {
  const auto& why = lost_ ? lost_ : refused_;
  return why ? std::string_view(why->message) : std::string_view();
}

void SqlBatch::Undo() {
  added_.Cut(added_before_);
  undo_ = undo_ || wrote_;
  wrote_ = false;
  refused_.reset();
}

// A refusal of the statements that wait, which are sent from `first` on, says whose they are.
void SqlBatch::NameAdder(SqlRefusal& refusal, size_t first) const {
  for (const Adder& adder : adders_) {
    if (refusal.at >= first && refusal.at - first < adder.end) {
      refusal.text = "a statement that was added by " + std::string(adder.id) + " in attempt " +
                     std::to_string(adder.attempt) + " is refused: " + refusal.text;
      return;
    }
  }
}

void SqlBatch::AllSent() {
  added_.Cut(0);
  added_before_ = 0;
  adders_.clear();
}

Error SqlBatch::Lose(Error error) {
  transaction_.reset();
  lost_ = error;
  return error;
}

// A handler that does not notice is not done.
Status SqlBatch::Add(const SqlStatement& statement) {
  if (!added_.LastHas(statement.text) && EndsTransaction(statement.text)) {
    refused_ = OurTransaction();
    return *refused_;
  }
  if (auto unfit = UnfitForPostgres(statement)) {
    refused_ = *std::move(unfit);
    return *refused_;
  }
  if (!added_.Add(statement)) {
    refused_ = Error{Code::kInvalid, Effect::kNone, "a statement that is added has no arrays"};
    return *refused_;
  }
  return {};
}

// All that was granted, before a handler writes. Results are not known yet.
DoneMarkers SqlBatch::GrantedMarkers() const {
  DoneMarkers markers(granted_.size());
  for (size_t i = 0; i < granted_.size(); i++) {
    const ClaimRequest& claim = granted_[i];
    markers.Add(digests_[i], claim.at, claim.token, claim.fingerprint, FiledAt(claim), {});
    if (claim.parked_entry != 0) {
      markers.Unpark(digests_[i], claim.parked_entry);
    }
  }
  markers.Sort();
  return markers;
}

// One round trip: all that is owed, and the statement.
Result<SqlAnswer> SqlBatch::Run(const SqlStatement& statement) {
  if (lost_) {
    return OfAnotherMessage(*lost_);
  }
  if (refused_) {
    return *refused_;
  }
  if (EndsTransaction(statement.text)) {
    refused_ = OurTransaction();
    return *refused_;
  }
  if (auto unfit = UnfitForPostgres(statement)) {
    refused_ = *std::move(unfit);
    return *refused_;
  }
  std::vector<SqlStatement> send;
  std::optional<DoneMarkers> markers;
  if (transaction_ == nullptr) {
    auto begun = client_->BeginLater(kSqlWholeCall);
    if (!begun) {
      return Lose(begun.error());
    }
    transaction_ = *std::move(begun);
    send = Opens(markers.emplace(GrantedMarkers()));
  }
  if (std::exchange(undo_, false)) {
    send.push_back({kBack});
  }
  const size_t first = send.size();
  // Of earlier messages: they come before, and a refusal of theirs costs the batch.
  added_.AppendTo(send, 0, added_before_);
  const size_t added = send.size();
  if (!wrote_) {
    send.push_back({kSave});
    messages_++;
  }
  added_.AppendTo(send, added_before_, added_.size());
  send.push_back(statement);
  auto outcome = transaction_->Attempt(send);
  if (!outcome) {
    return Lose(outcome.error());
  }
  if (outcome->refusal) {
    return Refused(*outcome->refusal, first, added);
  }
  AllSent();
  wrote_ = true;
  return std::move(outcome->answers.back());
}

// Statements before `first` are ours, those before `added` of earlier messages.
Result<SqlAnswer> SqlBatch::Refused(SqlRefusal& refusal, size_t first, size_t added) {
  if (refusal.at < added) {
    NameAdder(refusal, first);
    return OfAnotherMessage(Lose(ErrorOfBatch(refusal, first)));
  }
  Error error = ErrorOfBatch(refusal, first);
  if (error.code != Code::kInvalid) {
    return Lose(std::move(error));
  }
  if (IsOfProgram(refusal)) {
    error.code = Code::kInternal;
    Log(LogLevel::kError, "window",
        "PostgreSQL does not take a statement of the handler as it stands; its message waits",
        {{"state", refusal.state}, {"error", refusal.text}});
  }
  // The transaction has failed; it goes on from before this message.
  const SqlStatement back{kBack};
  const auto went = transaction_->Attempt({&back, 1});
  if (!went || went->refusal) {
    return Lose(went ? SqlError(*went->refusal) : went.error());
  }
  AllSent();
  wrote_ = false;
  refused_ = error;
  return error;
}

Result<SqlOutcome> SqlBatch::Commit(std::span<const SqlStatement> first) {
  if (lost_) {
    return *lost_;
  }
  std::vector<SqlStatement> send;
  send.reserve(1 + first.size() + added_.size());
  if (undo_) {
    send.push_back({kBack});
  }
  send.insert(send.end(), first.begin(), first.end());
  added_.AppendTo(send, 0, added_.size());
  // Begun and committed by us, also where all goes at once: the transaction of a pipeline would let
  // a procedure commit all before it.
  if (transaction_ == nullptr) {
    auto begun = client_->BeginLater(kSqlWholeCall);
    if (!begun) {
      return Lose(begun.error());
    }
    transaction_ = *std::move(begun);
  }
  auto outcome = transaction_->CommitAfter(send);
  if (outcome && outcome->refusal && undo_ && outcome->refusal->at > 0) {
    outcome->refusal->at--;  // as the caller counts them
  }
  if (outcome && outcome->refusal) {
    NameAdder(*outcome->refusal, first.size());
  }
  transaction_.reset();
  lost_ = Error{Code::kFenced, Effect::kNone, "the effects were written before"};
  return outcome;
}

}  // namespace oncemq
