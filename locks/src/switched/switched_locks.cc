// SPDX-License-Identifier: Apache-2.0
#include "oncemq/locks/switched_locks.h"

#include <algorithm>
#include <set>

#include "oncemq/base/log.h"
#include "oncemq/locks/lock_engines.h"
#include "switched_parts.h"

namespace oncemq {
namespace {

// Whoever counts longer than that, or more names, keeps those waiting who asked for a switch.
constexpr size_t kMostNamesCounted = 1'000;
constexpr milliseconds kLongestCount{500};

size_t HoldersIn(const LockView& view) {
  return static_cast<size_t>(std::count_if(view.parties.begin(), view.parties.end(),
                                           [](const auto& party) { return party.holds; }));
}

// Under the fences for which that is so.
std::set<std::string> WhoHolds(const LockView& view, const std::function<bool(const Fence&)>& so) {
  std::set<std::string> who;
  for (const LockView::Party& party : view.parties) {
    if (party.holds && so(party.fence)) {
      who.insert(party.who);
    }
  }
  return who;
}

}  // namespace

Result<NamedLocks> NamedLocksAt(const std::string& name, const std::string& address,
                                const std::string& space) {
  const auto can = CapabilitiesAt(address);
  if (!can) {
    return can.error();
  }
  return NamedLocks{name, *can, [address, space] { return OpenLockEngine(address, space); }};
}

SwitchedLocks::SwitchedLocks(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
SwitchedLocks::~SwitchedLocks() = default;

Result<std::shared_ptr<SwitchedLocks>> SwitchedLocks::Open(std::vector<NamedLocks> stores,
                                                           std::shared_ptr<SwitchStore> record,
                                                           SwitchboardOptions options,
                                                           const Clock& clock) {
  auto can = SwitchedCapabilities(stores);
  if (!can) {
    return can.error();
  }
  std::unique_ptr<Parts> parts(new Parts{clock, {}, {}, *can, {}, nullptr});
  options.stores.clear();
  for (NamedLocks& store : stores) {
    options.stores.push_back(store.name);
    parts->stores.push_back(std::make_unique<SwitchedStore>(std::move(store), parts->listeners));
  }
  options.seal = [p = parts.get()](std::string_view name, uint32_t epoch) -> Status {
    SwitchedStore& store = p->Store(name);
    if (!store.can().seals) {
      return {};
    }
    const auto sealed = store.Seal(epoch);
    return sealed ? Status() : Status(sealed.error());
  };
  options.seals = [p = parts.get()](std::string_view name) {
    return p->Has(name) && p->Store(name).can().seals;
  };
  options.probe = [p = parts.get()](std::string_view name) { return p->Store(name).Answers(); };
  options.shortest_held = [p = parts.get()] { return p->where.ShortestLease(p->clock.Boot()); };
  auto board = Switchboard::Open(std::move(record), std::move(options), clock);
  if (!board) {
    return board.error();
  }
  parts->board = *std::move(board);
  // The record says what is allowed, whoever wrote it.
  parts->can.longest_lease = std::min(can->longest_lease, parts->board->Progress().record.longest);
  return std::shared_ptr<SwitchedLocks>(new SwitchedLocks(std::move(parts)));
}

const LockCapabilities& SwitchedLocks::capabilities() const {
  return parts_->can;
}

void SwitchedLocks::Listen(HoldListener& listener) {
  parts_->listeners.Listen(listener);
}

void SwitchedLocks::Unlisten(HoldListener& listener) {
  parts_->listeners.Unlisten(listener);
}

// The holds of the store that is left that the other one does not know yet, name by name.
std::optional<size_t> SwitchedLocks::Parts::HoldsLeft(const SwitchRecord& record) {
  if (record.mode != SwitchMode::kBoth || !Has(record.from) || !Has(record.to)) {
    return std::nullopt;
  }
  const BootTime give_up = clock.Boot() + kLongestCount;
  const auto names = Store(record.from).Do(*board, [&](LockEngine& engine) {
    return engine.Names("", kMostNamesCounted);
  });
  if (!names) {
    return std::nullopt;
  }
  const auto held = [&](const std::string& store,
                        const std::string& name) -> std::optional<size_t> {
    const auto view =
        Store(store).Do(*board, [&](LockEngine& engine) { return engine.Read(name); });
    if (!view) {
      return std::nullopt;
    }
    return HoldersIn(*view);
  };
  size_t left = 0;
  for (const std::string& name : *names) {
    if (clock.Boot() >= give_up) {
      return std::nullopt;
    }
    const auto here = held(record.from, name);
    const auto there = held(record.to, name);
    if (!here || !there) {
      return std::nullopt;
    }
    left += *here > *there ? *here - *there : 0;
  }
  return left;
}

LockSwitch SwitchedLocks::Parts::ReportOf(const SwitchRecord& record) {
  LockSwitch report{record.from,       record.to, record.mode, record.epoch,
                    HoldsLeft(record), {},        record.why};
  const SwitchProgress progress = board->Progress();
  if (record.mode != SwitchMode::kSingle) {
    report.left = progress.record == record              ? progress.left
                  : progress.record.epoch > record.epoch ? milliseconds(0)  // it ended meanwhile
                                                         : HowLongToEnd(record);
  }
  return report;
}

Status SwitchedLocks::Parts::CheckGrants(SwitchedStore& store) {
  return store.Do(*board, [&](LockEngine& engine) { return store.Grants(engine); });
}

Status SwitchedLocks::Parts::CanBePlanned(SwitchedStore& from, SwitchedStore& to) {
  for (const SwitchedStore* store : {&from, &to}) {
    if (!store->can().seals) {
      return Error{Code::kInvalid, Effect::kNone,
                   "the store " + store->name() + " cannot be sealed, so it takes a drain"};
    }
  }
  return CheckGrants(from);
}

Result<LockSwitch> SwitchedLocks::SwitchToNext(std::string_view why, UnlessPlanned unless) {
  return SwitchTo(parts_->board->Next(), why, unless);
}

Result<LockSwitch> SwitchedLocks::SwitchTo(std::string_view name, std::string_view why,
                                           UnlessPlanned unless) {
  const auto record = parts_->board->InForce();
  if (!record) {
    return record.error();
  }
  // In force, or on its way there.
  if (record->mode == SwitchMode::kSingle ? record->from == name : record->to == name) {
    return parts_->ReportOf(*record);
  }
  const auto known = std::find_if(parts_->stores.begin(), parts_->stores.end(),
                                  [&](const auto& store) { return store->name() == name; });
  if (known == parts_->stores.end()) {
    return Error{Code::kInvalid, Effect::kNone,
                 "there is no store by the name " + std::string(name)};
  }
  if (const Status there = parts_->CheckGrants(**known); !there) {
    return there.error();
  }
  const Status planned = parts_->CanBePlanned(parts_->Store(record->from), **known);
  if (!planned && unless == UnlessPlanned::kRefuse) {
    return planned.error();
  }
  const auto begun =
      parts_->board->Begin(*record, name, planned ? SwitchMode::kBoth : SwitchMode::kDrain, why);
  return begun ? Result<LockSwitch>(parts_->ReportOf(*begun)) : begun.error();
}

Result<LockSwitch> SwitchedLocks::CallOff(std::string_view why) {
  const auto record = parts_->board->CallOff(why);
  return record ? Result<LockSwitch>(parts_->ReportOf(*record)) : record.error();
}

LockSwitch SwitchedLocks::Progress() {
  return parts_->ReportOf(parts_->board->Progress().record);
}

// What has moved may be renewed for the next time when the other store alone is in force.
Result<size_t> SwitchedLocks::Recall(std::string_view name) {
  const auto record = parts_->board->InForce();
  if (!record) {
    return record.error();
  }
  const auto request = [&](LockEngine& engine) {
    engine.InEpoch(record->epoch);
    return engine.Recall(name);
  };
  const auto recalled = parts_->Front(*record).Do(*parts_->board, request);
  if (!recalled || record->mode != SwitchMode::kBoth) {
    return recalled;
  }
  const auto there = parts_->Store(record->to).Do(*parts_->board, request);
  return there ? recalled : Error{there.error().code, Effect::kUnknown, there.error().message};
}

Result<Freed> SwitchedLocks::Evict(std::string_view name, const Fence& fence) {
  const auto record = parts_->board->InForce();
  if (!record) {
    return record.error();
  }
  if (record->mode == SwitchMode::kBoth) {
    return parts_->EvictInBoth(*record, name, fence);
  }
  return parts_->Front(*record).Do(*parts_->board,
                                   [&](LockEngine& engine) { return engine.Evict(name, fence); });
}

// In the store that is to come it has another fence, and is known by who holds it. What was seen
// there before, and is by its holder's word none of those who share the name in the first one, is
// the evicted one, or nobody's. But for what was granted since by that store alone, of which an old
// copy of the record knows nothing.
Result<Freed> SwitchedLocks::Parts::EvictInBoth(const SwitchRecord& record, std::string_view name,
                                                const Fence& fence) {
  const auto read = [&](LockEngine& engine) { return engine.Read(name); };
  SwitchedStore& to = Store(record.to);
  const auto there = to.Do(*board, read);
  const auto here = Front(record).Do(*board, read);
  const auto freed =
      Front(record).Do(*board, [&](LockEngine& engine) { return engine.Evict(name, fence); });
  if (!freed || *freed != Freed::kYes || !there || !here) {
    return freed;
  }
  const std::set<std::string> evicted = WhoHolds(*here, [&](const Fence& f) { return f == fence; });
  const std::set<std::string> others = WhoHolds(*here, [&](const Fence& f) { return f != fence; });
  for (const LockView::Party& party : there->parties) {
    const bool known = evicted.contains(party.who) && !others.contains(party.who);
    const bool since = party.fence.epoch > record.epoch;
    if (party.holds && known && !since) {
      static_cast<void>(
          to.Do(*board, [&](LockEngine& engine) { return engine.Evict(name, party.fence); }));
    }
  }
  return freed;
}

Result<LockView> SwitchedLocks::Read(std::string_view name) {
  const auto record = parts_->board->InForce();
  if (!record) {
    return record.error();
  }
  return parts_->Front(*record).Do(*parts_->board, [&](LockEngine& engine) {
    engine.InEpoch(record->epoch);
    return engine.Read(name);
  });
}

Result<std::vector<std::string>> SwitchedLocks::Names(std::string_view after, size_t limit) {
  const auto record = parts_->board->InForce();
  if (!record) {
    return record.error();
  }
  return parts_->Front(*record).Do(*parts_->board,
                                   [&](LockEngine& engine) { return engine.Names(after, limit); });
}

Result<uint32_t> SwitchedLocks::Seal(uint32_t) {
  return Error{Code::kInvalid, Effect::kNone, "the stores of a switchboard are sealed by it"};
}

}  // namespace oncemq
