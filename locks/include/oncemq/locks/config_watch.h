// SPDX-License-Identifier: Apache-2.0
// ConfigWatch: a text that many processes follow and any of them may replace, kept where records of
// switchboards are (switch_stores.h). It is the text of the name "config." and `name`.
//
//   auto limits = ConfigWatch::Open("etcd://etcd-1,etcd-2", "limits",
//                                   {.changed = [&](const ConfigValue& now) { Apply(now.text); }});
//   ...
//   const ConfigSeen seen = (*limits)->Now();
//   (*limits)->Set(Raised(seen.value.text), seen.value.version);
//
// It is no fence: two processes may act by different texts for as long as one of them is blind, and
// a moment longer. What must not overlap takes a lock, or a switchboard.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "oncemq/base/clock.h"
#include "oncemq/base/result.h"
#include "oncemq/base/switch_store.h"

namespace oncemq {

inline constexpr size_t kLongestConfig = 32'768;
inline constexpr size_t kLongestConfigName = 57;

struct ConfigValue {
  std::string text;      // empty: nobody has set one yet
  uint64_t version = 0;  // for Set(); 0: nobody has
  friend bool operator==(const ConfigValue&, const ConfigValue&) = default;
};

struct ConfigSeen {
  ConfigValue value;
  // It was so then or later; what others have set since may not be known.
  BootTime as_of;
  // The last question was not answered, or the text that was there is gone: the value is that of
  // `as_of`, and is followed again once there is an answer.
  bool blind = false;
};

struct ConfigWatchOptions {
  // Called with what is there at the start, if somebody has set it, then with each change; not two
  // calls at a time. While one lasts the next waits, and those in between are passed over; the last
  // one is always told. It may call Now() and Set(). What it throws is logged.
  std::function<void(const ConfigValue& now)> changed;
  milliseconds read_every{10'000};  // reads at least so often, though no change was heard
  milliseconds last_call{5'000};    // how long destruction waits for a call under way
};

// Promise: Now() follows what is kept, at once where the place tells of changes (etcd, ZooKeeper),
// within a second in databases, 250 ms in a directory. While the place cannot be reached the last
// value stays, marked blind; it is asked again until it answers. A place that was put back to an
// earlier text is followed, with a line in the log; a text that was there and is gone is not: a
// configuration does not become empty by losing it.
//
// Thread safety: any thread. No call may be under way when it is destroyed, which `changed` may do
// too. That takes one call of the place, and `last_call` at most: a call that lasts longer is let
// go, with a line in the log, and must use nothing then that is gone.
class ConfigWatch {
 public:
  // Failures: kInvalid (a name is 1 to 57 of a-z, 0-9, '-', '_' and '.'); else the place's, which
  // must answer once.
  static Result<std::unique_ptr<ConfigWatch>> Open(std::string_view address, std::string_view name,
                                                   ConfigWatchOptions options = {});
  // Over a text of its own that somebody else has opened.
  static Result<std::unique_ptr<ConfigWatch>> Over(std::shared_ptr<SwitchStore> store,
                                                   ConfigWatchOptions options = {},
                                                   const Clock& clock = SystemClock::Instance());
  ~ConfigWatch();
  ConfigWatch(const ConfigWatch&) = delete;
  ConfigWatch& operator=(const ConfigWatch&) = delete;

  // Asks nobody.
  ConfigSeen Now() const;

  // Replaces the text if it is still of this version; 0: if nobody has set one. False: it is of
  // another version, and nothing was changed. Then, as after true, Now() has looked, if the place
  // answered. Failures: kInvalid for a text that is empty or longer than kLongestConfig; else the
  // place's, whose effect may be unknown.
  Result<bool> Set(std::string_view text, uint64_t version);

 private:
  struct Parts;
  explicit ConfigWatch(std::shared_ptr<Parts> parts);

  const std::shared_ptr<Parts> parts_;  // a call that never returns outlives this object
};

}  // namespace oncemq
