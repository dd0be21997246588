// SPDX-License-Identifier: Apache-2.0
// OpenStore: one partition's store while a process holds it, with the product's own marker rules.
//
// Thread safety: none; the file outlives it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config.h"
#include "marker_engine.h"
#include "oncemq/base/clock.h"
#include "sim_disk.h"
#include "sometimes.h"

namespace oncemq::sim {

// What forgetting does next (rule 26).
enum class ForgetStep : uint8_t { kRaise, kDrop, kEnd };

struct StoreTools {
  const Config& config;
  const Clock& clock;
  Sometimes& sometimes;
  const bool& healed;
  // Effect and marker of this completion are written.
  std::function<void(const CompleteRequest&)> took_effect;
  // In an event of its own, if the process is still there by then.
  std::function<void(EventLoop::Body)> later;
  // True: the process dies here; its code returns at once and touches nothing.
  std::function<bool(int32_t partition, ForgetStep)> dies_forgetting;
  std::function<void(const std::string&)> incident;
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
      bool damaged = false;
      const DoneRow* row = store_.file_.now().Find(at.id, &damaged);
      if (damaged) {
        store_.tools_.incident("pages are gone of a bucket that the store still knows");
      }
      return row == nullptr ? std::nullopt : std::optional(*row);
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
  OpenStore(int32_t partition, SimStoreFile& file, const StoreTools& tools, uint64_t incarnation);

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
  StoreKnowledge Knows() const;
  void Note(const Progress& progress);
  // What is being forgotten is, before the store is closed.
  void EndForgetting();

  std::optional<Progress> progress;

 private:
  friend class Finished;
  void ForgetAged();
  void ForgetLater();
  void Forget();

  const int32_t partition_;
  SimStoreFile& file_;
  const StoreTools& tools_;
  Finished finished_{*this};
  MarkerEngine<Finished> engine_;
  StoreBatch batch_;
  std::map<std::string, DoneRow, std::less<>> staged_done_;
  bool kept_ = false;
  bool failed_ = false;
  ForgetStep step_ = ForgetStep::kRaise;
  std::vector<uint32_t> aged_;  // buckets that are being forgotten
  LogTime newest_;              // of what is in them
  const std::shared_ptr<OpenStore*> self_ = std::make_shared<OpenStore*>(this);
};

// A row that is a sum, read back; 0 where there is none.
int64_t SumAt(const StoreState& store, std::string_view key);

}  // namespace oncemq::sim
