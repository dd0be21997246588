// SPDX-License-Identifier: Apache-2.0
// Two threads: one looks, one tells, so that a call that lasts makes nobody blind.
#include "oncemq/locks/config_watch.h"

#include <algorithm>
#include <exception>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>

#include "oncemq/base/log.h"
#include "oncemq/base/mutex.h"
#include "oncemq/base/start_thread.h"
#include "oncemq/base/switch_record.h"
#include "oncemq/base/wait_until.h"
#include "oncemq/locks/switch_stores.h"

namespace oncemq {
namespace {

// Between two looks that found nothing new: a place may say each time that something has changed.
constexpr milliseconds kPollInterval{250};

Error InvalidWatch(const char* why) {
  return {Code::kInvalid, Effect::kNone, why};
}

}  // namespace

struct ConfigWatch::Parts {
  Parts(std::shared_ptr<SwitchStore> a_store, ConfigWatchOptions an_options, const Clock& a_clock)
      : store(std::move(a_store)), options(std::move(an_options)), clock(a_clock) {}

  // Reads once.
  Status Read() {
    // One after another, so that what is read later is not older.
    MutexLock one_at_a_time(reading);
    const BootTime requested_at = clock.Boot();
    const auto read = store->Read();
    MutexLock lock(mutex);
    const bool lost = read && read->version == 0 && seen.value.version > 0;
    if (!read || lost) {
      const std::string why = lost ? "the text is gone" : ToString(read.error());
      if (!seen.blind) {
        Log(LogLevel::kWarn, "config", "the text cannot be read; the last one stays",
            {{"error", why}});
      }
      seen.blind = true;
      return lost ? Status(Error{Code::kCorrupt, Effect::kNone, why}) : Status(read.error());
    }
    seen.as_of = requested_at;
    seen.blind = false;
    ConfigValue now{read->text, read->version};
    if (now == seen.value) {
      return {};
    }
    if (now.version <= seen.value.version) {
      Log(LogLevel::kWarn, "config", "the text went back: whoever keeps it has lost something",
          {{"from", seen.value.version}, {"to", now.version}});
    }
    seen.value = std::move(now);
    change_pending = true;
    changed.notify_all();
    return {};
  }

  void ReadLoop() {
    const std::stop_token ends = stop.get_token();
    while (!ends.stop_requested()) {
      uint64_t known = 0;
      {
        MutexLock lock(mutex);
        known = seen.value.version;
      }
      const BootTime began = clock.Boot();
      const Status heard = store->Await(known, began + options.read_every, ends);
      if (ends.stop_requested()) {
        return;
      }
      const Status read = Read();
      bool news = false;
      {
        MutexLock lock(mutex);
        news = seen.value.version != known;
      }
      if (!heard || !read || !news) {
        const BootTime now = clock.Boot();
        WaitUntil(std::max(began + kPollInterval, now), now, ends);
      }
    }
  }

  void NotifyOfChanges() {
    for (;;) {
      ConfigValue now;
      {
        MutexLock lock(mutex);
        changed.wait(mutex, [this]() REQUIRES(mutex) { return change_pending || ending; });
        if (ending) {
          return;
        }
        change_pending = false;
        notifying = true;
        now = seen.value;
      }
      NotifyOf(now);
      MutexLock lock(mutex);
      notifying = false;
      changed.notify_all();
    }
  }

  void NotifyOf(const ConfigValue& now) const {
    try {
      options.changed(now);
    } catch (const std::exception& error) {
      Log(LogLevel::kError, "config", "whoever was told of a change threw",
          {{"what", std::string_view(error.what()).substr(0, 200)}});
    } catch (...) {
      Log(LogLevel::kError, "config", "whoever was told of a change threw", {});
    }
  }

  const std::shared_ptr<SwitchStore> store;
  const ConfigWatchOptions options;
  const Clock& clock;

  Mutex reading;  // before `mutex`
  mutable Mutex mutex;
  ConditionVariable changed;
  ConfigSeen seen GUARDED_BY(mutex);
  bool change_pending GUARDED_BY(mutex) = false;
  bool notifying GUARDED_BY(mutex) = false;
  bool ending GUARDED_BY(mutex) = false;

  std::stop_source stop;
  std::optional<std::thread> reader;
  std::optional<std::thread> notifier;
};

ConfigWatch::ConfigWatch(std::shared_ptr<Parts> parts) : parts_(std::move(parts)) {}

Result<std::unique_ptr<ConfigWatch>> ConfigWatch::Open(std::string_view address,
                                                       std::string_view name,
                                                       ConfigWatchOptions options) {
  if (!IsStoreName(name) || name.size() > kLongestConfigName) {
    return InvalidWatch("a configuration is called by 1 to 57 of a-z, 0-9, '-', '_' and '.'");
  }
  auto store = OpenSwitchStore(address, "config." + std::string(name));
  if (!store) {
    return store.error();
  }
  return Over(*std::move(store), std::move(options));
}

Result<std::unique_ptr<ConfigWatch>> ConfigWatch::Over(std::shared_ptr<SwitchStore> store,
                                                       ConfigWatchOptions options,
                                                       const Clock& clock) {
  if (options.read_every < milliseconds(1) || options.last_call < milliseconds(0)) {
    return InvalidWatch(
        "a configuration watch looks after 1 ms or later, and waits for no less than 0");
  }
  auto parts = std::make_shared<Parts>(std::move(store), std::move(options), clock);
  if (const Status read = parts->Read(); !read) {
    return read.error();
  }
  std::unique_ptr<ConfigWatch> watch(new ConfigWatch(parts));
  parts->reader = StartThread("config", [parts] { parts->ReadLoop(); });
  if (parts->reader && parts->options.changed) {
    parts->notifier = StartThread("config-tell", [parts] { parts->NotifyOfChanges(); });
  }
  if (!parts->reader || (parts->options.changed && !parts->notifier)) {
    return Error{Code::kUnavailable, Effect::kNone, "the system gives no thread"};
  }
  return watch;
}

ConfigWatch::~ConfigWatch() {
  parts_->stop.request_stop();
  bool let_go = false;
  {
    MutexLock lock(parts_->mutex);
    parts_->ending = true;
    parts_->changed.notify_all();
    const bool by_itself =
        parts_->notifier && parts_->notifier->get_id() == std::this_thread::get_id();
    let_go = by_itself || !parts_->changed.wait_for(
                              parts_->mutex, parts_->options.last_call,
                              [this]() REQUIRES(parts_->mutex) { return !parts_->notifying; });
    if (let_go && !by_itself) {
      Log(LogLevel::kError, "config", "whoever was told of a change does not return; it is let go",
          {});
    }
  }
  if (parts_->notifier) {
    let_go ? parts_->notifier->detach() : parts_->notifier->join();
  }
  if (parts_->reader) {
    parts_->reader->join();
  }
}

ConfigSeen ConfigWatch::Now() const {
  MutexLock lock(parts_->mutex);
  return parts_->seen;
}

Result<bool> ConfigWatch::Set(std::string_view text, uint64_t version) {
  if (text.empty() || text.size() > kLongestConfig) {
    return InvalidWatch("a configuration has 1 to 32768 bytes");
  }
  const auto swapped = parts_->store->Swap(text, version);
  if (swapped) {
    static_cast<void>(parts_->Read());  // if it fails, it says so to Now()
  }
  return swapped;
}

}  // namespace oncemq
