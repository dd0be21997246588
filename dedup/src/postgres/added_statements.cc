// SPDX-License-Identifier: Apache-2.0
#include "added_statements.h"

#include <algorithm>

namespace oncemq {

// A copy as the value that it was.
struct AddedStatements::Shown {
  SqlValue operator()(const Bytes& at) const { return bytes.substr(at.begin, at.size); }
  SqlValue operator()(const Text& at) const { return SqlText{bytes.substr(at.begin, at.size)}; }
  SqlValue operator()(auto value) const { return value; }

  std::string_view bytes;
};

bool AddedStatements::LastHas(std::string_view text) const {
  return !statements_.empty() && statements_.back().text == text;
}

bool AddedStatements::Add(const SqlStatement& statement) {
  const One one{LastHas(statement.text) ? statements_.back().text
                                        : std::string_view(texts_.emplace_back(statement.text)),
                values_.size(), bytes_.size()};
  statements_.push_back(one);
  const auto copy = [this](std::string_view bytes) {
    const Bytes at{bytes_.size(), bytes.size()};
    bytes_.append(bytes);
    return at;
  };
  for (const SqlValue& value : statement.values) {
    if (const auto* number = std::get_if<int64_t>(&value)) {
      values_.emplace_back(*number);
    } else if (const auto* flag = std::get_if<bool>(&value)) {
      values_.emplace_back(*flag);
    } else if (std::holds_alternative<std::nullptr_t>(value)) {
      values_.emplace_back(nullptr);
    } else if (const auto* bytes = std::get_if<std::string_view>(&value)) {
      values_.emplace_back(copy(*bytes));
    } else if (const auto* text = std::get_if<SqlText>(&value)) {
      values_.emplace_back(Text{copy(text->utf8)});
    } else {
      Cut(size() - 1);
      return false;
    }
  }
  return true;
}

void AddedStatements::Cut(size_t size) {
  if (size >= statements_.size()) {
    return;
  }
  values_.resize(statements_[size].values);
  bytes_.resize(statements_[size].bytes);
  statements_.resize(size);
  if (size == 0) {
    texts_.clear();
  }
}

void AddedStatements::AppendTo(std::vector<SqlStatement>& others, size_t from, size_t to) const {
  for (size_t i = from; i < to; i++) {
    const size_t end = i + 1 < size() ? statements_[i + 1].values : values_.size();
    SqlStatement& view = others.emplace_back(SqlStatement{statements_[i].text});
    view.values.reserve(end - statements_[i].values);
    for (size_t at = statements_[i].values; at < end; at++) {
      view.values.push_back(std::visit(Shown{bytes_}, values_[at]));
    }
  }
}

}  // namespace oncemq
