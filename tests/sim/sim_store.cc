// SPDX-License-Identifier: Apache-2.0
#include "sim_store.h"

#include <algorithm>
#include <utility>

#include "oncemq/base/hash.h"
#include "oncemq/dedup/effects.h"

namespace oncemq::sim {
namespace {

WindowTimes TimesOf(const Config& config) {
  const auto milli = [](Micros micros) { return milliseconds(micros / kMilli); };
  return {milli(config.lease), milli(config.max_lease), milli(config.handler_timeout)};
}

}  // namespace

int64_t SumAt(const StoreState& store, std::string_view key) {
  const auto row = store.effects.find(key);
  return row == store.effects.end() ? 0 : SumOf(row->second).value_or(-1);
}

OpenStore::OpenStore(SimStoreFile& file, const StoreTools& tools, uint64_t incarnation)
    : file_(file),
      tools_(tools),
      engine_(LevelOf(tools.config), TimesOf(tools.config), {100'000, 100'000}, finished_) {
  Stage([incarnation](StoreState& state) {
    if (state.incarnation != 0) {
      state.earlier.push_back(state.incarnation);
    }
    state.incarnation = incarnation;
  });
  Write(/*sync=*/true);
  for (const auto& [id, row] : file_.now().kept) {
    Marker marker = row;
    marker.stored = true;
    if (marker.state == MarkerState::kOpen) {
      // Judged by incarnation, not by a clock: its process is gone (rule 13).
      marker.uncertain |= marker.held;
      marker.held = false;
    }
    engine_.Load({id, StableHash(id), 0}, marker);
  }
}

LogTime OpenStore::Finished::Filed(LogTime time) const {
  LogTime latest = store_.Wall();
  if (store_.progress && store_.progress->watermark != kNoLogTime) {
    latest = std::max(latest, store_.progress->watermark);
  }
  return time == kNoLogTime ? store_.Wall() : std::min(time, latest);
}

void OpenStore::Finished::Put(std::string_view id, const DoneRow& row) {
  store_.staged_done_.insert_or_assign(std::string(id), row);
  store_.Stage(
      [id = std::string(id), row](StoreState& state) { state.done.insert_or_assign(id, row); });
}

void OpenStore::Finished::Append(const Found& at, const Finishing& finishing) {
  Put(at.id, {.at = finishing.at,
              .token = finishing.token,
              .fingerprint = finishing.fingerprint,
              .result = std::string(finishing.result),
              .time = Filed(finishing.time)});
}

void OpenStore::Finished::Seen(const Found& at, DoneRow row, LogTime time) {
  const LogTime filed = Filed(time);
  if (filed > row.time && !ONCEMQ_MUTANT("copy-not-filed-anew")) {
    row.time = filed;
    Put(at.id, row);
  }
}

void OpenStore::Finished::Keep(const Found& at, Marker& marker) {
  const bool opaque = LevelOf(store_.tools_.config) == Level::kOpaque;
  if (marker.state == MarkerState::kOpen && !marker.uncertain && !opaque) {
    return;
  }
  marker.stored = store_.kept_ = true;
  store_.Stage([id = std::string(at.id), marker](StoreState& state) {
    state.kept.insert_or_assign(id, marker);
  });
}

void OpenStore::Finished::Forget(const Found& at, const Marker& marker) {
  if (marker.stored) {
    store_.Stage([id = std::string(at.id)](StoreState& state) { state.kept.erase(id); });
  }
}

void OpenStore::Write(bool sync, bool lands) {
  if (lands) {
    file_.Write(std::exchange(batch_, {}), sync);
  }
  batch_.clear();
  staged_done_.clear();
  kept_ = false;
}

Known OpenStore::Knows() const {
  const StoreState& state = file_.now();
  Known known;
  known.from = state.from;
  known.to = state.to;
  known.offset = state.offset;
  known.metadata = state.metadata;
  known.incarnation = state.incarnation;
  known.earlier = state.earlier;
  return known;
}

void OpenStore::Note(const Progress& noted) {
  progress = noted;
  if (noted.watermark != kNoLogTime) {
    progress->watermark = std::clamp(noted.watermark, LogTime(milliseconds(0)), Wall());
  }
  Stage([named = noted.incarnation](StoreState& state) {
    // The commit is of that opening: none before it matters any more.
    const auto last = std::find(state.earlier.begin(), state.earlier.end(), named);
    if (named == state.incarnation) {
      state.earlier.clear();
    } else if (last != state.earlier.end()) {
      state.earlier.erase(state.earlier.begin(), last);
    }
  });
  Write(/*sync=*/false);
  ForgetAged();
}

// One by one, as early as it may: the product forgets whole generations, so never earlier.
void OpenStore::ForgetAged() {
  if (tools_.config.remember_for == 0 || progress->watermark == kNoLogTime) {
    return;
  }
  const LogTime limit = progress->watermark - milliseconds(tools_.config.remember_for / kMilli);
  std::vector<std::string> aged;
  LogTime newest = file_.now().horizon;
  for (const auto& [id, row] : file_.now().done) {
    if (row.time < limit && row.at.offset < progress->frontier) {
      aged.push_back(id);
      newest = std::max(newest, row.time + milliseconds(1));
    }
  }
  if (aged.empty()) {
    return;
  }
  tools_.sometimes.Count(Situation::kAged);
  Stage([newest](StoreState& state) { state.horizon = newest; });
  Write(/*sync=*/true);
  Stage([aged = std::move(aged)](StoreState& state) {
    for (const std::string& id : aged) {
      state.done.erase(id);
    }
  });
  Write(/*sync=*/false);
}

}  // namespace oncemq::sim
