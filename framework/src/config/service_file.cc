// SPDX-License-Identifier: Apache-2.0
#include "oncemq/framework/service_file.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <exception>
#include <set>
#include <sstream>

#include "layout.h"
#include "section.h"
#include "service_rules.h"
#include "service_sections.h"
#include "small_file.h"
#include "units.h"

namespace oncemq {
namespace {

constexpr size_t kLongestFile = 256 * 1024;

// Looks at the structure of a document and keeps nothing of it but its aliases: a value that holds
// itself has no end, and its memory is never given back.
class FindAliases final : public YAML::EventHandler {
 public:
  explicit FindAliases(Findings& findings) : findings_(findings) {}
  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    findings_.Add(mark, "YAML aliases are not taken; write the value out");
  }
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t,
                const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}

 private:
  Findings& findings_;
};

// The one document of the file, or findings. A second document would be ignored silently, so it is
// an error. Not by YAML::LoadAll: a file that begins with a comma gives it empty documents for
// ever.
YAML::Node LoadDocument(const std::string& yaml, Findings& findings) {
  std::istringstream in(yaml);
  YAML::Parser parser(in);
  FindAliases find_aliases(findings);
  if (!parser.HandleNextDocument(find_aliases)) {
    findings.AddAt("", "the file is empty");
  } else if (parser.HandleNextDocument(find_aliases)) {
    findings.AddAt("", "the file holds more than one YAML document");
  }
  return findings.empty() ? YAML::Load(yaml) : YAML::Node(YAML::NodeType::Undefined);
}

// The code that reads the options is their schema: every path that it asks for.
std::set<std::string> AllPaths(const ConfigSources& sources) {
  Findings asked("");
  ServiceOptions unused;
  // What is asked for only where it stands.
  Section file(YAML::Load("{kafka: {}, window: {id: {}}, reject: {}}"), "", sources, asked);
  ReadService(file, unused);
  return asked.asked();
}

ServiceOptions ReadDocument(std::string_view yaml, const ConfigSources& sources,
                            Findings& findings) {
  ServiceOptions options;
  if (yaml.size() > kLongestFile || yaml.find('\0') != std::string_view::npos) {
    findings.AddAt("", "the file is not a text of at most " + FormatByteCount(kLongestFile));
    return options;
  }
  FindLayoutFaults(yaml, findings);
  if (!findings.empty()) {
    return options;
  }
  findings.Learn(AllPaths(sources));
  const YAML::Node document = LoadDocument(std::string(yaml), findings);
  if (findings.empty()) {
    Section file(document, "", sources, findings);
    if (findings.empty()) {
      ReadService(file, options);
    }
  }
  // Rules between options make sense only once every option was understood.
  if (findings.empty()) {
    for (const BrokenRule& rule : BrokenRules(options)) {
      findings.AddAt(rule.path, rule.text);
    }
  }
  return options;
}

}  // namespace

Result<ServiceOptions> ParseService(std::string_view yaml, std::string_view file_name,
                                    const ConfigSources& sources) {
  Findings findings(file_name);
  ServiceOptions options;
  try {
    options = ReadDocument(yaml, sources, findings);
  } catch (const YAML::Exception& e) {
    findings.Add(e.mark, "this is not YAML: " + e.msg + PlainWords(e.msg));
  } catch (const std::exception& e) {
    findings.AddAt("", std::string("the file cannot be read: ") + e.what());
  }
  if (!findings.empty()) {
    return findings.ToError();
  }
  return options;
}

Result<ServiceOptions> LoadService(const std::string& path) {
  const Result<std::string> yaml = ReadSmallFile(path, kLongestFile, Readers::kAnybody);
  if (!yaml) {
    return Error{yaml.error().code, Effect::kNone, path + ": " + yaml.error().message};
  }
  return ParseService(*yaml, path);
}

}  // namespace oncemq
