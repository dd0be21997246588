// SPDX-License-Identifier: Apache-2.0
#include "oncemq/base/switchboard.h"

#include <algorithm>
#include <utility>

#include "oncemq/base/bytes.h"
#include "oncemq/base/check.h"
#include "oncemq/base/log.h"
#include "oncemq/base/random.h"
#include "oncemq/base/start_thread.h"
#include "switchboard_parts.h"

namespace oncemq {
namespace {

Error Unknown(Code code, std::string_view store) {
  return {code, Effect::kNone, "this process knows no store by the name " + std::string(store)};
}

Error WentBack(uint32_t seen, const std::string& now) {
  return {Code::kCorrupt, Effect::kNone,
          "the switch record was of epoch " + std::to_string(seen) + ", and " + now +
              ": whoever keeps it has lost something"};
}

Status CheckOptions(const SwitchboardOptions& options) {
  const auto invalid = [](const char* why) { return Error{Code::kInvalid, Effect::kNone, why}; };
  if (options.stores.empty() ||
      !std::all_of(options.stores.begin(), options.stores.end(), IsStoreName)) {
    return invalid("a switchboard needs stores, called by 1 to 64 of a-z, 0-9, '-', '_' and '.'");
  }
  for (const milliseconds time : {options.config_lease, options.longest}) {
    if (time < milliseconds(20) || time > std::chrono::hours(24)) {
      return invalid("configuration lease and longest lease last from 20 ms to 24 h");
    }
  }
  if (options.automatic && options.stores.size() > 1 && !options.probe) {
    return invalid("an automatic switch takes a way to ask whether a store answers");
  }
  return {};
}

}  // namespace

// Reads once, has news sealed, and writes the first record where there is none. Never one in place
// of a record that was seen: holds were granted by that, perhaps in another store.
Status Switchboard::Parts::Read() {
  const BootTime requested_at = clock.Boot();
  uint32_t seen = 0;
  {
    MutexLock lock(mutex);
    seen = copy.record().epoch;
  }
  auto text = store->Read();
  if (text && text->text.empty() && seen > 0) {
    return WentBack(seen, "it is gone");
  }
  if (text && text->text.empty()) {
    const SwitchRecord first{1,
                             SwitchMode::kSingle,
                             options.stores.front(),
                             "",
                             options.config_lease,
                             options.longest,
                             "the first record"};
    if (const auto swapped = store->Swap(Format(first), text->version); !swapped) {
      return swapped.error();
    }
    text = store->Read();
  }
  if (!text) {
    return text.error();
  }
  const auto record = ParseSwitchRecord(text->text);
  if (!record) {
    return record.error();
  }
  std::stop_source told;
  bool news = false;
  {
    MutexLock lock(mutex);
    const SwitchRecord before = copy.record();
    const auto saw = copy.Saw(*record, requested_at, clock.Boot());
    if (saw == SwitchCopy::Seen::kOvertaken) {
      return {};
    }
    if (saw == SwitchCopy::Seen::kWentBack) {
      return WentBack(copy.record().epoch, "it is of epoch " + std::to_string(record->epoch));
    }
    version = text->version;
    news = saw == SwitchCopy::Seen::kNews;
    if (news) {
      told = std::exchange(changed, std::stop_source());
      ToSeal(before, *record);
    }
  }
  if (news) {
    Log(LogLevel::kInfo, "switchboard", "record",
        {{"epoch", record->epoch},
         {"mode", ToString(record->mode)},
         {"from", record->from},
         {"to", record->to},
         {"why", record->why}});
    told.request_stop();
  }
  SealTheRest();
  return {};
}

Result<SwitchRecord> Switchboard::Parts::Change(const Step& step) {
  const auto text = store->Read();
  if (!text) {
    return text.error();
  }
  const auto before = ParseSwitchRecord(text->text);
  if (!before) {
    return before.error();
  }
  const auto next = step(*before);
  if (!next) {
    return next.error();
  }
  ONCEMQ_CHECK(next->epoch > before->epoch, "each step of a switch has a later epoch (S2)");
  const auto swapped = store->Swap(Format(*next), text->version);
  if (!swapped) {
    return swapped.error();
  }
  if (!*swapped) {
    return Error{Code::kFenced, Effect::kNone, "somebody else changed the record at the same time"};
  }
  static_cast<void>(Read());
  return *next;
}

// Whoever decided by an earlier record changes no later one.
Result<SwitchRecord> Switchboard::Parts::ChangeFrom(const SwitchRecord& meant, const Step& step) {
  return Change([&](const SwitchRecord& now) -> Result<SwitchRecord> {
    if (now != meant) {
      return Error{Code::kFenced, Effect::kNone, "it is another record by now"};
    }
    return step(now);
  });
}

// S4.
Result<SwitchRecord> Switchboard::Parts::CalledOff(const SwitchRecord& now,
                                                   std::string_view why) const {
  if (now.mode == SwitchMode::kDrain && options.seals && !options.seals(now.from)) {
    return Error{Code::kInvalid, Effect::kNone,
                 "the store " + now.from +
                     " cannot be sealed, and what was held there would be held twice: wait until " +
                     now.to + " is in force, then switch back"};
  }
  return CallOffSwitch(now, why);
}

Result<SwitchRecord> Switchboard::Parts::CallOff(const SwitchRecord& meant, std::string_view why) {
  return ChangeFrom(meant, [&](const SwitchRecord& now) { return CalledOff(now, why); });
}

void Switchboard::Parts::RunAside(std::function<void()> call) {
  if (aside) {
    aside->Run(std::move(call));
  } else {
    options.aside([by = gate, call = std::move(call)] { by->Run(call); });
  }
}

// A store that is left because it fails keeps nobody else waiting: it is the last.
void Switchboard::Parts::ToSeal(const SwitchRecord& before, const SwitchRecord& now) {
  if (before.epoch == 0 || !options.seal) {
    return;
  }
  std::vector<std::string> names{now.to, now.from, before.from};
  names.insert(names.end(), unsealed.begin(), unsealed.end());
  unsealed.clear();
  for (std::string& name : names) {
    if (Knows(name) && std::find(unsealed.begin(), unsealed.end(), name) == unsealed.end()) {
      unsealed.push_back(std::move(name));
    }
  }
}

// In each turn, until it has answered: whoever is blind extends on in a store that is not sealed.
void Switchboard::Parts::SealTheRest() {
  {
    MutexLock lock(mutex);
    if (unsealed.empty() || std::exchange(sealing, true)) {
      return;
    }
  }
  RunAside([this] { Seal(); });
}

void Switchboard::Parts::Seal() {
  for (;;) {
    std::vector<std::string> names;
    SwitchRecord record;
    {
      MutexLock lock(mutex);
      names = unsealed;
      record = copy.record();
    }
    std::erase_if(names, [&](const std::string& name) { return !SealOne(record, name); });
    MutexLock lock(mutex);
    if (copy.record().epoch == record.epoch) {
      std::erase_if(unsealed, [&](const std::string& name) {
        return std::find(names.begin(), names.end(), name) != names.end();
      });
      sealing = false;
      return;
    }
  }
}

// Whether it has answered. The target of a planned switch is sealed first of all, so a silent one
// may be known here before anybody renews.
bool Switchboard::Parts::SealOne(const SwitchRecord& record, const std::string& name) {
  if (!Lets(name)) {
    return false;
  }
  const BootTime requested_at = clock.Boot();
  const Status sealed = options.seal(name, record.epoch);
  if (!sealed && name == record.to) {
    TargetSaid(TargetWatch::By::kQuestion, record, requested_at, sealed);
  }
  return sealed.has_value();
}

std::string Switchboard::Parts::After(std::string_view name) const {
  const auto at = std::find(options.stores.begin(), options.stores.end(), name);
  return at == options.stores.end() || at + 1 == options.stores.end() ? options.stores.front()
                                                                      : *(at + 1);
}

Switchboard::Switchboard(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

Result<std::unique_ptr<Switchboard>> Switchboard::Open(std::shared_ptr<SwitchStore> store,
                                                       SwitchboardOptions options,
                                                       const Clock& clock) {
  if (const Status fit = CheckOptions(options); !fit) {
    return fit.error();
  }
  if (options.who.empty()) {
    options.who = Hex(SecureRandom64());
  }
  auto parts = std::make_unique<Parts>(std::move(store), std::move(options), clock);
  if (const Status read = parts->Read(); !read) {
    return read.error();
  }
  if (!parts->options.aside) {
    parts->aside = Aside::Start();
  }
  if (!parts->options.aside && !parts->aside) {
    return Error{Code::kUnavailable, Effect::kNone, "the system gives no thread"};
  }
  parts->thread = StartThread("oncemq-switch", [p = parts.get()] { p->Run(); });
  if (!parts->thread) {
    return Error{Code::kUnavailable, Effect::kNone, "the system gives no thread"};
  }
  return std::unique_ptr<Switchboard>(new Switchboard(std::move(parts)));
}

Switchboard::~Switchboard() {
  {
    MutexLock lock(parts_->mutex);
    parts_->the_end.request_stop();
    parts_->nudge.request_stop();
  }
  parts_->thread->join();
  if (parts_->options.automatic) {
    parts_->ballot.Leave(parts_->store->past_the_end());
  }
  parts_->aside.reset();
  parts_->gate->Shut();
}

Result<SwitchRecord> Switchboard::InForce() const {
  MutexLock lock(parts_->mutex);
  const SwitchRecord& record = parts_->copy.record();
  if (parts_->options.when_blind == WhenBlind::kStrict &&
      !parts_->copy.good(parts_->clock.Boot())) {
    return Error{Code::kUnavailable, Effect::kNone,
                 "nothing was heard of the switchboard for longer than its configuration lease"};
  }
  for (const std::string& name : {record.from, record.to}) {
    if (!name.empty() && !parts_->Knows(name)) {
      return Unknown(Code::kUnavailable, name);
    }
  }
  return record;
}

SwitchProgress Switchboard::Progress() const {
  MutexLock lock(parts_->mutex);
  const BootTime now = parts_->clock.Boot();
  SwitchProgress progress{parts_->copy.record(), parts_->copy.good(now), std::nullopt,
                          parts_->ballot.living()};
  if (const auto end = parts_->copy.may_end_at()) {
    progress.left = std::max(milliseconds(0), std::chrono::ceil<milliseconds>(*end - now));
  }
  return progress;
}

std::stop_token Switchboard::changed() const {
  MutexLock lock(parts_->mutex);
  return parts_->changed.get_token();
}

void Switchboard::ReadSoon() {
  MutexLock lock(parts_->mutex);
  parts_->nudge.request_stop();
}

Result<SwitchRecord> Switchboard::Begin(std::string_view to, SwitchMode mode,
                                        std::string_view why) {
  if (!parts_->Knows(to)) {
    return Unknown(Code::kInvalid, to);
  }
  return parts_->Change([&](const SwitchRecord& now) { return BeginSwitch(now, to, mode, why); });
}

Result<SwitchRecord> Switchboard::Begin(const SwitchRecord& meant, std::string_view to,
                                        SwitchMode mode, std::string_view why) {
  if (!parts_->Knows(to)) {
    return Unknown(Code::kInvalid, to);
  }
  return parts_->ChangeFrom(
      meant, [&](const SwitchRecord& now) { return BeginSwitch(now, to, mode, why); });
}

Result<SwitchRecord> Switchboard::CallOff(std::string_view why) {
  return parts_->Change([&](const SwitchRecord& now) { return parts_->CalledOff(now, why); });
}

Result<SwitchRecord> Switchboard::CallOff(const SwitchRecord& meant, std::string_view why) {
  return parts_->CallOff(meant, why);
}

std::string Switchboard::Next() const {
  MutexLock lock(parts_->mutex);
  return parts_->After(parts_->copy.record().from);
}

bool Switchboard::Lets(std::string_view store) {
  return parts_->Lets(store);
}

void Switchboard::Report(std::string_view store, bool answered) {
  parts_->Report(store, answered);
}

void Switchboard::ReportTarget(const SwitchRecord& record, BootTime sent_at, const Status& taken) {
  parts_->TargetSaid(TargetWatch::By::kUser, record, sent_at, taken);
}

// None at the end, so of all that are to be asked or sealed one after another none is begun then.
bool Switchboard::Parts::Lets(std::string_view name) {
  if (Ended()) {
    return false;
  }
  MutexLock lock(mutex);
  const auto at = breakers.find(name);
  return at == breakers.end() || at->second.Lets(clock.Boot());
}

void Switchboard::Parts::Report(std::string_view name, bool answered) {
  MutexLock lock(mutex);
  const SwitchRecord& record = copy.record();
  in_use = in_use || name == (record.mode == SwitchMode::kBoth ? record.to : record.from);
  auto at = breakers.find(name);
  if (at == breakers.end()) {
    if (answered) {
      return;
    }
    at = breakers.emplace(name, CircuitBreaker(options.breaker)).first;
  }
  if (answered) {
    at->second.Succeeded();
  } else {
    at->second.Failed(clock.Boot());
  }
}

}  // namespace oncemq
