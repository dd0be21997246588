// SPDX-License-Identifier: Apache-2.0
// The PostgreSQL of a window, as `oncemq doctor` finds it.
#include <cstdlib>
#include <string>

#include "doctor_part.h"
#include "oncemq/clients/postgres_client.h"
#include "oncemq/dedup/postgres_window.h"

namespace oncemq {

void DescribePostgres(const SqlRow& settings, DoctorPart& part) {
  const auto cell = [&](size_t column) {
    return column < settings.size() ? settings[column].value_or("?") : std::string("?");
  };
  const std::string names = cell(4);
  part.facts["server"] = "PostgreSQL " + cell(0);
  part.facts["synchronous_commit"] =
      cell(1) == "off" ? "off, and the window waits for the disk all the same" : cell(1);
  part.facts["fsync"] = cell(2);
  part.facts["standbys"] = {{"attached", std::atoi(cell(5).c_str())},
                            {"synchronous", names.empty() ? "none" : names}};
  if (cell(2) == "off") {
    part.lowers.emplace_back("the crash of its host may take or damage anything (fsync off)");
  }
  if (cell(3) == "off") {
    part.lowers.emplace_back("the crash of its host may damage pages (full_page_writes off)");
  }
  if (names.empty()) {
    part.lowers.emplace_back(
        "the loss of this server takes the commits that no standby had: none is synchronous");
  } else if (cell(1) == "off" || cell(1) == "local") {
    part.lowers.emplace_back("no commit waits for a standby (synchronous_commit " + cell(1) + ")");
  }
}

void AskPostgres(const ServiceOptions& options, DoctorPart& part) {
  const auto place = ParsePostgresPlace(options.postgres_at);
  if (!place) {
    return FailPart(part, place.error());
  }
  part.at = ToString(*place) + ", schema " + options.postgres.schema;
  const auto client = OpenPostgres(*place, {options.postgres.connect, options.postgres.call}, 1);
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
