// SPDX-License-Identifier: Apache-2.0
// Section: one mapping of the file, read key by key into typed options. A key that nobody asked for
// is unknown, so the code that reads the options is the schema. Errors are collected, with line and
// column, and reading goes on; an option keeps its default where its value was wrong.
//
// Thread safety: none; lives inside one ParseService.
#pragma once

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "expand.h"
#include "oncemq/framework/service_file.h"

namespace oncemq {

inline constexpr std::pair<std::string_view, bool> kYesNo[] = {{"true", true}, {"false", false}};

// What is wrong with one file.
class Findings {
 public:
  explicit Findings(std::string_view file_name) : file_name_(file_name) {}

  // Of the file, absolute; empty: it cannot be known.
  std::filesystem::path Folder() const {
    std::error_code failed;
    return std::filesystem::absolute(file_name_, failed).parent_path();
  }
  // `key` is the path of a single key, where the text is about one.
  void Add(const YAML::Mark& mark, std::string text, std::string key = {});
  // Remembers where an option stands, for AddAt.
  void Place(std::string path, const YAML::Mark& mark) { places_[std::move(path)] = mark; }
  // At the option's place, or at that of the section in which it is missing.
  void AddAt(const std::string& path, const std::string& text);
  bool empty() const { return found_.empty(); }
  // Every path that was asked for, whether it was there or not.
  void NoteRequested(std::string path) { requested_.insert(std::move(path)); }
  const std::set<std::string>& requested() const { return requested_; }
  // All paths that a file may hold, to say where a misplaced key belongs.
  void Learn(std::set<std::string> known) { known_ = std::move(known); }
  // "; it belongs under `window:`" of a key that is unknown where it stands, or nothing.
  std::string Elsewhere(std::string_view name) const;
  // In the order of the file, at most 50 and the number of the others.
  std::vector<FileMistake> Sorted() const;
  // One line each.
  Error ToError() const;

 private:
  std::string file_name_;
  std::vector<FileMistake> found_;
  std::map<std::string, YAML::Mark> places_;
  std::set<std::string> requested_;
  std::set<std::string> known_;
};

class Section {
 public:
  // `path` is empty for the file itself. A node that is no mapping is a finding.
  Section(const YAML::Node& node, std::string path, const ConfigSources& sources,
          Findings& findings);

  // Of a mapping with free keys; they live as long as the section.
  std::vector<std::string_view> Names() const;
  bool Has(std::string_view name) const { return Find(name) != nullptr; }
  void Require(std::string_view name, std::string_view why);
  // A finding at the value, or at the section when the key is absent.
  void Blame(std::string_view name, const std::string& text);
  // Refuses the key, where it has no meaning beside another one.
  void Forbid(std::string_view name, std::string_view why);
  // Takes the key, whatever it says, where what it means is not known.
  void Pass(std::string_view name) { LookUp(name); }

  // Each reads the key if it is there. True: the option has a new value.
  bool Text(std::string_view name, std::string& out);
  // One that is never shown, so it may come from a file. `again` reads it again where it does.
  bool Secret(std::string_view name, std::string& out, ReadAddress* again = nullptr);
  bool Texts(std::string_view name, std::vector<std::string>& out);  // one text, or a list
  // A text that names a file: a relative one lies in the folder of the service file.
  bool Path(std::string_view name, std::string& out);
  template <class N>
  bool Count(std::string_view name, N& out, uint64_t least, uint64_t most);
  template <class D>
  bool Duration(std::string_view name, D& out, std::chrono::milliseconds least,
                std::chrono::milliseconds most);
  bool Bytes(std::string_view name, uint64_t& out, uint64_t least, uint64_t most);
  template <class E, size_t N>
  bool Choice(std::string_view name, E& out, const std::pair<std::string_view, E> (&choices)[N]);
  // Sets what one text, or a list, names: a row has the `name`, and the member that is `asked`.
  template <class S, class Row, size_t N>
  void Flags(std::string_view name, S& out, const Row (&rows)[N]);
  // All pairs of a mapping with free keys. Those for which `secret` says yes may come from a file;
  // what `check` refuses is a finding.
  using Pairs = std::vector<std::pair<std::string, std::string>>;
  void FreePairs(std::string_view name, Pairs& out, bool (*secret)(std::string_view key),
                 Status (*check)(std::string_view key, std::string_view value));

  // The mapping under the key; an empty section when it is absent.
  Section Sub(std::string_view name);
  bool IsMap(std::string_view name) const;

  // Tells the keys that nobody asked for. Call it last.
  void Finish(std::string_view (*hint)(std::string_view key) = nullptr);

 private:
  struct Entry {
    std::string name;
    YAML::Mark mark;
    YAML::Node value;
    bool requested = false;
    // Where an error about the value is shown.
    YAML::Mark place() const { return value.IsScalar() ? value.Mark() : mark; }
  };

  const Entry* Find(std::string_view name) const;
  Entry* LookUp(std::string_view name);
  std::string PathOf(std::string_view name) const;
  // For people, as a name may hold any bytes.
  std::string Shown(std::string_view name) const;
  std::optional<std::string> Scalar(const YAML::Node& node, std::string_view name,
                                    SecretPlace place);
  std::optional<std::string> ScalarOf(std::string_view name, SecretPlace place = SecretPlace::kNo);
  bool TextAt(std::string_view name, std::string& out, SecretPlace place);
  std::optional<uint64_t> NumberOf(std::string_view name, uint64_t least, uint64_t most);
  std::optional<std::chrono::milliseconds> DurationOf(std::string_view name,
                                                      std::chrono::milliseconds least,
                                                      std::chrono::milliseconds most);
  std::optional<size_t> ChoiceOf(std::string_view name, std::span<const std::string_view> names);
  std::vector<size_t> ChoicesOf(std::string_view name, std::span<const std::string_view> names);
  std::optional<size_t> Chosen(std::string_view name, std::string_view value,
                               std::span<const std::string_view> names);

  YAML::Mark mark_;
  std::string path_;
  const ConfigSources& sources_;
  Findings& findings_;
  bool is_map_ = true;  // of what is no mapping, nothing is missing either
  std::vector<Entry> entries_;
  std::vector<std::string_view> requested_;  // literals of the reading code, or names of entries
};

template <class N>
bool Section::Count(std::string_view name, N& out, uint64_t least, uint64_t most) {
  const std::optional<uint64_t> number =
      NumberOf(name, least, std::min<uint64_t>(most, std::numeric_limits<N>::max()));
  if (number) {
    out = static_cast<N>(*number);
  }
  return number.has_value();
}

template <class D>
bool Section::Duration(std::string_view name, D& out, std::chrono::milliseconds least,
                       std::chrono::milliseconds most) {
  const auto duration = DurationOf(name, least, most);
  if (duration) {
    out = std::chrono::duration_cast<D>(*duration);
  }
  return duration.has_value();
}

template <class E, size_t N>
bool Section::Choice(std::string_view name, E& out,
                     const std::pair<std::string_view, E> (&choices)[N]) {
  std::string_view names[N];
  for (size_t i = 0; i < N; i++) {
    names[i] = choices[i].first;
  }
  const std::optional<size_t> index = ChoiceOf(name, names);
  if (index) {
    out = choices[*index].second;
  }
  return index.has_value();
}

template <class S, class Row, size_t N>
void Section::Flags(std::string_view name, S& out, const Row (&rows)[N]) {
  std::string_view names[N];
  for (size_t i = 0; i < N; i++) {
    names[i] = rows[i].name;
  }
  for (const size_t index : ChoicesOf(name, names)) {
    out.*rows[index].requested = true;
  }
}

}  // namespace oncemq
