// SPDX-License-Identifier: Apache-2.0
#include "sim_store.h"

#include <algorithm>
#include <utility>

#include "oncemq/dedup/effects.h"

namespace oncemq::sim {
namespace {

constexpr size_t kBucketRows = 6;

}  // namespace

int64_t SumAt(const StoreState& store, std::string_view key) {
  const auto row = store.effects.find(key);
  return row == store.effects.end() ? 0 : SumOf(row->second).value_or(-1);
}

OpenStore::OpenStore(int32_t partition, SimStoreFile& file, const StoreTools& tools,
                     uint64_t incarnation)
    : partition_(partition),
      file_(file),
      tools_(tools),
      engine_(LevelOf(tools.config), TimesOf(tools.config), {100'000, 100'000}, finished_) {
  Stage([incarnation](StoreState& state) {
    if (state.incarnation != 0) {
      state.earlier.push_back(state.incarnation);
    }
    state.incarnation = incarnation;
  });
  Write(/*sync=*/true);
  // Pages that nothing speaks of any more are what a death has left of forgetting.
  std::vector<uint32_t> left;
  for (const auto& [number, rows] : file_.now().pages) {
    if (!file_.now().buckets.contains(number)) {
      left.push_back(number);
    }
  }
  file_.DropPages(left);
  for (const auto& [id, row] : file_.now().kept) {
    Marker marker = row;
    marker.stored = true;
    if (marker.state == MarkerState::kOpen) {
      // Judged by incarnation, not by a clock: its process is gone (rule 13).
      marker.uncertain |= marker.held;
      marker.held = false;
    }
    engine_.Load({id, IdHashOf(tools.config, id), 0}, marker);
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
  const size_t most = store_.tools_.config.remember_for == 0 ? kForgetsNothing : kBucketRows;
  store_.Stage([id = std::string(id), row, most](StoreState& state) { state.Put(id, row, most); });
}

void OpenStore::Finished::Append(const Found& at, const Finishing& finishing) {
  const bool told = store_.progress && store_.progress->watermark != kNoLogTime;
  const LogTime least = told ? store_.progress->watermark : store_.Wall();
  Put(at.id, {.at = finishing.at,
              .token = finishing.token,
              .fingerprint = finishing.fingerprint,
              .result = std::string(finishing.result),
              .time = std::max(Filed(finishing.time), least)});
}

void OpenStore::Finished::Seen(const Found& at, DoneRow row, LogTime time) {
  const LogTime filed = Filed(time);
  if (filed > row.time) {
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

StoreKnowledge OpenStore::Knows() const {
  const StoreState& state = file_.now();
  StoreKnowledge known;
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

// In small buckets, and so a little later than it might, as the product does in large ones.
void OpenStore::ForgetAged() {
  if (tools_.config.remember_for == 0 || progress->watermark == kNoLogTime || !aged_.empty()) {
    return;
  }
  const LogTime limit = progress->watermark - milliseconds(tools_.config.remember_for / kMilli);
  newest_ = LogTime::min();
  for (const auto& [number, bucket] : file_.now().buckets) {
    if (number != file_.now().present && bucket.newest < limit &&
        bucket.reach < progress->frontier) {
      aged_.push_back(number);
      newest_ = std::max(newest_, bucket.newest);
    }
  }
  if (!aged_.empty()) {
    tools_.sometimes.Count(Situation::kAged);
    ForgetLater();
  }
}

void OpenStore::ForgetLater() {
  tools_.later([weak = std::weak_ptr<OpenStore*>(self_)] {
    const auto self = weak.lock();
    if (self == nullptr || (*self)->failed_ || (*self)->aged_.empty()) {
      return;
    }
    if (!(*self)->tools_.dies_forgetting((*self)->partition_, (*self)->step_)) {
      (*self)->Forget();
      if (!(*self)->aged_.empty()) {
        (*self)->ForgetLater();
      }
    }
  });
}

void OpenStore::EndForgetting() {
  while (!aged_.empty()) {
    Forget();
  }
}

// One step. The horizon and what is known of the buckets go in one batch, which is on the disk
// before any page goes: whatever dies in between, an id that is gone never looks new.
void OpenStore::Forget() {
  // As in the product: the pages go last.
  switch (step_) {
    case ForgetStep::kRaise:
      Stage([aged = aged_, horizon = newest_ + milliseconds(1)](StoreState& state) {
        state.horizon = std::max(state.horizon, horizon);
        for (const uint32_t number : aged) {
          state.buckets.erase(number);
        }
      });
      Write(/*sync=*/true);
      break;
    case ForgetStep::kDrop:
      file_.DropPages(aged_);
      break;
    case ForgetStep::kEnd:
      aged_.clear();
      break;
  }
  step_ = aged_.empty() ? ForgetStep::kRaise : static_cast<ForgetStep>(static_cast<int>(step_) + 1);
}

}  // namespace oncemq::sim
