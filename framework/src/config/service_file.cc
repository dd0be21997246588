// SPDX-License-Identifier: Apache-2.0
#include "oncemq/framework/service_file.h"

#include <yaml-cpp/yaml.h>

#include <set>
#include <utility>

#include "document.h"
#include "section.h"
#include "service_rules.h"
#include "service_sections.h"
#include "small_file.h"

namespace oncemq {
namespace {

// The code that reads the options is their schema: every path that it asks for.
std::set<std::string> AllPaths(const ConfigSources& sources) {
  Findings requested("");
  ServiceOptions unused;
  // What is asked for only where it stands.
  Section file(YAML::Load("{kafka: {}, window: {id: {}}, reject: {}}"), "", sources, requested);
  ReadService(file, unused);
  return requested.requested();
}

Result<std::string> TextOf(const std::string& path) {
  Result<std::string> yaml = ReadSmallFile(path, kLongestFile, Readers::kAnybody);
  if (!yaml) {
    yaml.error().message.insert(0, path + ": ");
  }
  return yaml;
}

Findings ReadOptions(std::string_view yaml, std::string_view file_name,
                     const ConfigSources& sources, ServiceOptions& options) {
  Findings findings(file_name);
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
  return findings;
}

}  // namespace

Result<ServiceOptions> ParseService(std::string_view yaml, std::string_view file_name,
                                    const ConfigSources& sources) {
  ServiceOptions options;
  const Findings findings = ReadOptions(yaml, file_name, sources, options);
  return findings.empty() ? Result<ServiceOptions>(std::move(options)) : findings.ToError();
}

Result<ServiceOptions> LoadService(const std::string& path) {
  const Result<std::string> yaml = TextOf(path);
  return yaml ? ParseService(*yaml, path) : yaml.error();
}

std::vector<FileMistake> MistakesIn(const std::string& path) {
  const Result<std::string> yaml = TextOf(path);
  ServiceOptions unused;
  return yaml ? ReadOptions(*yaml, path, ProcessSources(), unused).Sorted()
              : std::vector<FileMistake>();
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
