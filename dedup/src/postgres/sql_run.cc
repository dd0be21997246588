// SPDX-License-Identifier: Apache-2.0
#include "sql_run.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "oncemq/base/outage.h"

namespace oncemq {
namespace {

constexpr std::string_view kSave = "SAVEPOINT oncemq_message";
constexpr std::string_view kBack = "ROLLBACK TO SAVEPOINT oncemq_message";

// The first word of a statement that would end the transaction under its markers.
bool EndsTransaction(std::string_view text) {
  const auto letter = [](char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; };
  const auto* begin = std::find_if(text.begin(), text.end(), letter);
  const auto* end = std::find_if_not(begin, text.end(), letter);
  std::string word(begin, end);
  std::transform(word.begin(), word.end(), word.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  for (const std::string_view one : {"BEGIN", "START", "COMMIT", "END", "ROLLBACK", "ABORT",
                                     "SAVEPOINT", "RELEASE", "PREPARE"}) {
    if (word == one) {
      return true;
    }
  }
  return false;
}

Error OurTransaction() {
  return {Code::kInvalid, Effect::kNone,
          "a statement of a handler does not begin or end a transaction"};
}

Error OthersAreAtWork() {
  return {Code::kFenced, Effect::kNone,
          "another process has finished an id of this run, or is about to"};
}

// Whether the same statement may be taken later: a deadlock, a lock, a server that goes down.
bool MayPass(const Error& error) {
  return IsOutage(error) || error.code == Code::kFull;
}

}  // namespace

SqlRun::SqlRun(const Window* window, SqlClient& client, std::vector<ClaimRequest> granted,
               DoneMarkers markers, std::string_view insert, int64_t scope)
    : EffectBatch(window),
      client_(client),
      granted_(std::move(granted)),
      markers_(std::move(markers)),
      insert_{insert, markers_.Inserts(scope)} {}

SqlStatement SqlRun::Added::View() const {
  SqlStatement view{text};
  for (const auto& value : values) {
    if (const auto* number = std::get_if<int64_t>(&value)) {
      view.values.emplace_back(*number);
    } else {
      view.values.emplace_back(std::string_view(std::get<std::string>(value)));
    }
  }
  return view;
}

void SqlRun::Begin() {
  added_before_ = added_.size();
  wrote_ = false;
  refused_.reset();
}

Status SqlRun::Keep() {
  if (lost_ || refused_) {
    Error why = lost_ ? *lost_ : *refused_;
    Undo();
    return why;
  }
  return {};
}

void SqlRun::Undo() {
  added_.resize(added_before_);
  undo_ = undo_ || wrote_;
  wrote_ = false;
  refused_.reset();
}

Error SqlRun::Lose(Error error) {
  transaction_.reset();
  lost_ = error;
  return error;
}

Status SqlRun::Add(const SqlStatement& statement) {
  if (EndsTransaction(statement.text)) {
    return OurTransaction();
  }
  Added added{std::string(statement.text), {}};
  for (const SqlValue& value : statement.values) {
    if (const auto* number = std::get_if<int64_t>(&value)) {
      added.values.emplace_back(*number);
    } else if (const auto* bytes = std::get_if<std::string_view>(&value)) {
      added.values.emplace_back(std::string(*bytes));
    } else {
      return Error{Code::kInvalid, Effect::kNone, "a statement that is added has no arrays"};
    }
  }
  added_.push_back(std::move(added));
  return {};
}

// One round trip: all that is owed, and the statement.
Result<SqlAnswer> SqlRun::Run(const SqlStatement& statement) {
  if (lost_ || refused_) {
    return lost_ ? *lost_ : *refused_;
  }
  if (EndsTransaction(statement.text)) {
    refused_ = OurTransaction();
    return *refused_;
  }
  std::vector<SqlStatement> send;
  if (transaction_ == nullptr) {
    auto begun = client_.BeginLater(kSqlWholeCall);
    if (!begun) {
      return Lose(begun.error());
    }
    transaction_ = *std::move(begun);
    send.push_back(insert_);
  }
  if (std::exchange(undo_, false)) {
    send.push_back({kBack});
  }
  const size_t first = send.size();
  // Of earlier messages: they come before, and a refusal of theirs costs the run.
  for (size_t i = 0; i < added_before_; i++) {
    send.push_back(added_[i].View());
  }
  const size_t added = send.size();
  if (!wrote_) {
    send.push_back({kSave});
    messages_++;
  }
  for (size_t i = added_before_; i < added_.size(); i++) {
    send.push_back(added_[i].View());
  }
  send.push_back(statement);
  auto outcome = transaction_->Attempt(send);
  if (!outcome) {
    return Lose(outcome.error());
  }
  if (outcome->refusal) {
    return Refused(*outcome->refusal, first, added);
  }
  added_.clear();
  added_before_ = 0;
  wrote_ = true;
  return std::move(outcome->answers.back());
}

// Statements before `first` are ours, those before `added` of earlier messages.
Result<SqlAnswer> SqlRun::Refused(const SqlRefusal& refusal, size_t first, size_t added) {
  if (refusal.at < first) {
    return Lose(IsUniqueViolation(refusal) ? OthersAreAtWork() : SqlError(refusal));
  }
  Error error = SqlError(refusal);
  error.code = MayPass(error) ? error.code : Code::kInvalid;
  if (refusal.at < added || MayPass(error)) {
    return Lose(std::move(error));
  }
  // The transaction has failed; it goes on from before this message.
  const SqlStatement back{kBack};
  const auto went = transaction_->Attempt({&back, 1});
  if (!went || went->refusal) {
    return Lose(went ? SqlError(*went->refusal) : went.error());
  }
  added_.clear();
  added_before_ = 0;
  wrote_ = false;
  refused_ = error;
  return error;
}

Result<SqlOutcome> SqlRun::Commit(std::span<const SqlStatement> first) {
  if (lost_) {
    return *lost_;
  }
  std::vector<SqlStatement> send;
  if (undo_) {
    send.push_back({kBack});
  }
  send.insert(send.end(), first.begin(), first.end());
  for (const Added& added : added_) {
    send.push_back(added.View());
  }
  auto outcome = transaction_ != nullptr ? transaction_->CommitAfter(send) : client_.Try(send);
  transaction_.reset();
  lost_ = Error{Code::kFenced, Effect::kNone, "the effects were written before"};
  return outcome;
}

}  // namespace oncemq
