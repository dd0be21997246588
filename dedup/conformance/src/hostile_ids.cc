// SPDX-License-Identifier: Apache-2.0
// Ids are bytes from outside. Whatever they hold, two different ones are two effects and the same
// one is one.
#include <algorithm>
#include <string>
#include <vector>

#include "window_test.h"

namespace oncemq::conformance {
namespace {

// No two are equal, many nearly.
std::vector<std::string> HostileIds(size_t longest) {
  using namespace std::string_literals;
  std::vector<std::string> ids = {
      "a",
      "aa",
      "aaa",
      "a\0"s,
      "a\0b"s,
      "a\0c"s,
      "\0"s,
      "\0\0"s,
      "A",
      " a",
      "a ",
      "%s%n%x",
      "\r\n",
      "a\r\nb",
      "*",
      "{a}",
      "a}b{c",
      "..",
      "/",
      "\\",
      "'",
      "\"",
      "';--",
      "a:b",
      "a:",
      ":a",
      "a|b",
      "\xFF\xFE"s,
      "\xC0\x80"s,
      "\xED\xA0\x80"s,
      "\xEF\xBB\xBF"s,
      "e\xCC\x81"s,
      "\xC3\xA9"s,
      "null",
      "0",
      "-1",
      "done",
      "open",
      "$(id)",
      "\x1B[2J",
      "\x7F",
      "\t",
  };
  // Prefixes of each other, round the sizes at which an engine may change its layout.
  for (const size_t size :
       {size_t{7},   size_t{8},   size_t{9},   size_t{15},  size_t{16},  size_t{17},
        size_t{22},  size_t{23},  size_t{24},  size_t{36},  size_t{37},  size_t{40},
        size_t{41},  size_t{63},  size_t{64},  size_t{65},  size_t{127}, size_t{128},
        size_t{255}, size_t{256}, size_t{257}, longest - 1, longest}) {
    if (size > 0 && size <= longest) {
      ids.emplace_back(size, 'p');
    }
  }
  // As long as they may be, and different in one byte: the first, one in the middle, the last.
  for (const size_t place : {size_t{0}, longest / 2, longest - 1}) {
    std::string id(longest, 'q');
    id[place] = 'r';
    ids.push_back(id);
  }
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

}  // namespace

WINDOW_TEST(IfStoresClaims, EveryIdIsItsBytesAndNothingElse) {
  const std::vector<std::string> ids = HostileIds(subject().can().max_id_bytes);
  std::vector<Attempt> attempts;
  for (const std::string& id : ids) {
    attempts.push_back(New(id));
    EXPECT_EQ(Claim(attempts.back()).answer, ClaimVerdict::kGranted) << testing::PrintToString(id);
  }
  for (size_t i = 0; i < ids.size(); i++) {
    EXPECT_EQ(Claim(New(ids[i])).answer, ClaimVerdict::kInFlight) << testing::PrintToString(ids[i]);
    EXPECT_EQ(Peek(ids[i]).token, attempts[i].token) << testing::PrintToString(ids[i]);
  }
}

WINDOW_TEST(Always, FinishingOneOfManySimilarIdsFinishesOnlyThatOne) {
  const std::vector<std::string> ids = HostileIds(subject().can().max_id_bytes);
  for (size_t i = 0; i < ids.size(); i += 2) {
    const Attempt attempt = New(ids[i]);
    Claim(attempt);
    EXPECT_EQ(Complete(attempt, ids[i]), MarkerChange::kMade);
  }
  for (size_t i = 0; i < ids.size(); i++) {
    const ClaimAnswer answer = Claim(New(ids[i]));
    EXPECT_EQ(answer.answer, i % 2 == 0 ? ClaimVerdict::kDuplicate : ClaimVerdict::kGranted)
        << testing::PrintToString(ids[i]);
    if (i % 2 == 0 && subject().can().keeps_results) {
      EXPECT_EQ(answer.result, ids[i]);
    }
  }
}

WINDOW_TEST(Always, TheCallersBytesAreCopied) {
  std::string id = "first";
  std::string result = "one";
  Attempt attempt = New(id);
  Claim(attempt);
  Complete(attempt, result);
  id = "other";
  result = "two";
  EXPECT_EQ(StateOf("first"), MarkerState::kDone);
  EXPECT_EQ(StateOf("other"), MarkerState::kNone);
  EXPECT_EQ(Claim(New("first")).result, subject().can().keeps_results ? "one" : "");
}

}  // namespace oncemq::conformance
