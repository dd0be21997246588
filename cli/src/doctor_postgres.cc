// SPDX-License-Identifier: Apache-2.0
// The PostgreSQL of a window, as `oncemq doctor` finds it.
#include <cstdlib>
#include <optional>
#include <string>

#include "doctor_part.h"
#include "oncemq/clients/postgres_client.h"
#include "oncemq/dedup/postgres_window.h"

namespace oncemq {

void DescribePostgres(const SqlRow& settings, DoctorPart& part) {
  using nlohmann::ordered_json;
  const auto cell = [&](size_t column) {
    return column < settings.size() ? settings[column] : std::optional<std::string>();
  };
  const auto text = [&](size_t column) {
    return cell(column) ? ordered_json(*cell(column)) : ordered_json();
  };
  const auto is_on = [&](size_t column) {
    return cell(column) ? ordered_json(cell(column) == "on") : ordered_json();
  };
  const std::optional<std::string> names = cell(4);
  part.facts["server"] = "PostgreSQL";
  part.facts["version"] = text(0);
  part.facts["synchronous_commit"] = text(1);
  part.facts["window_synchronous_commit"] = cell(1) == "off" ? ordered_json("on") : text(1);
  part.facts["fsync"] = is_on(2);
  part.facts["full_page_writes"] = is_on(3);
  part.facts["standbys"] = {{"attached", std::atoi(cell(5).value_or("0").c_str())},
                            {"synchronous", names ? ordered_json(*names != "") : ordered_json()},
                            {"names", names && *names != "" ? text(4) : ordered_json()}};
  if (cell(2) == "off") {
    part.lowers.emplace_back("the crash of its host may take or damage anything (fsync off)");
  }
  if (cell(3) == "off") {
    part.lowers.emplace_back("the crash of its host may damage pages (full_page_writes off)");
  }
  if (names == "") {
    part.lowers.emplace_back(
        "the loss of this server takes the commits that no standby had: none is synchronous");
  } else if (cell(1) == "off" || cell(1) == "local") {
    part.lowers.emplace_back("no commit waits for a standby (synchronous_commit " + *cell(1) + ")");
  }
}

void QueryPostgres(const ServiceOptions& options, DoctorPart& part) {
  const auto endpoint = ParsePostgresEndpoint(options.postgres_at);
  if (!endpoint) {
    return FailPart(part, endpoint.error());
  }
  part.at = ToString(*endpoint);
  part.facts["schema"] = options.postgres.schema;
  const auto client = OpenPostgres(*endpoint, {options.postgres.connect, options.postgres.call}, 1);
  if (!client) {
    return FailPart(part, client.error());
  }
  const auto settings = (*client)->Run({kPostgresSettings});
  if (!settings || settings->rows.size() != 1) {
    return FailPart(part, settings ? Error{Code::kCorrupt, Effect::kNone,
                                           "the settings of the server cannot be read"}
                                   : settings.error());
  }
  DescribePostgres(settings->rows[0], part);
  if (AddScope(part, options)) {
    AddClaims(part, TimePostgresClaims(options.postgres_at, options.postgres, kDoctorClaims));
  }
}

}  // namespace oncemq
