// SPDX-License-Identifier: Apache-2.0
// LibpqSession: a libpq connection of yours as a SqlSession. So the code that writes your effects
// takes it, as well as the transaction of a run (Context::sql()).
//
// Thread safety: none, as of the connection.
#pragma once

#include <libpq-fe.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "oncemq/clients/sql_session.h"

class LibpqSession final : public oncemq::SqlSession {
 public:
  // The connection stays yours, and outlives this.
  explicit LibpqSession(PGconn* connection) : connection_(connection) {}

  oncemq::SqlDialect dialect() const override { return oncemq::SqlDialect::kPostgres; }

  // All values; an array, and text with a byte 0, are refused.
  oncemq::Result<oncemq::SqlAnswer> Run(const oncemq::SqlStatement& statement) override {
    std::vector<std::optional<std::string>> texts;
    std::vector<Oid> types;
    for (const oncemq::SqlValue& value : statement.values) {
      if (const auto* number = std::get_if<int64_t>(&value)) {
        texts.emplace_back(std::to_string(*number));
        types.push_back(20);  // bigint
      } else if (const auto* bytes = std::get_if<std::string_view>(&value)) {
        texts.emplace_back(*bytes);
        types.push_back(17);  // bytea
      } else if (const auto* flag = std::get_if<bool>(&value)) {
        texts.emplace_back(*flag ? "t" : "f");
        types.push_back(16);  // boolean
      } else if (std::holds_alternative<std::nullptr_t>(value)) {
        texts.emplace_back(std::nullopt);
        types.push_back(0);  // as its place wants it
      } else if (const auto* text = std::get_if<oncemq::SqlText>(&value);
                 text != nullptr && text->utf8.find('\0') == text->utf8.npos) {
        texts.emplace_back(text->utf8);
        types.push_back(0);
      } else {
        return Refused("no arrays here, and no text with a byte 0");
      }
    }
    std::vector<const char*> values;
    std::vector<int> lengths;
    std::vector<int> formats;
    for (size_t i = 0; i < texts.size(); i++) {
      values.push_back(texts[i] ? texts[i]->c_str() : nullptr);
      lengths.push_back(texts[i] ? static_cast<int>(texts[i]->size()) : 0);
      formats.push_back(types[i] == 17 ? 1 : 0);
    }
    const std::unique_ptr<PGresult, void (*)(PGresult*)> result(
        PQexecParams(connection_, std::string(statement.text).c_str(),
                     static_cast<int>(values.size()), types.data(), values.data(), lengths.data(),
                     formats.data(), 0),
        PQclear);
    const ExecStatusType status = PQresultStatus(result.get());
    if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) {
      return Refused(PQresultErrorMessage(result.get()));
    }
    oncemq::SqlAnswer answer;
    answer.affected = std::strtoull(PQcmdTuples(result.get()), nullptr, 10);
    for (int row = 0; row < PQntuples(result.get()); row++) {
      oncemq::SqlRow& cells = answer.rows.emplace_back();
      for (int column = 0; column < PQnfields(result.get()); column++) {
        cells.emplace_back(PQgetisnull(result.get(), row, column) != 0
                               ? oncemq::SqlCell()
                               : oncemq::SqlCell(PQgetvalue(result.get(), row, column)));
      }
    }
    return answer;
  }

 private:
  static oncemq::Error Refused(std::string why) {
    return {oncemq::Code::kInvalid, oncemq::Effect::kNone, std::move(why)};
  }

  PGconn* const connection_;
};
