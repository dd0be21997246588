// SPDX-License-Identifier: Apache-2.0
// What the texts of the guarantee are made of, and the part of each that stands in a file of its
// own.
//
// Thread safety: pure functions; a Text belongs to one caller.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "oncemq/framework/service_options.h"

namespace oncemq {

// Paragraphs of one list, wrapped for a terminal.
class GuaranteeText {
 public:
  void Head(std::string_view head) {
    text_ += text_.empty() ? "" : "\n";
    text_ += std::string(head) + "\n";
  }
  void Say(std::string_view words) {
    constexpr size_t kWidth = 78;
    std::string line = "  -";
    while (!words.empty()) {
      const size_t space = std::min(words.find(' '), words.size());
      if (line.size() + 1 + space > kWidth) {
        text_ += line + "\n";
        line = "   ";
      }
      line += " " + std::string(words.substr(0, space));
      words.remove_prefix(std::min(space + 1, words.size()));
    }
    text_ += line + "\n";
  }
  std::string Take() { return std::move(text_); }

 private:
  std::string text_;
};

// What nobody has said is not promised.
inline Level SaidLevel(const ServiceOptions& options) {
  return LevelOf(options).value_or(Level::kOpaque);
}

// What a process that ends without giving its partitions back leaves unproven.
std::string UnprovenWork(const RuntimeOptions& runtime);

// What hides ids from whoever reads the log again.
inline constexpr char kHidden[] =
    "A compacted topic, expired records, messages refused into a journal and an operator's reset "
    "hide ids from it. The log says which; of a compacted topic it says only that it is one: "
    "nobody can see what is gone.";

// Of every window: whose ids it tells apart.
void SayIds(const RuntimeOptions& runtime, GuaranteeText& text);
// The part of it that is not about partitions.
void SayMissingId(const RuntimeOptions& runtime, GuaranteeText& text);

// Of a window that forgets by log time.
void SayAge(milliseconds remember, milliseconds skew, GuaranteeText& text);

// How a window is completed that does not know all that the commit calls finished. `owner`: the
// subject of the sentence.
void SayCompletion(const RuntimeOptions& runtime, std::string_view owner, GuaranteeText& text);

// A level with one engine.
struct LevelTerms {
  // Opaque: the calls that may run twice after an unclean end.
  std::string twice;
  // Opaque: the next owner finds in the window which calls may have run.
  bool reported = false;
  // Opaque: as long as this is so, copies are recognised.
  std::string_view known_while;
  // Says the level atomic; nullptr: no such window carries it.
  void (*atomic)(GuaranteeText& limits, GuaranteeText& holds) = nullptr;
};

// The claims that an unclean end leaves open, where the next owner has the same window. `reporter`:
// the part that knows them, `lost`: the case in which it does not.
std::string ClaimedWork(const RuntimeOptions& runtime, std::string_view reporter,
                        std::string_view lost);

void SayLevel(const ServiceOptions& options, const LevelTerms& terms, GuaranteeText& limits,
              GuaranteeText& holds);

// Of the level atomic, with every engine.
void SayOnlyWatched(GuaranteeText& limits);

// A window in a server that all members of the group ask.
struct ServerTerms {
  std::string subject;  // at the begin of a sentence: "The database"
  std::string server;   // within one: "the database"
  std::string kind;     // after an article: "database"
  milliseconds call;
  milliseconds remember;
  milliseconds skew;
  bool owned = false;  // partitions own their ids, and claims end with their process
  void (*atomic)(GuaranteeText& limits, GuaranteeText& holds) = nullptr;  // as in LevelTerms
};

// An outage of the server, age, ids and level.
void SayServer(const ServiceOptions& options, const ServerTerms& terms, GuaranteeText& limits,
               GuaranteeText& holds);

// The guarantee with each engine.
void SayMemory(const ServiceOptions& options, GuaranteeText& limits, GuaranteeText& holds);
void SayDisk(const ServiceOptions& options, GuaranteeText& limits, GuaranteeText& holds);
void SayPostgres(const ServiceOptions& options, GuaranteeText& limits, GuaranteeText& holds);
void SayRedis(const ServiceOptions& options, GuaranteeText& limits, GuaranteeText& holds);

// Of the names that handlers lock; nothing where they lock none.
void SayLocks(const ServiceOptions& options, GuaranteeText& limits, GuaranteeText& holds);

}  // namespace oncemq
