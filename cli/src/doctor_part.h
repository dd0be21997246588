// SPDX-License-Identifier: Apache-2.0
// DoctorPart: the findings of `oncemq doctor` about one part of a service.
//
// Thread safety: none; one thread at a time.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "exit_code.h"
#include "oncemq/base/clock.h"
#include "oncemq/base/result.h"
#include "oncemq/clients/sql_session.h"
#include "oncemq/framework/service_options.h"

namespace oncemq {

struct DoctorPart {
  std::string name;  // "window"
  std::string at;    // without user and password, empty for none
  int code = kExitDone;
  std::string why;  // of any other code
  // A setting, a number, a switch, null for none, or an object of these. Only `why` is a sentence.
  // Names of sizes end in `_bytes`, names of times in `_ms` or `_us`.
  nlohmann::ordered_json facts = nlohmann::ordered_json::object();
  // Sentences about settings that lower the guarantee.
  std::vector<std::string> lowers;
};

// How many claims are timed.
inline constexpr int kDoctorClaims = 100;

// The part is not well. An earlier reason stays.
void FailPart(DoctorPart& part, const Error& error);
void FailPart(DoctorPart& part, int code, std::string why);

// Median and 99th percentile, or why there are none. A refusal is no fault of the part: the
// needs of a service were asked before.
void AddClaims(DoctorPart& part, Result<std::vector<microseconds>> times);

// "12 MiB", rounded down.
std::string RoundSize(uint64_t bytes);

// Asks as a service does at its start: rights, tables, level. False: it would be refused, and the
// part says so.
bool AddScope(DoctorPart& part, const ServiceOptions& options);

// Each asks one server. `part.at` is said already.
void QueryRedis(const ServiceOptions& options, DoctorPart& part);
void QueryPostgres(const ServiceOptions& options, DoctorPart& part);

// From the INFO of a Redis, and the values of its settings `appendfsync` and `save`, which are
// missing where this user may not read them.
struct RedisSettings {
  std::optional<std::string> fsync;
  std::optional<std::string> save;
};
void DescribeRedis(std::string_view info, const RedisSettings& settings, int wanted_replicas,
                   DoctorPart& part);
// From the answer to kPostgresSettings.
inline constexpr std::string_view kPostgresSettings =
    "SELECT current_setting('server_version'), current_setting('synchronous_commit'), "
    "current_setting('fsync'), current_setting('full_page_writes'), "
    "current_setting('synchronous_standby_names'), (SELECT count(*) FROM pg_stat_replication)";
void DescribePostgres(const SqlRow& settings, DoctorPart& part);

DoctorPart DiagnoseWindow(const ServiceOptions& options);
DoctorPart DiagnoseKafka(const RuntimeOptions& options);
DoctorPart DiagnoseLocks(const ServiceOptions& options);

// For people: a line for each part, then one for each fact. Any facts give a text.
std::string DoctorText(const std::vector<DoctorPart>& parts);
nlohmann::ordered_json DoctorJson(const std::string& file, const std::vector<DoctorPart>& parts);
// Of the first part that is not well.
int CodeOfParts(const std::vector<DoctorPart>& parts);

}  // namespace oncemq
