// SPDX-License-Identifier: Apache-2.0
#include "oncemq/framework/service_file.h"

#include <yaml-cpp/yaml.h>

#include <set>

#include "document.h"
#include "section.h"
#include "service_rules.h"
#include "service_sections.h"
#include "small_file.h"

namespace oncemq {
namespace {

// The code that reads the options is their schema: every path that it asks for.
std::set<std::string> AllPaths(const ConfigSources& sources) {
  Findings asked("");
  ServiceOptions unused;
  // What is asked for only where it stands.
  Section file(YAML::Load("{kafka: {}, window: {id: {}}, reject: {}}"), "", sources, asked);
  ReadService(file, unused);
  return asked.asked();
}

Result<std::string> TextOf(const std::string& path) {
  Result<std::string> yaml = ReadSmallFile(path, kLongestFile, Readers::kAnybody);
  if (!yaml) {
    yaml.error().message.insert(0, path + ": ");
  }
  return yaml;
}

}  // namespace

Result<ServiceOptions> ParseService(std::string_view yaml, std::string_view file_name,
                                    const ConfigSources& sources) {
  Findings findings(file_name);
  ServiceOptions options;
  ReadDocument(yaml, sources, findings, [&](Section& file) {
    findings.Learn(AllPaths(sources));
    ReadService(file, options);
  });
  // Rules between options make sense only once every option was understood.
  if (findings.empty()) {
    for (const BrokenRule& rule : BrokenRules(options)) {
      findings.AddAt(rule.path, rule.text);
    }
  }
  if (!findings.empty()) {
    return findings.ToError();
  }
  return options;
}

Result<ServiceOptions> LoadService(const std::string& path) {
  const Result<std::string> yaml = TextOf(path);
  return yaml ? ParseService(*yaml, path) : yaml.error();
}

Result<AdminOptions> LoadAdmin(const std::string& path) {
  const Result<std::string> yaml = TextOf(path);
  if (!yaml) {
    return yaml.error();
  }
  Findings findings(path);
  AdminOptions options;
  ReadDocument(*yaml, ProcessSources(), findings,
               [&](Section& file) { ReadAdmin(file.Sub("admin"), options); });
  return findings.empty() ? Result<AdminOptions>(options) : findings.ToError();
}

}  // namespace oncemq
