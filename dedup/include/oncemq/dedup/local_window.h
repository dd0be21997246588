// SPDX-License-Identifier: Apache-2.0
// The window on a local disk, in RocksDB: it knows after a restart what it knew before.
//
// Promise: the contract of Window for one process at a time; the directory is held
// exclusively. A finished id is known for at least `remember` of log time. Answers survive the
// process, by `sync` also the machine. A claim of a process that is gone is dead: the next claim
// gets it, at the opaque level marked uncertain. Open() gives all synced changes, or says which are
// damaged.
//
// Limits: memory as in docs/policies.md, care of directories as in docs/operations.md.
//
// Failure: kUnavailable while another process holds the directory, when the disk is full, and after
// any failed write: then the window must be opened again. kCorrupt says which part is damaged.
// kInvalid: options without a promise, a directory of another identity or a network file system.
//
// Thread safety: any thread; one lock around each batch. Blocks: for the disk.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "oncemq/dedup/window.h"

namespace oncemq {

// When what was written is made to survive power loss; ownerships, the horizon and buckets always
// are. What a power loss takes is the end of what was answered: it shows in the progress, which
// goes back to an earlier announcement, and is for the caller to compare with its log.
enum class SyncWhen : uint8_t { kNever, kEachCommit, kEachBatch };

struct LocalWindowOptions {
  // What of it is missing is made for its owner alone (0700). A relative one is taken from the
  // working directory, so say an absolute one where several processes are to meet in it.
  std::string directory;
  // Who the window belongs to, as text: cluster, topic, group, scope, recipe, isolation. A
  // directory that was written for somebody else is refused.
  std::string identity;
  // Decides how a claim may be taken over. Must be said.
  std::optional<Level> level;
  WindowTimes times;
  // kEachBatch where a loss of power must take nothing, kNever where it may take commits.
  SyncWhen sync = SyncWhen::kEachCommit;
  // How long a finished id is surely known, in log time. Raise it where copies come later, lower it
  // to save room. A store keeps it, and refuses a later opening with a shorter one (kInvalid),
  // likewise for `skew`. ReplaceRememberTimes() lowers both.
  milliseconds remember = std::chrono::hours(24 * 7);
  // Kept in addition. Raise it where time stamps of different producers differ by more.
  milliseconds skew = std::chrono::minutes(1);
  // Finished ids in memory before they go to the history; they are forgotten by as many at a time,
  // or by as many generations as were merged. Fewer, where their share of `memory_bytes` is full.
  uint32_t generation = 1'000'000;
  // For finished ids in memory: those of the present generations and of those that are being put
  // away, of all stores of partitions together. The open stores have equal shares of it, but 512
  // KiB each at least; with more stores generations are smaller.
  uint64_t memory_bytes = uint64_t{512} << 20;
  // Open and parked ids at a time; a batch beyond it is refused with kFull. Raise them with
  // in_flight, and where refused ids are many.
  uint32_t max_open = 1'000'000;
  uint32_t max_parked = 1'000'000;
  // For effects and open ids on the disk, and for RocksDB's changes outside of files: each for all
  // stores of partitions together. Raise the cache where handlers read many rows.
  size_t cache_bytes = size_t{64} << 20;
  size_t buffer_bytes = size_t{512} << 20;
  // The admin socket of this process, absolute: each store that it holds names it, so that a look
  // into the directory knows which socket to ask. Empty: the one of an AdminSocket that is opened
  // for this window (Window::SetAdminSocket); without one nobody can be asked.
  std::string admin_socket;
};

// `clock` judges the leases of this process and outlives the window.
Result<std::unique_ptr<Window>> OpenLocalWindow(const LocalWindowOptions& options,
                                                const Clock& clock);

// A window like this for each partition, under one directory: <directory>/<topic>/<partition>. A
// store is opened when its partition comes (Window::Open) and closed when it goes, so the next
// owner on this host goes on with it; requests for a partition whose store is not open are answered
// kFenced. A store that has failed is opened again by the next call; the others that come meanwhile
// are told kUnavailable. All copies of an id must travel through one partition. What the options
// say of ids and bytes holds for each store; `identity` may be empty, and stands in front of what
// Open() says of the owner. The directory is made. kInvalid: it cannot be, or not be written by
// this process, or lies on a network file system. A full disk is no such error: Window::Open()
// tells.
Result<std::unique_ptr<Window>> OpenPartitionWindows(const LocalWindowOptions& options,
                                                     const Clock& clock);

// Whether OpenPartitionWindows() could make or write the directory, as things are now: for a
// check of a configuration. Makes nothing, so a later opening may still fail.
Status CheckWindowDirectory(const std::string& directory);

// Lowers, for an operator, the times for which a store without a holder keeps its ids. The answer:
// the times in force then. Where one of `times` is longer, the store is left as it is.
// kUnavailable: a process holds it; kCorrupt: no store lies there, or it is damaged.
Result<RememberTimes> ReplaceRememberTimes(const std::string& directory,
                                           const RememberTimes& times);

// Shows what handlers have written into one store (level atomic), in the order of keys, until
// `visit` says false. For whoever looks when the work is over. kInvalid: there is no store in that
// directory; kUnavailable: somebody holds it.
Status ScanEffects(const std::string& directory,
                   const std::function<bool(std::string_view key, std::string_view value)>& visit);

}  // namespace oncemq
