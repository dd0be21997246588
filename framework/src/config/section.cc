// SPDX-License-Identifier: Apache-2.0
#include "section.h"

#include <algorithm>

#include "edit_distance.h"
#include "oncemq/base/bytes.h"
#include "oncemq/base/check.h"
#include "quoted.h"
#include "units.h"

namespace oncemq {
namespace {

constexpr size_t kMostFindings = 50;

std::string Listed(std::span<const std::string_view> names) {
  std::string out;
  for (size_t i = 0; i < names.size(); i++) {
    out += i == 0 ? "" : i + 1 == names.size() ? " or " : ", ";
    out += "`" + std::string(names[i]) + "`";
  }
  return out;
}

// Plain scalars carry the tag "?", quoted ones "!"; any other was written by the user.
bool HasForeignTag(const YAML::Node& node) {
  return !node.Tag().empty() && node.Tag() != "?" && node.Tag() != "!";
}

}  // namespace

void Findings::Add(const YAML::Mark& mark, std::string text, std::string key) {
  found_.push_back({mark.line + 1, mark.column + 1, std::move(key), std::move(text)});
}

void Findings::AddAt(const std::string& path, const std::string& text) {
  for (std::string place = path;;) {
    const auto found = places_.find(place);
    if (found != places_.end() || place.empty()) {
      Add(found != places_.end() ? found->second : YAML::Mark::null_mark(),
          (path.empty() ? "" : "`" + path + "` ") + text, path);
      return;
    }
    const size_t dot = place.rfind('.');
    place.resize(dot == std::string::npos ? 0 : dot);
  }
}

std::string Findings::Elsewhere(std::string_view name) const {
  std::string places;
  for (const std::string& path : known_) {
    const size_t dot = path.rfind('.');
    const bool top = dot == std::string::npos;
    if (path == name && !top) {  // the whole path, as messages show it
      return "; write `" + path.substr(dot + 1) + ":` under `" + path.substr(0, dot) + ":`";
    }
    if (std::string_view(path).substr(top ? 0 : dot + 1) == name) {
      places += places.empty() ? "; it belongs " : " or ";
      places += top ? "at the top level" : "under `" + path.substr(0, dot) + ":`";
    }
  }
  return places;
}

std::vector<FileMistake> Findings::Sorted() const {
  std::vector<FileMistake> sorted = found_;
  std::stable_sort(sorted.begin(), sorted.end(), [](const FileMistake& a, const FileMistake& b) {
    return std::pair(a.line, a.column) < std::pair(b.line, b.column);
  });
  if (sorted.size() > kMostFindings) {
    sorted.resize(kMostFindings);
    sorted.push_back({.text = "and " + std::to_string(found_.size() - kMostFindings) + " more"});
  }
  return sorted;
}

Error Findings::ToError() const {
  Error error{Code::kInvalid, Effect::kNone, {}};
  for (const FileMistake& one : Sorted()) {
    error.message += (error.message.empty() ? "" : "\n") + file_name_;
    if (one.line > 0) {
      error.message += ":" + std::to_string(one.line) + ":" + std::to_string(one.column);
    }
    error.message += ": " + one.text;
  }
  return error;
}

Section::Section(const YAML::Node& node, std::string path, const ConfigSources& sources,
                 Findings& findings)
    : mark_(node.IsDefined() ? node.Mark() : YAML::Mark::null_mark()),
      path_(std::move(path)),
      sources_(sources),
      findings_(findings) {
  if (!node.IsDefined()) {
    return;
  }
  if (!node.IsMap()) {
    is_map_ = false;
    findings_.Add(
        mark_,
        (path_.empty() ? "the file" : "`" + path_ + "`") + " must be a mapping of keys to values",
        path_);
    return;
  }
  for (const auto& pair : node) {
    const YAML::Mark mark = pair.first.Mark();
    if (!pair.first.IsScalar()) {
      findings_.Add(mark, "a key must be a plain word");
      continue;
    }
    std::string name = pair.first.Scalar();
    if (Find(name) != nullptr) {
      findings_.Add(mark, "the key " + Quoted(name) + " stands here twice", PathOf(name));
      continue;
    }
    entries_.push_back({std::move(name), mark, pair.second});
  }
}

std::vector<std::string_view> Section::Names() const {
  std::vector<std::string_view> names;
  for (const Entry& entry : entries_) {
    names.push_back(entry.name);
  }
  return names;
}

const Section::Entry* Section::Find(std::string_view name) const {
  const auto found = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const Entry& entry) { return entry.name == name; });
  return found != entries_.end() ? &*found : nullptr;
}

Section::Entry* Section::LookUp(std::string_view name) {
  if (std::find(requested_.begin(), requested_.end(), name) == requested_.end()) {
    requested_.push_back(name);
    findings_.NoteRequested(PathOf(name));
  }
  for (Entry& entry : entries_) {
    if (entry.name == name) {
      entry.requested = true;
      findings_.Place(PathOf(name), entry.place());
      return &entry;
    }
  }
  return nullptr;
}

std::string Section::PathOf(std::string_view name) const {
  return (path_.empty() ? "" : path_ + ".") + std::string(name);
}

std::string Section::Shown(std::string_view name) const {
  return "`" + (path_.empty() ? "" : path_ + ".") + Quoted(name).substr(1);
}

void Section::Require(std::string_view name, std::string_view why) {
  if (LookUp(name) == nullptr && is_map_) {
    findings_.Add(mark_, Shown(name) + " is missing: " + std::string(why), PathOf(name));
  }
}

void Section::Blame(std::string_view name, const std::string& text) {
  const Entry* entry = Find(name);
  findings_.Add(entry != nullptr ? entry->place() : mark_, Shown(name) + " " + text, PathOf(name));
}

void Section::Forbid(std::string_view name, std::string_view why) {
  if (LookUp(name) != nullptr) {
    Blame(name, "has no meaning here: " + std::string(why));
  }
}

std::optional<std::string> Section::Scalar(const YAML::Node& node, std::string_view name,
                                           SecretPlace place) {
  const auto refuse = [&](const std::string& text) {
    findings_.Add(node.Mark(), Shown(name) + text, PathOf(name));
    return std::nullopt;
  };
  if (!node.IsScalar()) {
    return refuse(node.IsNull() ? " has no value" : " must be one value");
  }
  if (HasForeignTag(node)) {
    return refuse(" carries a YAML tag; write a plain value");
  }
  Result<std::string> value = ExpandValue(node.Scalar(), sources_, place);
  if (!value) {
    return refuse(": " + value.error().message);
  }
  return *std::move(value);
}

std::optional<std::string> Section::ScalarOf(std::string_view name, SecretPlace place) {
  const Entry* entry = LookUp(name);
  return entry != nullptr ? Scalar(entry->value, name, place) : std::nullopt;
}

bool Section::Text(std::string_view name, std::string& out) {
  return TextAt(name, out, SecretPlace::kNo);
}

bool Section::Secret(std::string_view name, std::string& out, ReadAddress* again) {
  if (!TextAt(name, out, SecretPlace::kYes)) {
    return false;
  }
  const std::string& text = Find(name)->value.Scalar();
  if (again != nullptr && HoldsFile(text)) {
    *again = [text, sources = sources_] { return ExpandValue(text, sources, SecretPlace::kYes); };
  }
  return true;
}

bool Section::TextAt(std::string_view name, std::string& out, SecretPlace place) {
  std::optional<std::string> value = ScalarOf(name, place);
  if (value && value->empty()) {
    Blame(name, "is empty");
    return false;
  }
  // What takes it for the end of the text would use another name than the one that was checked.
  if (value && value->find('\0') != std::string::npos) {
    Blame(name, "holds a zero byte");
    return false;
  }
  if (value) {
    out = *std::move(value);
  }
  return value.has_value();
}

bool Section::Path(std::string_view name, std::string& out) {
  if (!Text(name, out)) {
    return false;
  }
  // Never by the working directory: members that are started elsewhere would have other stores.
  const std::filesystem::path path = findings_.Folder() / out;
  if (!path.is_absolute()) {
    Blame(name, "is relative, and in which folder the service file lies is not known");
    return false;
  }
  out = path;
  return true;
}

bool Section::Texts(std::string_view name, std::vector<std::string>& out) {
  const Entry* entry = Find(name);
  if (entry == nullptr || !entry->value.IsSequence()) {
    std::string one;
    const bool read = Text(name, one);
    if (read) {
      out = {std::move(one)};
    }
    return read;
  }
  LookUp(name);
  std::vector<std::string> list;
  for (const auto& node : entry->value) {
    const std::optional<std::string> value = Scalar(node, name, SecretPlace::kNo);
    if (value && value->empty()) {
      findings_.Add(node.Mark(), Shown(name) + " holds an empty text", PathOf(name));
    }
    if (value && value->find('\0') != std::string::npos) {
      findings_.Add(node.Mark(), Shown(name) + " holds a zero byte", PathOf(name));
    }
    list.push_back(value.value_or(""));
  }
  if (list.empty()) {
    Blame(name, "is empty");
  }
  out = std::move(list);
  return !out.empty();
}

std::optional<uint64_t> Section::NumberOf(std::string_view name, uint64_t least, uint64_t most) {
  const std::optional<std::string> value = ScalarOf(name);
  if (!value) {
    return std::nullopt;
  }
  const std::optional<int64_t> number = ParseDecimal(*value);
  if (!number || *number < 0 || static_cast<uint64_t>(*number) < least ||
      static_cast<uint64_t>(*number) > most) {
    Blame(name, "must be a whole number from " + std::to_string(least) + " to " +
                    std::to_string(most) + ", not " + Quoted(*value));
    return std::nullopt;
  }
  return static_cast<uint64_t>(*number);
}

std::optional<std::chrono::milliseconds> Section::DurationOf(std::string_view name,
                                                             std::chrono::milliseconds least,
                                                             std::chrono::milliseconds most) {
  ONCEMQ_CHECK(most <= kLongestDuration, "the bound that is told can be said");
  const std::optional<std::string> value = ScalarOf(name);
  if (!value) {
    return std::nullopt;
  }
  const auto duration = ParseDuration(*value);
  if (!duration || *duration < least || *duration > most) {
    Blame(name, "must be a time with its unit (ms, s, m, h) from " + FormatDuration(least) +
                    " to " + FormatDuration(most) + ", not " + Quoted(*value));
    return std::nullopt;
  }
  return duration;
}

bool Section::Bytes(std::string_view name, uint64_t& out, uint64_t least, uint64_t most) {
  const std::optional<std::string> value = ScalarOf(name);
  if (!value) {
    return false;
  }
  const std::optional<uint64_t> bytes = ParseByteCount(*value);
  if (!bytes || *bytes < least || *bytes > most) {
    Blame(name, "must be a size with its unit (B, KiB, MiB, GiB) from " + FormatByteCount(least) +
                    " to " + FormatByteCount(most) + ", not " + Quoted(*value));
    return false;
  }
  out = *bytes;
  return true;
}

std::optional<size_t> Section::ChoiceOf(std::string_view name,
                                        std::span<const std::string_view> names) {
  const std::optional<std::string> value = ScalarOf(name);
  if (!value) {
    return std::nullopt;
  }
  return Chosen(name, *value, names);
}

std::optional<size_t> Section::Chosen(std::string_view name, std::string_view value,
                                      std::span<const std::string_view> names) {
  const auto found = std::find(names.begin(), names.end(), value);
  if (found == names.end()) {
    Blame(name, "must be " + Listed(names) + ", not " + Quoted(value) + DidYouMean(value, names));
    return std::nullopt;
  }
  return static_cast<size_t>(found - names.begin());
}

std::vector<size_t> Section::ChoicesOf(std::string_view name,
                                       std::span<const std::string_view> names) {
  std::vector<std::string> values;
  std::vector<size_t> chosen;
  Texts(name, values);
  for (const std::string& value : values) {
    if (const auto one = Chosen(name, value, names)) {
      chosen.push_back(*one);
    }
  }
  return chosen;
}

void Section::FreePairs(std::string_view name, Pairs& out, bool (*secret)(std::string_view key),
                        Status (*check)(std::string_view key, std::string_view value)) {
  Section pairs = Sub(name);
  for (const Entry& entry : pairs.entries_) {
    const SecretPlace place = secret(entry.name) ? SecretPlace::kYes : SecretPlace::kNo;
    std::optional<std::string> value = pairs.Scalar(entry.value, entry.name, place);
    if (!value) {
      continue;
    }
    if (const Status fine = check(entry.name, *value); !fine) {
      findings_.Add(entry.mark, fine.error().message, pairs.PathOf(entry.name));
    } else {
      out.emplace_back(entry.name, *std::move(value));
    }
  }
}

Section Section::Sub(std::string_view name) {
  const Entry* entry = LookUp(name);
  Section sub(entry != nullptr ? entry->value : YAML::Node(YAML::NodeType::Undefined), PathOf(name),
              sources_, findings_);
  if (entry == nullptr) {
    sub.mark_ = mark_;
  }
  return sub;
}

bool Section::IsMap(std::string_view name) const {
  const Entry* entry = Find(name);
  return entry != nullptr && entry->value.IsMap();
}

void Section::Finish(std::string_view (*hint)(std::string_view key)) {
  for (const Entry& entry : entries_) {
    if (entry.requested) {
      continue;
    }
    std::string text = "unknown key " + Quoted(entry.name);
    text += path_.empty() ? "" : " in `" + path_ + "`";
    const std::string_view known = hint != nullptr ? hint(entry.name) : std::string_view();
    const std::string elsewhere = findings_.Elsewhere(entry.name);
    text += !known.empty()       ? "; " + std::string(known)
            : !elsewhere.empty() ? elsewhere
                                 : DidYouMean(entry.name, requested_);
    findings_.Add(entry.mark, std::move(text), PathOf(entry.name));
  }
}

}  // namespace oncemq
