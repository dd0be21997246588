// SPDX-License-Identifier: Apache-2.0
// LaneTable: one queue per key, in the order of arrival, for deliveries that live in somebody's
// slab.
//
// Promise: nodes of one key and group form one lane; a lane is handed out by NextReady() to one
// taker at a time; groups take turns; a lane whose last node left does not exist any more, so there
// is room for one lane for each delivery that may be in flight, however many keys there are. Two
// keys with equal hashes share a lane: slower, never wrong. Memory: 48 bytes for each of these
// lanes, from the start, and 16 bytes for each of four to eight times the lanes that there ever
// were at a time, and for 1,024 at least: a small table stays in the cache. Node must have members
// `uint32_t next` and `uint32_t lane`, both ours.
//
// Thread safety: none; lives inside the core.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "oncemq/base/check.h"

namespace oncemq {

inline constexpr uint32_t kNoIndex = ~uint32_t{0};

enum class LaneState : uint8_t {
  kReady,  // in the ready queue
  kBusy,   // its head run is with a worker
  kAside,  // waits for something outside: a timer, an id, a partition; whoever put it there wakes
           // it
};

struct Lane {
  uint64_t hash = 0;
  uint32_t head = kNoIndex;
  uint32_t tail = kNoIndex;
  uint32_t next = kNoIndex;  // next lane of the list that this lane is in
  uint32_t taken = 0;        // nodes at the head that its present run began with
  uint32_t outstanding = 0;  // of these, not settled yet
  uint32_t redriven = 0;     // nodes from a park topic
  uint32_t group = 0;
  LaneState state = LaneState::kReady;
  bool solo = false;          // the head goes alone until it has moved (rule 17)
  bool stuck = false;         // a message of its present run did not finish and asked for a pause
  bool counted = false;       // somewhere else, node by node
  bool due = false;           // after a pause
  bool redrive_ends = false;  // a redriven message of its present run was refused again
  int64_t wait = 0;           // longest pause that a message of its present run asked for
};

// A list of lanes, linked through Lane::next; a lane is in at most one.
struct LaneList {
  uint32_t head = kNoIndex;
  uint32_t tail = kNoIndex;
};

template <class Node>
class LaneTable {
 public:
  LaneTable(std::vector<Node>& nodes, uint32_t capacity)
      : nodes_(nodes), lanes_(capacity), table_(kFirstEntries) {
    mask_ = table_.size() - 1;
    for (uint32_t i = 0; i < capacity; i++) {
      lanes_[i].next = i + 1 < capacity ? i + 1 : kNoIndex;
    }
    free_ = 0;
  }

  void Prefetch(uint64_t hash) const { __builtin_prefetch(&table_[hash & mask_]); }

  // Puts the node behind all others of its key. Groups are small numbers.
  void Append(uint64_t hash, uint32_t node, uint32_t group = 0) {
    const uint32_t index = FindOrCreate(hash, group);
    Lane& lane = lanes_[index];
    nodes_[node].next = kNoIndex;
    nodes_[node].lane = index;
    if (lane.tail == kNoIndex) {
      lane.head = node;
    } else {
      nodes_[lane.tail].next = node;
    }
    lane.tail = node;
  }

  // Puts the node after the present run of its key and the nodes with stays(lane, node) next to it,
  // and before all others. Asks in the order of the lane, also about the run.
  template <class Stays>
  void Insert(uint64_t hash, uint32_t node, uint32_t group, Stays stays) {
    const uint32_t index = FindOrCreate(hash, group);
    Lane& lane = lanes_[index];
    uint32_t* at = &lane.head;
    uint32_t in_hand = lane.state == LaneState::kBusy ? lane.taken : 0;
    while (*at != kNoIndex) {
      const bool before = stays(lane, *at) || in_hand > 0;
      if (!before) {
        break;
      }
      at = &nodes_[*at].next;
      in_hand -= in_hand > 0 ? 1 : 0;
    }
    nodes_[node].lane = index;
    nodes_[node].next = *at;
    lane.tail = *at == kNoIndex ? node : lane.tail;
    *at = node;
  }

  Lane& operator[](uint32_t index) { return lanes_[index]; }

  // The group whose turn it is, with a lane that is ready; kNoIndex: there is none. It keeps its
  // turn until EndTurn().
  uint32_t NextTurn() {
    while (!turns_.empty()) {
      const uint32_t group = turns_.front();
      if (groups_[group].Ready()) {
        return group;
      }
      EndTurn();
    }
    return kNoIndex;
  }
  // Precondition: a group has its turn.
  void EndTurn() {
    ONCEMQ_CHECK(!turns_.empty(), "a turn ends that has begun");
    const uint32_t group = turns_.front();
    turns_.pop_front();
    groups_[group].waits = groups_[group].Ready();
    if (groups_[group].waits) {
      turns_.push_back(group);
    }
  }

  // The longest ready or due lane of the group, or kNoIndex. Due ones get half of the nodes, or
  // wait. The caller decides its next state.
  uint32_t NextReady(uint32_t group = 0, bool due_too = true) {
    if (group >= groups_.size()) {
      return kNoIndex;
    }
    LaneList& ready = groups_[group].ready;
    LaneList& due = groups_[group].due;
    if (due.head == kNoIndex) {
      groups_[group].due_ahead = 0;
    } else if (ready.head == kNoIndex || (due_too && groups_[group].due_ahead <= 0)) {
      return PopFront(due);
    }
    const uint32_t index = PopFront(ready);
    if (index != kNoIndex && lanes_[index].next != kNoIndex) {
      __builtin_prefetch(&lanes_[lanes_[index].next]);
    }
    if (ready.head != kNoIndex) {
      __builtin_prefetch(&nodes_[lanes_[ready.head].head]);
    }
    return index;
  }

  // So many nodes of a lane from NextReady() go out.
  void Took(uint32_t index, uint32_t nodes) {
    const auto count = static_cast<int64_t>(nodes);
    groups_[lanes_[index].group].due_ahead += lanes_[index].due ? count : -count;
  }

  // Before all others of its group: it was its turn, and it has to wait for a batch of its own.
  void MakeReadyFirst(uint32_t index) {
    LaneList& ready = groups_[lanes_[index].group].ready;
    const LaneList others = std::exchange(ready, {});
    MakeReady(index);
    if (others.head != kNoIndex) {
      lanes_[index].next = others.head;
      ready.tail = others.tail;
    }
  }

  void MakeReady(uint32_t index) {
    lanes_[index].due = false;
    Queue(index, groups_[lanes_[index].group].ready);
  }
  // Its pause is over, so it must not wait for all others.
  void MakeDue(uint32_t index) {
    lanes_[index].due = true;
    Queue(index, groups_[lanes_[index].group].due);
  }

  // Sets a lane aside in the caller's list.
  void PutAside(LaneList& list, uint32_t index) {
    lanes_[index].state = LaneState::kAside;
    PushBack(list, index);
  }
  void WakeAll(LaneList& list) {
    while (list.head != kNoIndex) {
      MakeReady(PopFront(list));
    }
  }

  // Ends every empty lane of the list. An emptied lane must not stay: there is room for one lane
  // for each delivery, and not for those of deliveries that have left.
  void EraseEmpty(LaneList& list) {
    LaneList rest;
    while (list.head != kNoIndex) {
      const uint32_t index = PopFront(list);
      if (lanes_[index].head == kNoIndex) {
        Erase(index);
      } else {
        PushBack(rest, index);
      }
    }
    list = rest;
  }
  void EraseEmptyReady() {
    for (Group& group : groups_) {
      EraseEmpty(group.ready);
      EraseEmpty(group.due);
    }
  }

  // Unlinks every node, of the first `most`, for which gone(node) holds; returns whether the lane
  // is empty now.
  template <class Gone>
  bool Filter(uint32_t index, Gone gone, uint32_t most = kNoIndex) {
    Lane& lane = lanes_[index];
    uint32_t previous = kNoIndex;
    for (uint32_t node = lane.head; node != kNoIndex && most > 0; most--) {
      const uint32_t next = nodes_[node].next;
      if (gone(node)) {
        (previous == kNoIndex ? lane.head : nodes_[previous].next) = next;
        if (lane.tail == node) {
          lane.tail = previous;
        }
      } else {
        previous = node;
      }
      node = next;
    }
    return lane.head == kNoIndex;
  }

  // Precondition: the lane is empty and in no list.
  void Erase(uint32_t index) {
    ONCEMQ_CHECK(lanes_[index].head == kNoIndex, "only an empty lane may go");
    size_t hole = lanes_[index].hash & mask_;
    while (table_[hole].lane != index) {
      ONCEMQ_CHECK(table_[hole].lane != kNoIndex, "each live lane is in the table");
      hole = (hole + 1) & mask_;
    }
    for (size_t i = (hole + 1) & mask_; table_[i].lane != kNoIndex; i = (i + 1) & mask_) {
      const size_t home = table_[i].hash & mask_;
      if (((i - home) & mask_) >= ((i - hole) & mask_)) {
        table_[hole] = table_[i];
        hole = i;
      }
    }
    table_[hole].lane = kNoIndex;
    lanes_[index].next = free_;
    free_ = index;
    live_--;
  }

  uint32_t live() const { return live_; }

  template <class Visit>
  void ForEach(Visit visit) {
    for (const Entry& entry : table_) {
      if (entry.lane != kNoIndex) {
        visit(entry.lane);
      }
    }
  }

 private:
  static constexpr size_t kFirstEntries = 1024;
  struct Entry {
    uint64_t hash = 0;
    uint32_t lane = kNoIndex;
  };

  struct Group {
    bool Ready() const { return ready.head != kNoIndex || due.head != kNoIndex; }

    LaneList ready;
    LaneList due;           // ready, too
    int64_t due_ahead = 0;  // nodes from it, less the others meanwhile
    bool waits = false;     // for its turn
  };

  void Queue(uint32_t index, LaneList& list) {
    lanes_[index].state = LaneState::kReady;
    PushBack(list, index);
    Group& group = groups_[lanes_[index].group];
    if (!group.waits) {
      group.waits = true;
      turns_.push_back(lanes_[index].group);
    }
  }

  uint32_t FindOrCreate(uint64_t hash, uint32_t group) {
    size_t i = hash & mask_;
    for (; table_[i].lane != kNoIndex; i = (i + 1) & mask_) {
      if (table_[i].hash == hash && lanes_[table_[i].lane].group == group) {
        return table_[i].lane;
      }
    }
    ONCEMQ_CHECK(free_ != kNoIndex, "there is a lane for every delivery in flight");
    const uint32_t index = free_;
    free_ = lanes_[index].next;
    table_[i] = {hash, index};
    lanes_[index] = Lane{.hash = hash, .group = group};
    if (group >= groups_.size()) {
      groups_.resize(group + 1);
    }
    live_++;
    if (live_ * 4 > table_.size()) {
      Grow();
    }
    MakeReady(index);
    return index;
  }

  // The table follows the lanes that there ever were at a time: a small one stays in the cache.
  void Grow() {
    std::vector<Entry> old(table_.size() * 2);
    old.swap(table_);
    mask_ = table_.size() - 1;
    for (const Entry& entry : old) {
      if (entry.lane != kNoIndex) {
        size_t i = entry.hash & mask_;
        while (table_[i].lane != kNoIndex) {
          i = (i + 1) & mask_;
        }
        table_[i] = entry;
      }
    }
  }

  void PushBack(LaneList& list, uint32_t index) {
    lanes_[index].next = kNoIndex;
    (list.tail == kNoIndex ? list.head : lanes_[list.tail].next) = index;
    list.tail = index;
  }

  uint32_t PopFront(LaneList& list) {
    const uint32_t index = list.head;
    if (index != kNoIndex) {
      list.head = lanes_[index].next;
      if (list.head == kNoIndex) {
        list.tail = kNoIndex;
      }
    }
    return index;
  }

  std::vector<Node>& nodes_;
  std::vector<Lane> lanes_;
  std::vector<Entry> table_;  // at most a quarter full
  size_t mask_ = 0;
  std::vector<Group> groups_;
  std::deque<uint32_t> turns_;  // of groups with ready lanes; each at most once
  uint32_t free_ = kNoIndex;
  uint32_t live_ = 0;
};

}  // namespace oncemq
