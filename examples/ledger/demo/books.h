// SPDX-License-Identifier: Apache-2.0
// The books after a run, from PostgreSQL and the files of refused messages; and their judge.
//
// Thread safety: values and functions; ReadBooks as the session.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "oncemq/base/result.h"
#include "oncemq/clients/sql_session.h"
#include "postings.h"

namespace ledger::demo {

struct Books {
  struct Row {
    std::string account;
    int64_t cents = 0;
    std::string day;
    friend bool operator==(const Row&, const Row&) = default;
  };
  struct Closing {
    std::string day;
    int64_t postings = 0;
  };
  std::map<std::string, std::vector<Row>> postings;  // by id, in the order of their numbers
  std::map<std::string, int64_t> balances;
  std::map<std::string, int> statements;  // by request
  std::vector<Closing> closings;
  std::map<std::string, int> refused;  // how often the files name an id
};

oncemq::Result<Books> ReadBooks(oncemq::SqlSession& session,
                                std::span<const std::filesystem::path> journals);

// The events that were sent, each id once.
using Sent = std::vector<std::pair<std::string, Event>>;

struct Finding {
  bool good = false;
  std::string text;
};

// Judges by the books alone. A settlement counts as refused where a file names it and no posting
// does: one that was refused right before a kill may be booked by the next writer.
std::vector<Finding> Judge(const Sent& sent, const Books& books);

}  // namespace ledger::demo
