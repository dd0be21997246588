// SPDX-License-Identifier: Apache-2.0
#include "document.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <exception>
#include <sstream>
#include <string>

#include "layout.h"
#include "units.h"

namespace oncemq {
namespace {

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

void ReadText(std::string_view yaml, const ConfigSources& sources, Findings& findings,
              const std::function<void(Section& file)>& read) {
  if (yaml.size() > kLongestFile || yaml.find('\0') != std::string_view::npos) {
    findings.AddAt("", "the file is not a text of at most " + FormatByteCount(kLongestFile));
    return;
  }
  FindLayoutFaults(yaml, findings);
  if (!findings.empty()) {
    return;
  }
  const YAML::Node document = LoadDocument(std::string(yaml), findings);
  if (!findings.empty()) {
    return;
  }
  Section file(document, "", sources, findings);
  if (findings.empty()) {
    read(file);
  }
}

}  // namespace

void ReadDocument(std::string_view yaml, const ConfigSources& sources, Findings& findings,
                  const std::function<void(Section& file)>& read) {
  try {
    ReadText(yaml, sources, findings, read);
  } catch (const YAML::Exception& e) {
    findings.Add(e.mark, "this is not YAML: " + e.msg + PlainWords(e.msg));
  } catch (const std::exception& e) {
    findings.AddAt("", std::string("the file cannot be read: ") + e.what());
  }
}

}  // namespace oncemq
