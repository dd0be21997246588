// SPDX-License-Identifier: Apache-2.0
// Sends events from lines of standard input, to try the ledger with a broker of one's own:
//
//   ledger_send [BROKERS [TOPIC]]
//
//   ID open ACCOUNT | ID deposit ACCOUNT CENTS | ID transfer PAYER PAYEE CENTS
//   ID close DAY | ID statement ACCOUNT
#include <chrono>
#include <cstdio>
#include <iostream>
#include <optional>
#include <sstream>
#include <string>

#include "event_sender.h"
#include "postings.h"

namespace {

std::optional<ledger::Event> EventOf(std::istringstream& words) {
  std::string kind;
  std::string name;
  words >> kind >> name;
  if (kind == "open") {
    return ledger::OpenAccount{name};
  }
  if (kind == "close") {
    return ledger::CloseDay{name};
  }
  if (kind == "statement") {
    return ledger::Statement{name};
  }
  ledger::Move move{std::string(ledger::kOutside), name, 0};
  if (kind == "transfer") {
    move.payer = name;
    words >> move.payee;
  } else if (kind != "deposit") {
    return std::nullopt;
  }
  words >> move.cents;
  return words ? std::optional<ledger::Event>(move) : std::nullopt;
}

int Fail(const oncemq::Error& error) {
  std::fprintf(stderr, "ledger_send: %s\n", error.message.c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  const char* const brokers = argc > 1 ? argv[1] : "localhost:9092";
  const auto sender =
      ledger::demo::EventSender::Connect(brokers, argc > 2 ? argv[2] : "settlements");
  if (!sender) {
    return Fail(sender.error());
  }
  int lines = 0;
  for (std::string line; std::getline(std::cin, line);) {
    lines++;
    std::istringstream words(line);
    std::string id;
    words >> id;
    const auto event = EventOf(words);
    if (!event) {
      std::fprintf(stderr, "ledger_send: line %d is no event: %s\n", lines, line.c_str());
      return 2;
    }
    const auto sent = (*sender)->Send(id, *event, ledger::demo::EventSender::kByKey);
    if (!sent) {
      return Fail(sent.error());
    }
  }
  const auto flushed = (*sender)->Flush(std::chrono::seconds(10));
  return flushed ? 0 : Fail(flushed.error());
}
