// SPDX-License-Identifier: Apache-2.0
#include "packed_tags.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>
#include <vector>

namespace oncemq {
namespace {

template <class Tags>
std::set<size_t> IndexesOf(const Tags& tags, uint64_t tag) {
  std::set<size_t> indexes;
  for (uint64_t left = tags.Matches(tag); left != 0; left &= left - 1) {
    indexes.insert(Tags::IndexOf(left));
  }
  return indexes;
}

// Values that a trick with carries would mix up: neighbours, and the two ends.
template <class Tag>
rc::Gen<std::vector<Tag>> NearTags(size_t count) {
  return rc::gen::container<std::vector<Tag>>(
      count, rc::gen::element<Tag>(0, 1, 2, 0x7FFF, 0x8000, 0x8001, static_cast<Tag>(~Tag{0}),
                                   static_cast<Tag>(~Tag{0} - 1)));
}

template <class Tags, class Tag>
void CheckMatches() {
  const std::vector<Tag> values = *NearTags<Tag>(Tags::kCount);
  Tags tags;
  for (size_t i = 0; i < values.size(); i++) {
    tags.Set(i, static_cast<Tag>(0xABCD));
    tags.Set(i, values[i]);
  }
  for (const Tag wanted : values) {
    std::set<size_t> expected;
    for (size_t i = 0; i < values.size(); i++) {
      RC_ASSERT(tags.Get(i) == values[i]);
      if (values[i] == wanted) {
        expected.insert(i);
      }
    }
    RC_ASSERT(IndexesOf(tags, wanted) == expected);
  }
}

RC_GTEST_PROP(PackedTags, FindExactlyTheEqualTagsOfTwoWords, ()) {
  CheckMatches<PackedTags<16, 2>, uint16_t>();
}

RC_GTEST_PROP(PackedTags, FindExactlyTheEqualTagsOfFourWords, ()) {
  CheckMatches<PackedTags<32, 4>, uint32_t>();
}

TEST(PackedTags, KeepWhatIsWantedAndClearTheRest) {
  PackedTags<16, 2> tags;
  for (size_t i = 0; i < 8; i++) {
    tags.Set(i, 0xFFFF);
  }
  tags.KeepIf([](size_t i) { return i == 2 || i == 7; });
  EXPECT_EQ(IndexesOf(tags, 0xFFFF), (std::set<size_t>{2, 7}));
  EXPECT_EQ(IndexesOf(tags, 0), (std::set<size_t>{0, 1, 3, 4, 5, 6}));
}

}  // namespace
}  // namespace oncemq
