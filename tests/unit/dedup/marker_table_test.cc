// SPDX-License-Identifier: Apache-2.0
#include "marker_table.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "oncemq/base/hash.h"

namespace oncemq {
namespace {

TEST(MarkerTable, AMarkerIsFoundUntilItIsErased) {
  MarkerTable table;
  Marker* marker = table.Insert(7, "x");
  EXPECT_EQ(table.Find(7, "x"), marker);
  EXPECT_EQ(table.size(), 1u);
  table.Erase(7, marker);
  EXPECT_EQ(table.Find(7, "x"), nullptr);
  EXPECT_EQ(table.size(), 0u);
}

TEST(MarkerTable, IdsWithEqualHashesAreToldApartByTheirBytes) {
  MarkerTable table;
  Marker* a = table.Insert(0, "a");
  EXPECT_EQ(table.Find(0, "b"), nullptr);
  EXPECT_EQ(table.Find(0, std::string_view("a\0", 2)), nullptr);
  Marker* b = table.Insert(0, "b");
  EXPECT_EQ(table.Find(0, "a"), a);
  EXPECT_EQ(table.Find(0, "b"), b);
}

TEST(MarkerTable, APlaceThatIsUsedAgainKeepsNothingOfItsLastMarker) {
  MarkerTable table;
  Marker* first = table.Insert(1, "first");
  first->attempt = 9;
  first->uncertain = true;
  first->held = false;
  first->state = MarkerState::kParked;
  table.Erase(1, first);
  const Marker* second = table.Insert(2, "second");
  EXPECT_EQ(second, first);
  EXPECT_EQ(second->attempt, 0u);
  EXPECT_FALSE(second->uncertain);
  EXPECT_TRUE(second->held);
  EXPECT_EQ(second->state, MarkerState::kOpen);
}

TEST(MarkerTable, IdsOfEveryLengthAreKeptInAPlaceThatIsUsedAgain) {
  MarkerTable table;
  for (const size_t size : {size_t{1024}, size_t{1}, size_t{36}, size_t{37}, size_t{36}}) {
    const std::string id(size, 'i');
    Marker* marker = table.Insert(3, id);
    EXPECT_EQ(table.Find(3, id), marker);
    EXPECT_EQ(table.Find(3, id + "i"), nullptr);
    EXPECT_EQ(table.Find(3, std::string_view(id).substr(1)), nullptr);
    table.Erase(3, marker);
  }
}

TEST(MarkerTable, PointersStayValidWhileItGrows) {
  MarkerTable table;
  std::vector<Marker*> markers;
  for (uint64_t i = 0; i < 20'000; i++) {
    markers.push_back(table.Insert(MixBits(i), std::to_string(i)));
    markers.back()->entry = i;
  }
  for (uint64_t i = 0; i < 20'000; i++) {
    EXPECT_EQ(table.Find(MixBits(i), std::to_string(i)), markers[i]);
    EXPECT_EQ(markers[i]->entry, i);
  }
}

TEST(MarkerTable, ASteadyLoadTakesNoMoreMemory) {
  MarkerTable table;
  size_t after_one_round = 0;
  for (uint64_t round = 0; round < 20; round++) {
    for (uint64_t i = 0; i < 3'000; i++) {
      table.Insert(MixBits(round * 3'000 + i), std::to_string(i));
    }
    after_one_round = round == 0 ? table.memory_bytes() : after_one_round;
    for (uint64_t i = 0; i < 3'000; i++) {
      const uint64_t hash = MixBits(round * 3'000 + i);
      table.Erase(hash, table.Find(hash, std::to_string(i)));
    }
  }
  EXPECT_EQ(table.memory_bytes(), after_one_round);
  EXPECT_EQ(table.size(), 0u);
}

// Against a map, with so few hashes that buckets overflow into each other all the time.
RC_GTEST_PROP(MarkerTable, AgreesWithAMapWhateverTheHashes, (const std::vector<uint16_t>& steps)) {
  MarkerTable table;
  std::map<std::string, Marker*> map;
  for (const uint16_t step : steps) {
    const std::string id = std::to_string(step % 101);
    const uint64_t hash = ProcessHash(id) & 6;
    Marker* found = table.Find(hash, id);
    const auto known = map.find(id);
    RC_ASSERT(found == (known == map.end() ? nullptr : known->second));
    if (found == nullptr) {
      map[id] = table.Insert(hash, id);
    } else if (step % 3 == 0) {
      table.Erase(hash, found);
      map.erase(known);
    }
    RC_ASSERT(table.size() == map.size());
  }
}

}  // namespace
}  // namespace oncemq
