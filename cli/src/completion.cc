// SPDX-License-Identifier: Apache-2.0
#include "completion.h"

#include <functional>
#include <string_view>

namespace oncemq {
namespace {

using Commands = std::span<const CompletedCommand>;

// Both shells find the command by the words before the cursor: a word goes one level down if
// `path word` is a command. The value of an option is none, but for one that is called the same.
constexpr std::string_view kBashBegin =
    R"(# Completes oncemq in bash; made by `oncemq completion bash`.
_oncemq() {
  local at=oncemq word commands='' options=''
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
  if [[ $current == '=' ]]; then
    current=''
  elif [[ $previous == '=' ]]; then
    previous=${COMP_WORDS[COMP_CWORD - 2]}
  fi
  COMPREPLY=()
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$at $word" in
)";
constexpr std::string_view kBashEnd = R"(  esac
  if [[ $current == -* ]]; then
    commands=$options
  fi
  COMPREPLY=($(compgen -W "$commands" -- "$current"))
}
complete -o default -F _oncemq oncemq
)";
constexpr std::string_view kZshBegin = R"(#compdef oncemq
# Completes oncemq in zsh; made by `oncemq completion zsh`.
_oncemq() {
  local at=oncemq word
  local -a below flags
  for word in ${words[2,CURRENT-1]}; do
    case "$at $word" in
)";
constexpr std::string_view kZshEnd = R"(  esac
  if [[ ${words[CURRENT]} == -* ]]; then
    _describe -o option flags
  elif (( ${#below} )); then
    _describe command below
  else
    _files
  fi
}
if [[ ${funcstack[1]} == _oncemq ]]; then
  _oncemq "$@"
else
  compdef _oncemq oncemq
fi
)";

std::string InQuotes(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    c == '\'' ? out.append("'\\''") : out.append(1, c);
  }
  return out + "'";
}

// "a b c", each as `say` says it.
template <class List, class Say>
std::string Listed(const List& list, std::string_view between, const Say& say) {
  std::string out;
  for (const auto& one : list) {
    out.append(out.empty() ? "" : between).append(say(one));
  }
  return out;
}

std::string SameText(const std::string& text) {
  return text;
}

// The pattern that matches any of these lines.
std::string PatternOf(const std::vector<std::string>& lines) {
  return Listed(lines, " | ", InQuotes);
}

// Lets `at` follow the words.
std::string WalkDown(Commands commands) {
  std::vector<std::string> paths;
  for (const CompletedCommand& command : commands.subspan(1)) {
    paths.push_back(command.path);
  }
  return "      " + PatternOf(paths) + ") at=\"$at $word\" ;;\n    esac\n  done\n";
}

// The command, and its option before the cursor.
std::vector<std::string> BeforeValue(const CompletedCommand& command,
                                     const CompletedOption& option) {
  std::vector<std::string> lines;
  for (const std::string& name : option.names) {
    lines.push_back(command.path + " " + name);
  }
  return lines;
}

// A case for each option with a value: `offer` is the line that offers its values.
std::string ValueCases(Commands commands,
                       const std::function<std::string(const std::string&)>& offer,
                       std::string_view files) {
  std::string out;
  for (const CompletedCommand& command : commands) {
    for (const CompletedOption& option : command.options) {
      if (option.takes_value) {
        out += "    " + PatternOf(BeforeValue(command, option)) + ") " +
               (option.values.empty() ? std::string(files)
                                      : offer(Listed(option.values, " ", SameText))) +
               "return ;;\n";
      }
    }
  }
  return out;
}

std::string BashCase(const CompletedCommand& command) {
  const auto word = [](const CompletedWord& one) { return one.word; };
  const auto names = [](const CompletedOption& one) { return Listed(one.names, " ", SameText); };
  return "    " + InQuotes(command.path) +
         ")\n      commands=" + InQuotes(Listed(command.words, " ", word)) +
         "\n      options=" + InQuotes(Listed(command.options, " ", names)) + "\n      ;;\n";
}

// A colon ends the word that is described. `commands` and `options` are parameters of zsh itself.
std::string ZshCase(const CompletedCommand& command) {
  const auto word = [](const CompletedWord& one) { return InQuotes(one.word + ":" + one.about); };
  const auto names = [](const CompletedOption& one) {
    return Listed(one.names, " ",
                  [&](const std::string& name) { return InQuotes(name + ":" + one.about); });
  };
  return "    " + InQuotes(command.path) + ")\n      below=(" + Listed(command.words, " ", word) +
         ")\n      flags=(" + Listed(command.options, " ", names) + ")\n      ;;\n";
}

}  // namespace

std::string BashCompletion(Commands commands) {
  std::string out(kBashBegin);
  out += WalkDown(commands) + "  case \"$at $previous\" in\n" +
         ValueCases(
             commands,
             [](const std::string& values) {
               return "COMPREPLY=($(compgen -W " + InQuotes(values) + " -- \"$current\")); ";
             },
             "") +
         "  esac\n  case \"$at\" in\n";
  for (const CompletedCommand& command : commands) {
    out += BashCase(command);
  }
  return out.append(kBashEnd);
}

std::string ZshCompletion(Commands commands) {
  std::string out(kZshBegin);
  out += WalkDown(commands) + "  case \"$at ${words[CURRENT-1]}\" in\n" +
         ValueCases(
             commands, [](const std::string& values) { return "compadd -- " + values + "; "; },
             "_files; ") +
         "  esac\n  case \"$at\" in\n";
  for (const CompletedCommand& command : commands) {
    out += ZshCase(command);
  }
  return out.append(kZshEnd);
}

}  // namespace oncemq
