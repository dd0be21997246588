// SPDX-License-Identifier: Apache-2.0
#include "show.h"

#include <chrono>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "books.h"
#include "broker_view.h"
#include "child.h"
#include "crew.h"
#include "embedded_broker.h"
#include "event_sender.h"
#include "oncemq/base/bytes.h"
#include "oncemq/base/log.h"
#include "oncemq/clients/postgres_client.h"
#include "postgres_child.h"
#include "screen.h"
#include "tables.h"
#include "traffic.h"
#include "words.h"
#include "work_dir.h"

namespace ledger::demo {
namespace {

using oncemq::BootNow;
using oncemq::BootTime;
using oncemq::milliseconds;
using oncemq::Status;
using oncemq::demo::Grouped;

constexpr char kTopic[] = "settlements";
constexpr char kGroup[] = "ledger";
constexpr int kEnded = 130;
constexpr milliseconds kTurn{20};
constexpr milliseconds kPollInterval{500};
constexpr milliseconds kOpening{30'000};
constexpr milliseconds kDrain{45'000};
constexpr milliseconds kStatementEvery{5'000};
// The group needs some seconds after a kill. So some kills meet a writer at work, and some one that
// has only just come back.
constexpr int64_t kLeastKillMs = 3'000;
constexpr int64_t kMostKillMs = 9'000;
constexpr int64_t kMostAwayMs = 2'000;

class Show {
 public:
  explicit Show(const ShowOptions& options) : options_(options), random_(options.seed + 1) {}

  int Run();

 private:
  Status Prepare(const std::filesystem::path& programs);
  Status OpenAccounts();
  Status Storm();
  Status KillWhenDue(BootTime now);
  Status CloseByTwo();
  Status Drain();
  bool Drained();
  int Conclude();

  int64_t Draw(int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(random_);
  }
  // The first column of its first row.
  std::string One(std::string_view statement);
  int64_t Booked();
  // Serves the writers until `done`, or until an end of the time, which is an error.
  template <class Done>
  Status Until(milliseconds longest, std::string_view what, Done done);
  void PrintLine(const std::string& text) { screen_.Line(Clock() + text); }
  std::string Clock() const;

  const ShowOptions options_;
  std::mt19937_64 random_;
  const BootTime began_ = BootNow();
  oncemq::demo::Screen screen_;
  std::unique_ptr<oncemq::demo::WorkDir> dir_;
  std::unique_ptr<PostgresChild> postgres_;
  std::unique_ptr<oncemq::SqlClient> sql_;
  std::unique_ptr<oncemq::demo::EmbeddedBroker> broker_;
  std::unique_ptr<EventSender> sender_;
  std::unique_ptr<Traffic> traffic_;
  std::optional<Crew> crew_;
  std::vector<std::unique_ptr<Child>> closers_;
  BootTime next_kill_{};
  bool ended_ = false;  // by a signal
};

oncemq::Error Broken(std::string why) {
  return {oncemq::Code::kUnavailable, oncemq::Effect::kNone, std::move(why)};
}

std::string Show::Clock() const {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(BootNow() - began_).count();
  std::string text = std::to_string(seconds);
  return std::string(text.size() < 3 ? 3 - text.size() : 0, ' ') + text + " s  ";
}

std::string Show::One(std::string_view statement) {
  const auto answer = sql_->Run({statement});
  return answer && !answer->rows.empty() ? answer->rows[0][0].value_or("") : "";
}

int64_t Show::Booked() {
  return oncemq::ParseDecimal(One("SELECT count(*) / 2 FROM postings")).value_or(0);
}

template <class Done>
Status Show::Until(milliseconds longest, std::string_view what, Done done) {
  const BootTime until = BootNow() + longest;
  while (!done()) {
    if (oncemq::demo::PauseOrEnd(kPollInterval)) {
      ended_ = true;
      return Broken("ended by a signal");
    }
    if (BootNow() >= until) {
      return Broken(std::string(what) + " takes too long");
    }
    if (const Status tended = crew_->Tend(BootNow()); !tended) {
      return tended;
    }
  }
  return {};
}

Status Show::Prepare(const std::filesystem::path& programs) {
  auto dir = oncemq::demo::WorkDir::Make(options_.keep);
  if (!dir) {
    return dir.error();
  }
  dir_ = *std::move(dir);
  auto postgres = PostgresChild::Start(programs, dir_->path() / "postgres");
  if (!postgres) {
    return postgres.error();
  }
  postgres_ = *std::move(postgres);
  if (const Status made = MakeTables(postgres_->address()); !made) {
    return made;
  }
  auto sql = oncemq::OpenPostgres(*oncemq::ParsePostgresEndpoint(postgres_->address()),
                                  {.call = std::chrono::seconds(20)}, 1);
  if (!sql) {
    return sql.error();
  }
  sql_ = *std::move(sql);
  auto broker = oncemq::demo::EmbeddedBroker::Start(kTopic, Traffic::kPartitions);
  if (!broker) {
    return broker.error();
  }
  broker_ = *std::move(broker);
  auto sender = EventSender::Connect(broker_->address(), kTopic);
  if (!sender) {
    return sender.error();
  }
  sender_ = *std::move(sender);
  traffic_ = std::make_unique<Traffic>(*sender_, options_.seed);
  crew_.emplace(CrewOptions{.program = options_.program,
                            .service_file = options_.service_file,
                            .directory = dir_->path(),
                            .brokers = broker_->address(),
                            .database = postgres_->address()});
  PrintLine("PostgreSQL and a broker are up; " + std::to_string(Crew::kWriters) +
            " writers start, each on a directory of its own");
  return crew_->Start();
}

Status Show::OpenAccounts() {
  if (const Status sent = traffic_->OpenAccounts(); !sent) {
    return sent;
  }
  return Until(kOpening, "the opening of the accounts",
               [&] { return Booked() == Traffic::kAccounts; });
}

Status Show::KillWhenDue(BootTime now) {
  if (now >= next_kill_) {
    const auto victim = static_cast<size_t>(Draw(0, Crew::kWriters - 1));
    if (crew_->Running(victim)) {
      crew_->Kill(victim, now + milliseconds(Draw(0, kMostAwayMs)));
      PrintLine("writer " + std::to_string(victim + 1) + " is killed (SIGKILL); " +
                Grouped(traffic_->settlements()) + " settlements are sent, " + Grouped(Booked()) +
                " booked");
    }
    next_kill_ = now + milliseconds(Draw(kLeastKillMs, kMostKillMs));
  }
  return crew_->Tend(now);
}

// Two processes at the same time, as a timer on each host does it.
Status Show::CloseByTwo() {
  const std::string day = One("SELECT max(day) FROM postings");
  for (const char* log : {"close-1.log", "close-2.log"}) {
    auto closer = crew_->Close(day, log);
    if (!closer) {
      return closer.error();
    }
    closers_.push_back(*std::move(closer));
  }
  PrintLine("two processes close the day " + day);
  return {};
}

Status Show::Storm() {
  const BootTime begin = BootNow();
  const auto whole = std::chrono::seconds(options_.seconds);
  const BootTime end = begin + whole;
  BootTime next_statement = begin;
  traffic_->Begin(begin);
  next_kill_ = begin + milliseconds(Draw(kLeastKillMs, kMostKillMs));
  for (BootTime now = begin; now < end; now = BootNow()) {
    Status done = traffic_->Flow(now);
    if (done && now >= next_statement) {
      done = traffic_->RequestStatement();
      next_statement = now + kStatementEvery;
    }
    if (done && closers_.empty() && now >= begin + whole / 2) {
      done = CloseByTwo();
    }
    if (done) {
      done = KillWhenDue(now);
    }
    if (!done) {
      return done;
    }
    if (oncemq::demo::PauseOrEnd(kTurn)) {
      ended_ = true;
      return Broken("ended by a signal");
    }
  }
  return traffic_->End();
}

// Every offset of every partition is committed.
bool Show::Drained() {
  const auto view = oncemq::demo::BrokerView::Connect(broker_->address(), kTopic, kGroup);
  if (!view) {
    return false;
  }
  for (int32_t partition = 0; partition < Traffic::kPartitions; partition++) {
    const auto found = (*view)->Read(partition);
    if (!found || found->committed != found->log_end) {
      return false;
    }
  }
  return true;
}

Status Show::Drain() {
  PrintLine("no more kills after " + std::to_string(crew_->kills()) + "; " +
            Grouped(traffic_->settlements()) + " settlements and " + Grouped(traffic_->copies()) +
            " copies are sent, " + Grouped(Booked()) + " booked");
  if (const Status drained = Until(kDrain, "the rest of the work", [&] { return Drained(); });
      !drained) {
    return drained;
  }
  for (const auto& closer : closers_) {
    if (closer->Wait(kDrain) != 0) {
      return Broken("a process that closes the day did not end in order");
    }
  }
  PrintLine("all is handled and committed; the writers leave");
  return crew_->Leave();
}

int Show::Conclude() {
  const auto books = ReadBooks(*sql_, crew_->Journals());
  if (!books) {
    screen_.Line("ledger_demo: " + ToString(books.error()));
    return 1;
  }
  bool good = true;
  screen_.Line("");
  for (const Finding& finding : Judge(traffic_->sent(), *books)) {
    screen_.Line("  " + screen_.Mark(finding.good) + "  " + finding.text);
    good = good && finding.good;
  }
  if (options_.keep) {
    screen_.Line("  kept: " + dir_->path().string());
  }
  screen_.Line("verdict: " + screen_.Mark(good));
  return good ? 0 : 4;
}

int Show::Run() {
  const auto programs = PostgresChild::Programs();
  if (!programs) {
    screen_.Line(
        "ledger_demo: there is no PostgreSQL (/usr/lib/postgresql/*/bin/initdb); install "
        "the package postgresql");
    return 3;
  }
  Status done = Prepare(*programs);
  for (const auto step : {&Show::OpenAccounts, &Show::Storm, &Show::Drain}) {
    done = done ? (this->*step)() : done;
  }
  if (!done) {
    screen_.Line("ledger_demo: " + done.error().message);
    if (options_.keep && dir_) {
      screen_.Line("kept: " + dir_->path().string());
    }
    return ended_ ? kEnded : 1;
  }
  return Conclude();
}

}  // namespace

int RunShow(const ShowOptions& options) {
  oncemq::demo::BlockEnds();
  oncemq::StartLogging({.level = oncemq::LogLevel::kError});
  const int code = Show(options).Run();
  oncemq::StopLogging();
  return code;
}

}  // namespace ledger::demo
