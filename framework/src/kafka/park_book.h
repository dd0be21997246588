// SPDX-License-Identifier: Apache-2.0
// ParkBook: the parked messages of a partition, by the records of its park topic in order. All
// readers with the same records have the same book (rules 38 to 40).
//
//   book.Apply(message, null_key);
//   book.DueAt(place);   // a message to hand out
//
// **Promise:** a message is in the book once. Those of one key are a chain, in the order of their
// parking, and are handed out in that order. The record of an owner counts for nothing after a
// later owner has begun. A message that may be in hand keeps its body.
//
// **Limits:** 250 to 500 bytes for each parked message, by its reason.
//
// **Thread safety:** none. No I/O.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "oncemq/framework/runtime.h"
#include "park_record.h"

namespace oncemq {

class ParkBook {
 public:
  // A key by its hash, or a message without one by its offset.
  struct ChainName {
    bool keyed = false;
    uint64_t value = 0;
    auto operator<=>(const ChainName&) const = default;
  };
  struct Entry {
    int64_t place = 0;
    int64_t body = 0;  // place of the record with its present body
    ChainName chain;
    bool follows = false;
    bool first = false;
    uint32_t attempts = 0;  // of its handler, in all
    uint32_t redrives = 0;  // refused again
    bool begun = false;     // an earlier owner may have called its handler in a redrive
    std::string why;        // of the last refusal
    bool Called() const { return begun || attempts > 0; }
  };
  struct Chain {
    std::map<int64_t, int64_t> places;  // of its entries, with their offsets
    int64_t command = -1;               // place of the redrive under way, or -1
    std::string run;                    // of that
    std::set<int64_t> drops;            // offsets to be dropped
    int64_t handed = -1;                // entries up to this place were handed out
    int64_t due = -1;                   // the next body to hand out, or -1
    bool cancelled = false;             // a redrive, and messages may be in hand still
  };

  // Keeps offsets for Parked(). Dropped messages and copies count from `from` on, messages done
  // with another body from `frontier` on.
  void KeepOver(int64_t from, int64_t frontier) {
    over_from_ = from;
    edited_from_ = frontier;
  }
  // For the next owner, with the offsets from `from` on.
  ParkedMessages Parked(int64_t from) const;

  // Foreign records only count for next(). Nothing for them.
  std::optional<ParkRecord> Apply(const rd_kafka_message_t& message, NullKey null_key);
  // `key` is the hash of the record's key, if it has one.
  void Apply(const ParkRecord& record, std::optional<uint64_t> key);

  // By offset in the source.
  const std::map<int64_t, Entry>& entries() const { return entries_; }
  const std::map<ChainName, Chain>& chains() const { return chains_; }
  // One above the last record.
  int64_t next() const { return next_; }
  // The last one to begin.
  OwnerEpoch owner() const { return owner_; }

  // A message to hand out.
  struct Due {
    int64_t offset = 0;
    bool drop = false;
  };
  // False: it has ended, is to be dropped, or a redrive may have it in hand.
  bool MayEdit(int64_t offset) const;
  // The message whose body is at the place, if it is the next one of a redriven chain, or has to be
  // dropped.
  std::optional<Due> DueAt(int64_t place) const;
  // The lowest place with such a body, if there is one.
  std::optional<int64_t> FirstDue() const {
    return due_.empty() ? std::nullopt : std::optional(due_.begin()->first);
  }
  void HandOut(int64_t offset);
  // Whether a message is still wanted, by the command that it was handed out for.
  bool Wants(int64_t offset) const;
  // It was handed out, and its delivery is over. If it is still parked, it may be handed out again.
  void TakeBack(int64_t offset);

 private:
  static ChainName NameOf(const ParkRecord& record, std::optional<uint64_t> key);
  int64_t NextPlace(const ChainName& name, const Chain& chain) const;
  void NoteDue(const ChainName& name);
  void Add(const ParkRecord& record, const ChainName& chain);
  void Edit(const ParkRecord& record, const ChainName& chain);
  void NoteBegun();
  void End(const ParkRecord& record);

  std::map<int64_t, Entry> entries_;
  std::map<ChainName, Chain> chains_;
  std::map<int64_t, int64_t> due_;  // offsets, by the place of the body
  struct Handed {
    int64_t place = 0;
    ChainName chain;
    int64_t command = -1;  // of the redrive, or -1 for a drop
  };
  std::map<int64_t, Handed> in_hand_;  // by offset
  std::set<int64_t> over_;
  int64_t over_from_ = INT64_MAX;
  int64_t edited_from_ = INT64_MAX;
  OwnerEpoch owner_ = 0;
  int64_t next_ = 0;
};

}  // namespace oncemq
