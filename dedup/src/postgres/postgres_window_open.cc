// SPDX-License-Identifier: Apache-2.0
// The window in PostgreSQL: how it is opened, and its history of each partition.
#include <algorithm>
#include <array>
#include <limits>

#include "../other_owner.h"
#include "../remember_times.h"
#include "../window_check.h"
#include "oncemq/base/log.h"
#include "oncemq/base/random.h"
#include "oncemq/base/store_login.h"
#include "oncemq/clients/postgres_client.h"
#include "postgres_window_engine.h"
#include "schema_sql.h"
#include "window_statements.h"

namespace oncemq {
namespace {

constexpr int64_t kSchemaVersion = 2;
constexpr int64_t kOldestServer = 140'000;  // an older one reads the whole table for each sweep
constexpr int64_t kCrossingIds = 1;
constexpr int64_t kPartitionOwnedIds = 2;
constexpr int kSweepsAtOnce = 1;  // for one call of Committed(): others wait for it

bool IsSchema(std::string_view name) {
  return !name.empty() && name.size() <= 63 && (name[0] < '0' || name[0] > '9') &&
         name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == name.npos;
}

Error WrongSchema() {
  return InvalidRequest("a schema has 1 to 63 of a-z, 0-9 and _, and begins with no digit");
}

// In an answer of `find_scope`.
RememberTimes TimesIn(const SqlAnswer& found) {
  return {milliseconds(NumberOf(found, 0, 4)), milliseconds(NumberOf(found, 0, 5))};
}

// The statements of a file, which have no ; but at their ends.
std::vector<SqlStatement> StatementsOf(std::string_view text) {
  std::vector<SqlStatement> statements;
  while (!text.empty()) {
    const size_t end = text.find(";\n");
    const std::string_view one = text.substr(0, end);
    if (one.find_first_not_of(" \n") != one.npos) {
      statements.push_back({one});
    }
    text.remove_prefix(end == text.npos ? text.size() : end + 2);
  }
  return statements;
}

// Of the statement `version`: that the tables and the server are of versions that are known here.
Status KnownTables(const SqlOutcome& answer, const std::string& schema) {
  if (answer.refusal) {
    Error error = SqlError(*answer.refusal);
    if (answer.refusal->state == "42P01" || answer.refusal->state == "3F000") {
      error.code = Code::kInvalid;
      error.message = "the schema \"" + schema +
                      "\" has no tables of a window; `oncemq store migrate` makes them";
    }
    return error;
  }
  if (NumberOf(answer.answers[0], 0, 1) < kOldestServer) {
    return InvalidRequest("the window needs PostgreSQL " + std::to_string(kOldestServer / 10'000) +
                          " or later; this one is " +
                          std::to_string(NumberOf(answer.answers[0], 0, 1) / 10'000));
  }
  if (const int64_t found = NumberOf(answer.answers[0], 0, 0); found != kSchemaVersion) {
    return InvalidRequest("the tables of the schema \"" + schema + "\" are of version " +
                          std::to_string(found) + "; this program knows version " +
                          std::to_string(kSchemaVersion) +
                          (found < kSchemaVersion ? "; `oncemq store migrate` raises them, and "
                                                    "stops members of earlier versions"
                                                  : ""));
  }
  return {};
}

}  // namespace

WindowCapabilities PostgresWindowCapabilities(bool partition_owned) {
  return {.engine = "postgres",
          .shared = true,
          .durable = true,
          .atomic = true,
          .ages = true,
          .partition_owned = partition_owned,
          .remote = true,
          .keeps_history = true,
          .stores_claims = false,
          .keeps_rows = false,
          .timed = true};
}

PostgresWindow::PostgresWindow(std::unique_ptr<SqlClient> client,
                               const PostgresWindowOptions& options, SqlTextsByName texts)
    : capabilities_([&] {
        WindowCapabilities can = PostgresWindowCapabilities(options.partition_owned);
        can.level = *options.level;
        can.times = options.times;
        can.stores_claims = *options.level != Level::kAtomic;
        can.longest_call = options.connect + 2 * options.call;
        return can;
      }()),
      options_(options),
      client_(std::move(client)),
      texts_(std::move(texts)) {}

Result<std::unique_ptr<PostgresWindow>> PostgresWindow::OpenAt(std::string_view address,
                                                               const PostgresWindowOptions& options,
                                                               std::string_view clock) {
  if (Status fit = CheckPromise(options.level, options.times, "postgres", /*atomic=*/true); !fit) {
    return fit.error();
  }
  if (!IsSchema(options.schema)) {
    return WrongSchema();
  }
  if (options.scope.empty() || options.remember <= milliseconds(0) ||
      options.skew < milliseconds(0)) {
    return InvalidRequest("a window needs a scope, remember > 0 and skew >= 0");
  }
  const auto endpoint = ParseReadable(address, options.read_address, ParsePostgresEndpoint);
  if (!endpoint) {
    return endpoint.error();
  }
  // A process that stands still must not keep the rows of others for ever.
  auto client = OpenPostgres(*endpoint, {options.connect, options.call, options.idle, true},
                             options.max_connections);
  if (!client) {
    return client.error();
  }
  std::unique_ptr<PostgresWindow> window(
      new PostgresWindow(*std::move(client), options, WindowStatements(options.schema, clock)));
  if (const Status found = window->FindScope(); !found) {
    return found.error();
  }
  return window;
}

// Another process may be faster: then its scope is found.
Result<std::vector<SqlAnswer>> PostgresWindow::MakeScope() {
  std::string secret;
  while (secret.size() < KeyedHash::kSecretBytes) {
    const uint64_t random = SecureRandom64();
    secret.append(reinterpret_cast<const char*>(&random), sizeof(random));
  }
  const std::string_view name = options_.scope;
  const auto incarnation = static_cast<int64_t>(SecureRandom64() >> 1 | 1);
  const std::array statements{
      Text("make_scope",
           {name, std::string_view(secret), incarnation, static_cast<int64_t>(*options_.level),
            options_.partition_owned ? kPartitionOwnedIds : kCrossingIds}),
      Text("find_scope", {name})};
  auto made = All(statements);
  if (made && made->front().affected == 1) {
    Log(LogLevel::kInfo, "window", "made the scope: it knows no id from before",
        {{"scope", options_.scope}, {"engine", "postgres"}});
  }
  return made;
}

// Nothing tells a restart from a loss.
StoreLosses PostgresWindow::losses() const {
  MutexLock lock(mutex_);
  return {.possible = losses_};
}

// Makes it where it is missing.
Status PostgresWindow::FindScope() {
  const SqlStatement version = Text("version", {});
  const auto checked = client_->Try({&version, 1});
  const Status known = checked ? KnownTables(*checked, options_.schema) : checked.error();
  if (!known) {
    return known;
  }
  const std::string_view name = options_.scope;
  const std::array reads{Text("rights", {}), Text("find_scope", {name})};
  auto answers = All(reads);
  if (!answers) {
    return answers.error();
  }
  if (const SqlAnswer& missing = answers->front(); options_.check_rights && !missing.rows.empty()) {
    return InvalidRequest("the role of the address lacks the right " +
                          missing.rows[0][0].value_or("?") + " in the schema \"" + options_.schema +
                          "\"; grant it");
  }
  if (answers->back().rows.empty() && (options_.existing_only || options_.expect_scope)) {
    return NoSuchScope(options_.scope, options_.expect_scope);
  }
  if (answers->back().rows.empty()) {
    answers = MakeScope();
  }
  if (!answers) {
    return answers.error();
  }
  const SqlAnswer& found = answers->back();
  if (found.rows.size() != 1 || found.rows[0].size() != 7 ||
      found.rows[0][1].value_or("").size() != KeyedHash::kSecretBytes) {
    return Error{Code::kCorrupt, Effect::kNone, "the scope of the window cannot be read"};
  }
  if (NumberOf(found, 0, 3) != static_cast<int64_t>(*options_.level)) {
    return InvalidRequest("the scope \"" + options_.scope + "\" was made at level " +
                          std::string(ToString(static_cast<Level>(NumberOf(found, 0, 3)))) +
                          ", not " + std::string(ToString(*options_.level)) +
                          "; choose another scope and another group for another level");
  }
  if (const Status fits = TakeKind(NumberOf(found, 0, 6)); !fits) {
    return fits;
  }
  scope_.number = NumberOf(found, 0, 0);
  std::copy_n(found.rows[0][1]->begin(), KeyedHash::kSecretBytes, scope_.secret.begin());
  scope_.incarnation = static_cast<uint64_t>(NumberOf(found, 0, 2));
  if (options_.existing_only || TimesIn(found) == RequestedTimes(options_)) {
    return {};
  }
  const auto extended = Remember(RememberChange::kExtend);
  return extended ? Status() : extended.error();
}

Result<RememberTimes> PostgresWindow::Remember(RememberChange change) {
  const std::string_view name = options_.scope;
  const RememberTimes asked = RequestedTimes(options_);
  const bool extends = change == RememberChange::kExtend;
  std::vector<SqlStatement> statements;
  if (change == RememberChange::kExtend || change == RememberChange::kReplace) {
    statements.push_back(
        Text(extends ? "extend" : "replace", {name, asked.remember.count(), asked.skew.count()}));
  }
  statements.push_back(Text("find_scope", {name}));
  const auto answers = All(statements);
  if (!answers) {
    return answers.error();
  }
  const RememberTimes in_force = TimesIn(answers->back());
  const Status fits = CheckRememberTimes(asked, in_force, ScopeText(options_.scope), change);
  return fits ? Result<RememberTimes>(in_force) : fits.error();
}

// `ids` of the scope; 0: it is of version 1.
Status PostgresWindow::TakeKind(int64_t ids) {
  const bool asked = options_.partition_owned;
  if (ids == 0) {
    capabilities_.partition_owned = false;
    capabilities_.still_crossing = asked;
    if (asked && !options_.existing_only) {
      Log(LogLevel::kWarn, "window",
          "the scope is of an earlier version: an id still names one operation over all its topics "
          "and partitions, and a message with the id of another topic's is suppressed; choose "
          "another scope for ids that their partitions own",
          {{"schema", options_.schema}, {"scope", options_.scope}});
    }
    return {};
  }
  const bool owned = ids == kPartitionOwnedIds;
  return owned == asked
             ? Status()
             : InvalidRequest("the scope \"" + options_.scope + "\" was made for ids that " +
                              (owned ? "their partition owns" : "cross partitions") +
                              "; say so (`ids: " + (owned ? "partition_owned" : "crossing") +
                              "`), or choose another scope");
}

// The topic gets its number here, for ever: two members with other lists of topics agree.
Result<StoreKnowledge> PostgresWindow::Open(const StoreName& name) {
  const int64_t partition = name.partition;
  const std::array statements{Text("own_scope", {scope_.number, name.owner}),
                              Text("make_source", {scope_.number, name.topic}),
                              Text("make_partition", {scope_.number, name.topic, partition}),
                              Text("known", {scope_.number, name.topic, partition}),
                              Text("find_scope", {std::string_view(options_.scope)}),
                              Text("scope_now", {scope_.number})};
  const LogPosition before = LogPositionNow();
  const BootTime asked = BootNow();
  const auto answers = All(statements);
  if (!answers) {
    return answers.error();
  }
  const SqlAnswer& owner = answers->front();
  if (owner.rows.size() != 1 || owner.rows[0][0] != std::string(name.owner)) {
    return OtherOwner(ScopeText(options_.scope),
                      owner.rows.empty() ? "" : owner.rows[0][0].value_or(""), name.owner);
  }
  const SqlAnswer& scope = (*answers)[4];
  const std::string_view secret(reinterpret_cast<const char*>(scope_.secret.data()),
                                scope_.secret.size());
  if (scope.rows.size() != 1 || NumberOf(scope, 0, 0) != scope_.number ||
      scope.rows[0][1] != std::string(secret)) {
    return Error{Code::kCorrupt, Effect::kNone,
                 "the database has another scope \"" + options_.scope +
                     "\" than this process has opened; start the process again"};
  }
  const SqlAnswer& row = (*answers)[3];
  if (row.rows.size() != 1 || row.rows[0].size() != 7) {
    return Error{Code::kCorrupt, Effect::kNone, "what is known of a partition cannot be read"};
  }
  if (Status taken = TakeTime(answers->back(), before, nullptr); !taken) {
    return taken.error();
  }
  StoreKnowledge known;
  known.source = static_cast<uint32_t>(NumberOf(row, 0, 0));
  known.from = NumberOf(row, 0, 1);
  known.to = NumberOf(row, 0, 2);
  known.offset = NumberOf(row, 0, 3);
  known.metadata = row.rows[0][4].value_or("");
  known.incarnation = scope_.incarnation;
  MutexLock lock(mutex_);
  const auto [opened, fresh] = opened_.try_emplace({known.source, name.partition}, losses_);
  const bool noticed = !fresh && opened->second < losses_;
  // Elsewhere the log has all that a process may have to be told.
  const bool other_run = NumberOf(row, 0, 5) != 0;
  known.lost_writes = noticed || (other_run && *options_.level == Level::kOpaque);
  if (row.rows[0][6]) {
    known.lost_since = asked - microseconds(NumberOf(row, 0, 6));
  }
  opened->second = losses_;
  return known;
}

// Nothing is held for the partition. When it was opened stays known: batches of it may still be at
// work, and a loss must be told to them too.
void PostgresWindow::Close(uint32_t, int32_t) {}

// A commit that rests on lost changes must not be sent: so the update itself looks at the server,
// in one step.
Status PostgresWindow::Announce(std::span<const Announcement> announcements) {
  Status fit = CheckAnnouncements(announcements);
  if (!fit || announcements.empty() || !announcements[0].commits) {
    return fit;
  }
  const LogPosition log_position = LogPositionNow();
  const int64_t number = ++announcements_;
  std::vector<SqlStatement> statements;
  for (const Announcement& one : announcements) {
    if (const Status usable = UsableAt(one.source, one.partition); !usable) {
      return usable;
    }
    statements.push_back(
        Text("announce",
             {scope_.number, int64_t{one.source}, int64_t{one.partition}, one.from, one.to,
              one.offset, one.metadata, static_cast<int64_t>(one.owner_epoch), log_position.started,
              log_position.timeline, log_position.position, number, int64_t{one.complete}}));
  }
  statements.push_back(Text("scope_now", {scope_.number}));
  const auto answers = All(statements);
  if (!answers) {
    return answers.error();
  }
  Status made = TakeTime(answers->back(), log_position, nullptr);
  for (size_t i = 0; made && i < announcements.size(); i++) {
    made = UsableAt(announcements[i].source, announcements[i].partition);
    if (made && (*answers)[i].affected != 1) {
      made = NewerOwner();
    }
  }
  return made;
}

Status PostgresWindow::Committed(std::span<const Progress> progress,
                                 std::span<MarkerChange> answers) {
  if (Status fit = CheckProgress(progress, answers.size()); !fit) {
    return fit;
  }
  std::vector<SqlStatement> statements;
  for (const Progress& one : progress) {
    const int64_t watermark = one.watermark == kNoLogTime
                                  ? -1
                                  : std::max<int64_t>(one.watermark.time_since_epoch().count(), 0);
    statements.push_back(
        Text("committed", {scope_.number, int64_t{one.source}, int64_t{one.partition},
                           static_cast<int64_t>(one.owner_epoch), one.frontier, watermark}));
  }
  if (statements.empty()) {
    return {};
  }
  const auto changed = All(statements);
  if (!changed) {
    return changed.error();
  }
  for (size_t i = 0; i < progress.size(); i++) {
    answers[i] = (*changed)[i].affected == 1 ? MarkerChange::kMade : MarkerChange::kFenced;
  }
  // Only the space depends on it.
  if (const auto swept =
          Sweep(kSweepsAtOnce, BootNow() + options_.call, /*without_partition=*/false);
      !swept) {
    LogSeldom(LogLevel::kWarn, "window",
              "PostgreSQL could not forget old ids; a later commit asks again",
              {{"schema", options_.schema}, {"error", ToString(swept.error())}});
  }
  return {};
}

Result<SqlAnswer> PostgresWindow::SweepOnce(const SqlStatement& statement) {
  auto outcome = client_->Try({&statement, 1});
  if (outcome && !outcome->refusal) {
    return std::move(outcome->answers.front());
  }
  Error error = outcome ? SqlError(*outcome->refusal) : outcome.error();
  if (error.code == Code::kTimeout) {
    sweep_blocks_ = std::max<int64_t>(sweep_blocks_ / 2, 1);
  }
  return error;
}

// Some blocks at a time; the rest goes with a later commit, of any process.
Result<uint64_t> PostgresWindow::Sweep(int steps, BootTime until, bool without_partition) {
  const SqlStatement begin = Text("begin_sweep", {scope_.number});
  auto begun = SweepOnce(begin);
  if (begun && begun->affected > 0) {
    begun = SweepOnce(Text("forget_uncertain", {scope_.number, kUncertainKept.count()}));
  }
  if (!begun) {
    return begun.error();
  }
  if (without_partition) {
    if (begun = SweepOnce(Text("begin_alone", {scope_.number})); !begun) {
      return begun.error();
    }
  }
  uint64_t gone = 0;
  for (bool more = true; more && steps > 0 && BootNow() < until; steps--) {
    const int64_t blocks = sweep_blocks_;
    const SqlStatement mark = Text("mark", {scope_.number, blocks});
    const SqlStatement sweep = Text("sweep", {scope_.number, blocks});
    const auto marked = SweepOnce(mark);
    const auto swept = marked ? SweepOnce(sweep) : marked;
    if (!swept) {
      return swept.error();
    }
    sweep_blocks_ = std::min(2 * blocks, kSweepBlocks);
    gone += static_cast<uint64_t>(NumberOf(*swept, 0, 1));
    more = !swept->rows.empty() && swept->rows[0][0];
  }
  return gone;
}

Result<uint64_t> PostgresWindow::DropAged(milliseconds within) {
  return Sweep(std::numeric_limits<int>::max(), BootNow() + within, /*without_partition=*/true);
}

Result<std::vector<Coordinates>> PostgresWindow::PossibleCoordinates() {
  std::vector<Coordinates> coordinates{Coordinates{}};
  if (!capabilities_.partition_owned) {
    return coordinates;
  }
  const SqlStatement all = Text("places", {scope_.number});
  const auto answers = All({&all, 1});
  if (!answers) {
    return Error{answers.error().code, Effect::kNone, answers.error().message};
  }
  for (size_t i = 0; i < answers->front().rows.size(); i++) {
    coordinates.push_back({static_cast<uint32_t>(NumberOf(answers->front(), i, 0)),
                           static_cast<int32_t>(NumberOf(answers->front(), i, 1))});
  }
  return coordinates;
}

Status PostgresWindow::ForgetByHand(std::span<const std::string_view> ids,
                                    std::span<MarkerChange> answers) {
  if (Status fit = CheckBatch(capabilities_, ids, answers.size()); !fit) {
    return fit;
  }
  const auto coordinates = PossibleCoordinates();
  if (!coordinates) {
    return coordinates.error();
  }
  std::vector<std::string> digests;
  for (const std::string_view id : ids) {
    for (const Coordinates& at : *coordinates) {
      digests.push_back(DigestOf(id, at));
    }
  }
  const std::vector<std::string_view> asked(digests.begin(), digests.end());
  const SqlStatement forget = Text("forget_ids", {scope_.number, SqlTexts(asked)});
  const auto gone = All({&forget, 1});
  if (!gone) {
    return gone.error();
  }
  for (size_t i = 0; i < ids.size(); i++) {
    const std::vector<SqlRow>& rows = gone->front().rows;
    const auto its = std::span(digests).subspan(i * coordinates->size(), coordinates->size());
    const bool went = std::any_of(rows.begin(), rows.end(), [&](const SqlRow& row) {
      return std::find(its.begin(), its.end(), row[0]) != its.end();
    });
    answers[i] = went ? MarkerChange::kMade : MarkerChange::kFenced;
  }
  return {};
}

Result<std::vector<StoreStat>> PostgresWindow::Stat() {
  const std::array statements{Text("counts", {scope_.number}), Text("partitions", {scope_.number}),
                              Text("find_scope", {std::string_view(options_.scope)}),
                              Text("scope_now", {scope_.number})};
  // Counting may take longer than a call, which says nothing of the server.
  const auto outcome = client_->Try(statements);
  if (!outcome || outcome->refusal || outcome->answers.size() != statements.size()) {
    return !outcome           ? outcome.error()
           : outcome->refusal ? SqlError(*outcome->refusal)
                              : Error{Code::kInternal, Effect::kNone, "too few answers"};
  }
  const std::vector<SqlAnswer>* answers = &outcome->answers;
  const SqlAnswer& counts = answers->front();
  StoreStat stat;
  stat.directory = options_.schema;
  stat.identity = options_.scope;
  stat.level = *options_.level;
  stat.incarnation = scope_.incarnation;
  stat.history = static_cast<uint64_t>(NumberOf(counts, 0, 0));
  stat.open = static_cast<uint64_t>(NumberOf(counts, 0, 1));
  stat.parked = static_cast<uint64_t>(NumberOf(counts, 0, 2));
  stat.disk_bytes = static_cast<uint64_t>(NumberOf(counts, 0, 3));
  stat.remembers = TimesIn((*answers)[2]);
  const int64_t horizon = NumberOf(answers->back(), 0, 0);
  stat.horizon = horizon == 0 ? kNoLogTime : LogTime(milliseconds(horizon));
  for (const SqlRow& row : (*answers)[1].rows) {
    const auto number = [&](size_t column) {
      return row[column] ? ParseDecimal(*row[column]).value_or(0) : 0;
    };
    PartitionStat& one = stat.partitions.emplace_back();
    one.source = static_cast<uint32_t>(number(0));
    one.partition = static_cast<int32_t>(number(1));
    one.owner_epoch = static_cast<OwnerEpoch>(number(2));
    one.frontier = number(3);
    one.watermark = row[4] ? LogTime(milliseconds(number(4))) : kNoLogTime;
    one.known_from = number(5);
    one.known_to = number(6);
    one.announced = number(7);
    one.pins = row[8] == "t";
  }
  return std::vector<StoreStat>{std::move(stat)};
}

Result<std::unique_ptr<Window>> OpenPostgresWindow(std::string_view address,
                                                   const PostgresWindowOptions& options) {
  auto window = PostgresWindow::OpenAt(address, options, kPostgresClock);
  if (!window) {
    return window.error();
  }
  return std::unique_ptr<Window>(*std::move(window));
}

Result<std::string> PostgresWindowSchema(std::string_view schema) {
  if (!IsSchema(schema)) {
    return WrongSchema();
  }
  return FillIn(kSchemaSql, {{"schema", QuotedSchema(schema)}});
}

Status MigratePostgresWindow(std::string_view address, std::string_view schema) {
  const auto text = PostgresWindowSchema(schema);
  const auto endpoint = text ? ParsePostgresEndpoint(address) : Result<SqlEndpoint>(text.error());
  if (!endpoint) {
    return endpoint.error();
  }
  const auto client = OpenPostgres(*endpoint, {}, 1);
  if (!client) {
    return client.error();
  }
  // IF NOT EXISTS is no protection from somebody who makes them at the same moment.
  std::vector<SqlStatement> statements{
      {"SELECT pg_advisory_xact_lock($1)",
       {static_cast<int64_t>(StableHash("oncemq migrate " + std::string(schema)))}}};
  for (SqlStatement& one : StatementsOf(*text)) {
    statements.push_back(std::move(one));
  }
  const auto made = (*client)->Try(statements);
  if (!made) {
    return made.error();
  }
  return made->refusal ? Status(SqlError(*made->refusal)) : Status();
}

}  // namespace oncemq
