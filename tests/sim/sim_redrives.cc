// SPDX-License-Identifier: Apache-2.0
#include "sim_redrives.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace oncemq::sim {
namespace {

constexpr size_t kHeld = 4;

}  // namespace

SimRedrives::SimRedrives(ActorId actor, Surroundings& world, std::function<void()> wake)
    : actor_(actor),
      world_(world),
      wake_(std::move(wake)),
      partitions_(world.log.partitions.size()) {}

bool SimRedrives::Known(int32_t partition, Core& core) {
  Partition& its = At(partition);
  if (its.known) {
    return true;
  }
  const PartitionStatus status = core.Status(static_cast<PartitionId>(partition));
  if (its.owner == 0) {
    its.owner = status.owner_epoch;
    its.book.KeepOver(status.frontier, status.frontier);
    world_.park.Follow(actor_, partition, [this, partition, owner = its.owner](size_t end) {
      Hear(partition, owner, end);
    });
    WriteOwner(partition, its.owner);
  }
  if (its.ready) {
    core.SetParked(static_cast<PartitionId>(partition), its.book.Parked(status.frontier));
    its.known = true;
  }
  return its.known;
}

void SimRedrives::WriteOwner(int32_t partition, OwnerEpoch owner) {
  if (At(partition).owner != owner) {
    return;
  }
  At(partition).owners.insert(owner);
  const SimParkRecord begins{{.kind = ParkKind::kOwner, .owner = owner}, std::nullopt, kNone};
  world_.park.Write(
      actor_, partition, {begins}, [] {},
      [this, partition, owner](const Status& status, int64_t last) {
        if (status) {
          return Recorded(partition, last);
        }
        world_.loop.Plan(actor_, world_.config.store_retry,
                         [=, this] { WriteOwner(partition, owner); });
      });
}

void SimRedrives::End(int32_t partition) {
  Partition& its = At(partition);
  its = {.last_place = its.last_place, .owners = std::move(its.owners)};
}

void SimRedrives::Hear(int32_t partition, OwnerEpoch owner, size_t end) {
  Partition& its = At(partition);
  if (its.owner != owner) {
    return;
  }
  for (auto place = static_cast<size_t>(its.book.next()); place < end; place++) {
    const SimParkRecord& one = world_.park.At(partition, place);
    its.book.Apply(one.record, one.key);
    its.ready |= one.record.kind == ParkKind::kOwner && one.record.owner == owner &&
                 its.book.owner() == owner;
  }
  wake_();
}

void SimRedrives::Read(int32_t partition, size_t most, const Core& core, std::vector<Due>& due) {
  Partition& its = At(partition);
  const bool knows = its.ready && its.book.next() > its.last_place;
  for (; most > 0 && !its.held.empty() && knows; its.held.pop_front()) {
    const Due one = its.held.front();
    if (!core.Finished(static_cast<PartitionId>(partition), one.offset)) {
      break;
    }
    if (!its.book.Wants(one.offset)) {
      its.book.TakeBack(one.offset);
      continue;
    }
    due.push_back(one);
    most--;
  }
  if (knows) {
    Hold(partition);
  }
}

void SimRedrives::Hold(int32_t partition) {
  Partition& its = At(partition);
  while (its.held.size() < kHeld) {
    const auto place = its.book.FirstDue();
    if (!place) {
      return;
    }
    const ParkBook::Due due = *its.book.DueAt(*place);
    const ParkBook::Entry& entry = its.book.entries().at(due.offset);
    its.held.push_back({.offset = due.offset,
                        .drop = due.drop,
                        .first = entry.first && !entry.Called(),
                        .called = entry.Called(),
                        .begun = entry.begun,
                        .owner = its.owner});
    its.book.HandOut(due.offset);
    wake_();
  }
}

void SimRedrives::TakeBack(int32_t partition, int64_t offset, OwnerEpoch owner) {
  Partition& its = At(partition);
  if (its.owner == owner) {
    its.book.TakeBack(offset);
    wake_();
  }
}

OwnerEpoch SimRedrives::BegunAs(int32_t partition, OwnerEpoch owner) const {
  const std::set<OwnerEpoch>& owners = partitions_[static_cast<size_t>(partition)].owners;
  const auto above = owners.upper_bound(owner);
  return above == owners.begin() ? owner : *std::prev(above);
}

void SimRedrives::Recorded(int32_t partition, int64_t last) {
  At(partition).last_place = std::max(At(partition).last_place, last);
}

}  // namespace oncemq::sim
