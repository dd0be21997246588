// SPDX-License-Identifier: Apache-2.0
#include "park_book.h"

#include <algorithm>
#include <utility>

#include "kafka_message.h"
#include "oncemq/base/hash.h"

namespace oncemq {

std::optional<ParkRecord> ParkBook::Apply(const rd_kafka_message_t& message, NullKey null_key) {
  next_ = message.offset + 1;
  const auto record = ReadParkRecord(message);
  if (record) {
    std::optional<uint64_t> key;
    if (message.key != nullptr) {
      key = ProcessHash({static_cast<const char*>(message.key), message.key_len});
    } else if (null_key == NullKey::kOneLane) {
      key = kNullKeyLane;
    }
    Apply(*record, key);
  }
  return record;
}

void ParkBook::Apply(const ParkRecord& record, std::optional<uint64_t> key) {
  next_ = record.place + 1;
  if (record.owner != 0 && record.owner < owner_) {
    return;
  }
  owner_ = std::max(owner_, record.owner);
  const auto found = entries_.find(record.offset);
  const bool known = found != entries_.end();
  Chain* const chain = known ? &chains_[found->second.chain] : nullptr;
  switch (record.kind) {
    case ParkKind::kParked:
    case ParkKind::kFollows:
      if (!known && record.offset >= 0) {
        Add(record, NameOf(record, key));
      }
      break;
    case ParkKind::kAgain:
      if (known) {
        found->second.redrives++;
        found->second.attempts += record.attempts;
        found->second.why = record.why;
        chain->command = -1;
        chain->cancelled = false;
        NoteDue(found->second.chain);
      }
      break;
    case ParkKind::kDropped:
    case ParkKind::kEnded:
      if (known) {
        End(record);
      }
      break;
    case ParkKind::kAttached:
      if (!known && record.offset >= over_from_) {
        over_.insert(record.offset);
      }
      break;
    case ParkKind::kRedrive:
      if (known && chain->command < 0 && chain->places.begin()->second == record.offset) {
        chain->command = record.place;
        chain->handed = -1;
        chain->run = record.run;
        NoteDue(found->second.chain);
      }
      break;
    case ParkKind::kDrop:
      if (known) {
        chain->drops.insert(record.offset);
        NoteDue(found->second.chain);
      }
      break;
    case ParkKind::kCancel:
      for (auto& [name, its] : chains_) {
        if (its.command >= 0 && its.run == record.run) {
          its.command = -1;
          its.cancelled = true;
          NoteDue(name);
        }
      }
      break;
    case ParkKind::kEdit:
      Edit(record, NameOf(record, key));
      break;
    case ParkKind::kOwner:
      NoteBegun();
      break;
    case ParkKind::kPassed:
      break;
  }
}

// What the redrives under way have begun, the former owner may not have recorded.
void ParkBook::NoteBegun() {
  for (auto& [name, chain] : chains_) {
    if (chain.command < 0 && !chain.cancelled) {
      continue;
    }
    for (const auto& [place, offset] : chain.places) {
      entries_.at(offset).begun = true;
    }
    chain.cancelled = false;
  }
}

ParkBook::ChainName ParkBook::NameOf(const ParkRecord& record, std::optional<uint64_t> key) {
  return {key.has_value(), key.value_or(static_cast<uint64_t>(record.offset))};
}

bool ParkBook::MayEdit(int64_t offset) const {
  const auto entry = entries_.find(offset);
  if (entry == entries_.end()) {
    return false;
  }
  const Chain& chain = chains_.at(entry->second.chain);
  return chain.command < 0 && !chain.cancelled && !chain.drops.contains(offset);
}

void ParkBook::Add(const ParkRecord& record, const ChainName& chain) {
  entries_[record.offset] = {.place = record.place,
                             .body = record.place,
                             .chain = chain,
                             .follows = record.kind == ParkKind::kFollows,
                             .first = record.first,
                             .attempts = record.attempts,
                             .why = record.why};
  chains_[chain].places[record.place] = record.offset;
  NoteDue(chain);
}

// Two edits of one body exclude each other, and none moves a message to another key.
void ParkBook::Edit(const ParkRecord& record, const ChainName& chain) {
  if (!MayEdit(record.offset)) {
    return;
  }
  Entry& entry = entries_.at(record.offset);
  if (entry.body == record.replaces && entry.chain == chain) {
    entry.body = record.place;
  }
}

ParkedMessages ParkBook::Parked(int64_t from) const {
  ParkedMessages parked;
  for (const auto& [chain, its] : chains_) {
    if (chain.keyed) {
      parked.keys.emplace_back(chain.value, static_cast<uint32_t>(its.places.size()));
    }
  }
  for (auto entry = entries_.lower_bound(from); entry != entries_.end(); ++entry) {
    parked.offsets.push_back(entry->first);
  }
  // No commit shows them as finished yet. The window does not know a dropped follower, and takes
  // the body before an edit for a conflict.
  parked.offsets.insert(parked.offsets.end(), over_.begin(), over_.end());
  std::sort(parked.offsets.begin(), parked.offsets.end());
  return parked;
}

void ParkBook::End(const ParkRecord& record) {
  const int64_t offset = record.offset;
  const auto entry = entries_.find(offset);
  const bool edited = entry->second.body != entry->second.place;
  const bool dropped = record.kind == ParkKind::kDropped;
  if (offset >= (dropped ? over_from_ : edited_from_) && (dropped || edited)) {
    over_.insert(offset);
  }
  const ChainName name = entry->second.chain;
  Chain& chain = chains_[name];
  chain.places.erase(entry->second.place);
  chain.drops.erase(offset);
  entries_.erase(entry);
  NoteDue(name);
  if (chain.places.empty()) {
    chains_.erase(name);
  }
}

// A drop waits for the redrive under way, since this may have its message in hand. While later
// messages are in hand, no earlier one is handed out.
int64_t ParkBook::NextPlace(const ChainName& name, const Chain& chain) const {
  const auto in_hand_from = [&](int64_t place) {
    return std::ranges::any_of(in_hand_, [&](const auto& one) {
      return one.second.chain == name && one.second.place >= place;
    });
  };
  if (chain.command >= 0) {
    const auto next = chain.places.upper_bound(chain.handed);
    return next == chain.places.end() || in_hand_from(next->first) ? -1 : next->first;
  }
  const auto dropped = std::ranges::find_if(
      chain.places, [&](const auto& place) { return chain.drops.contains(place.second); });
  return dropped == chain.places.end() || in_hand_from(0) ? -1 : dropped->first;
}

void ParkBook::NoteDue(const ChainName& name) {
  Chain& chain = chains_.at(name);
  const int64_t next = NextPlace(name, chain);
  const int64_t offset = next < 0 ? -1 : chain.places.at(next);
  const int64_t body = next < 0 ? -1 : entries_.at(offset).body;
  if (body != chain.due) {
    due_.erase(std::exchange(chain.due, body));
    if (body >= 0) {
      due_[body] = offset;
    }
  }
}

std::optional<ParkBook::Due> ParkBook::DueAt(int64_t place) const {
  const auto due = due_.find(place);
  if (due == due_.end()) {
    return std::nullopt;
  }
  return Due{due->second, chains_.at(entries_.at(due->second).chain).command < 0};
}

void ParkBook::HandOut(int64_t offset) {
  const Entry& entry = entries_.at(offset);
  Chain& chain = chains_.at(entry.chain);
  in_hand_[offset] = {entry.place, entry.chain, chain.command};
  chain.handed = entry.place;
  NoteDue(entry.chain);
}

bool ParkBook::Wants(int64_t offset) const {
  const auto entry = entries_.find(offset);
  const auto handed = in_hand_.find(offset);
  if (entry == entries_.end() || handed == in_hand_.end()) {
    return false;
  }
  const Chain& chain = chains_.at(entry->second.chain);
  const int64_t command = handed->second.command;
  return command >= 0 ? chain.command == command : chain.drops.contains(offset);
}

void ParkBook::TakeBack(int64_t offset) {
  const auto handed = in_hand_.find(offset);
  if (handed == in_hand_.end()) {
    return;
  }
  const Handed was = handed->second;
  in_hand_.erase(handed);
  const auto chain = chains_.find(was.chain);
  if (chain == chains_.end()) {
    return;
  }
  if (chain->second.places.contains(was.place)) {
    chain->second.handed = std::min(chain->second.handed, was.place - 1);
  }
  NoteDue(was.chain);
}

}  // namespace oncemq
