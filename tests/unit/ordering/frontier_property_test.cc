// SPDX-License-Identifier: Apache-2.0
// The frontier against the simplest model of it: a map from arrival to (offset, finished).
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>

#include "oncemq/ordering/frontier.h"

namespace oncemq {
namespace {

struct Model {
  struct Delivery {
    uint32_t number;
    int64_t offset;
    bool finished;
  };
  std::vector<Delivery> deliveries;
  std::set<int64_t> finished_offsets;
  int64_t next = 0;

  // The lowest offset that arrived and is not finished; holes don't count.
  int64_t Frontier() const {
    int64_t lowest = next;
    for (const auto& delivery : deliveries) {
      if (finished_offsets.count(delivery.offset) == 0) {
        lowest = std::min(lowest, delivery.offset);
      }
    }
    return lowest;
  }
};

RC_GTEST_PROP(FrontierProperty, AgreesWithTheModelAndNeverFalls, ()) {
  const auto start = *rc::gen::inRange<int64_t>(0, 1000);
  const auto steps = *rc::gen::container<std::vector<std::pair<uint8_t, uint8_t>>>(
      rc::gen::arbitrary<std::pair<uint8_t, uint8_t>>());
  const auto budget = *rc::gen::inRange<size_t>(0, 40);
  Frontier frontier(100'000);
  frontier.Start(start, {}, {}, {});
  Model model;
  model.next = start;
  int64_t before = start;
  for (const auto& [what, which] : steps) {
    if (what % 8 == 7) {
      model.next += which % 3;
      frontier.PassHole(model.next);
    } else if (what % 3 == 0 || model.deliveries.empty()) {
      const int64_t offset = model.next + which % 3;  // holes
      model.deliveries.push_back({frontier.Add(offset).number, offset, false});
      model.next = offset + 1;
    } else {
      auto& delivery = model.deliveries[which % model.deliveries.size()];
      if (!delivery.finished) {
        delivery.finished = true;
        model.finished_offsets.insert(delivery.offset);
        frontier.Finish(delivery.number, Verdict::kApplied);
      }
    }
    const int64_t offset = frontier.Advance();
    RC_ASSERT(offset >= before);
    RC_ASSERT(offset == model.Frontier());
    before = offset;
  }
  const FrontierSnapshot snapshot = frontier.Snapshot(budget);
  RC_ASSERT(snapshot.map.Encode(snapshot.offset).size() <= budget);
  int64_t below = 0;
  for (const int64_t offset : model.finished_offsets) {
    below += offset < snapshot.offset ? 1 : 0;
  }
  int64_t above = 0;
  for (const auto& delivery : model.deliveries) {
    if (delivery.offset < snapshot.offset) {
      RC_ASSERT(delivery.finished);
    } else if (snapshot.map.Contains(delivery.offset)) {
      RC_ASSERT(delivery.finished);
      above++;
    }
  }
  RC_ASSERT(snapshot.totals.sum() == below + above);
}

RC_GTEST_PROP(OffsetMapProperty, WhatIsEncodedIsDecoded, ()) {
  const auto gaps = *rc::gen::container<std::vector<std::pair<uint16_t, uint16_t>>>(
      rc::gen::arbitrary<std::pair<uint16_t, uint16_t>>());
  const auto frontier = *rc::gen::inRange<int64_t>(0, int64_t{1} << 50);
  OffsetMap map;
  int64_t at = frontier;
  for (const auto& [open, finished] : gaps) {
    map.Append(at + open, at + open + finished + 1);
    at += open + finished + 1;
  }
  const auto decoded = OffsetMap::Decode(map.Encode(frontier), frontier, 1 << 20);
  RC_ASSERT(decoded.has_value());
  RC_ASSERT(*decoded == map);
}

RC_GTEST_PROP(OffsetMapProperty, AnyBytesDecodeToAMapOrToNothing, (const std::string& bytes)) {
  const auto map = OffsetMap::Decode(bytes, 5);
  if (map) {
    int64_t at = 5;
    for (const auto& range : map->ranges()) {
      RC_ASSERT(range.from >= at);
      RC_ASSERT(range.to > range.from);
      at = range.to;
    }
  }
}

}  // namespace
}  // namespace oncemq
