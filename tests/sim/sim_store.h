// SPDX-License-Identifier: Apache-2.0
// OpenStore: one partition's store while a process holds it, with the product's own marker rules.
// Thread safety: none; the file outlives it.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "config.h"
#include "marker_engine.h"
#include "oncemq/base/clock.h"
#include "sim_disk.h"
#include "sometimes.h"

namespace oncemq::sim {

struct StoreTools {
  const Config& config;
  const Clock& clock;
  Sometimes& sometimes;
  const bool& healed;
  // Effect and marker of this completion are written.
  std::function<void(const CompleteRequest&)> took_effect;
};

// One open store. What a call changes is staged, seen by the rest of the call, and written as one
// batch.
class OpenStore {
 public:
  // What the engine asks of the store.
  class Finished {
   public:
    explicit Finished(OpenStore& store) : store_(store) {}
    std::optional<DoneRow> Find(const Found& at) const {
      const auto staged = store_.staged_done_.find(at.id);
      if (staged != store_.staged_done_.end()) {
        return staged->second;
      }
      const auto row = store_.file_.now().done.find(at.id);
      return row == store_.file_.now().done.end() ? std::nullopt : std::optional(row->second);
    }
    bool CompletedBy(const DoneRow& row, const Token& token) const { return row.token == token; }
    LogTime horizon() const { return store_.file_.now().horizon; }
    void Append(const Found& at, const Finishing& finishing);
    void Seen(const Found& at, DoneRow row, LogTime time);
    void Keep(const Found& at, Marker& marker);
    void Forget(const Found& at, const Marker& marker);

   private:
    LogTime Filed(LogTime time) const;
    void Put(std::string_view id, const DoneRow& row);

    OpenStore& store_;
  };

  // An opening of its own: `incarnation` is new.
  OpenStore(SimStoreFile& file, const StoreTools& tools, uint64_t incarnation);

  SimStoreFile& file() { return file_; }
  MarkerEngine<Finished>& engine() { return engine_; }
  bool failed() const { return failed_; }
  void Fail() { failed_ = true; }
  LogTime Wall() const { return LogTime(milliseconds(tools_.clock.Wall().micros / 1000)); }
  void set_now() { engine_.set_now(tools_.clock.Boot()); }
  void Stage(std::function<void(StoreState&)> change) { batch_.push_back(std::move(change)); }
  bool staged() const { return !batch_.empty(); }
  bool kept() const { return kept_; }
  // `lands`: false for a write that fails and is not there.
  void Write(bool sync, bool lands = true);
  Known Knows() const;
  void Note(const Progress& progress);
  void ForgetAged();

  std::optional<Progress> progress;

 private:
  friend class Finished;
  SimStoreFile& file_;
  const StoreTools& tools_;
  Finished finished_{*this};
  MarkerEngine<Finished> engine_;
  StoreBatch batch_;
  std::map<std::string, DoneRow, std::less<>> staged_done_;
  bool kept_ = false;
  bool failed_ = false;
};

// A row that is a sum, read back; 0 where there is none.
int64_t SumAt(const StoreState& store, std::string_view key);

}  // namespace oncemq::sim
