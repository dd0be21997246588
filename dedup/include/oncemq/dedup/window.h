// SPDX-License-Identifier: Apache-2.0
// Window: the contract of every engine that remembers ids, and decides whether an effect still has
// to happen.
//
// One window belongs to one scope (app / namespace / group / handler). Each call is a batch. Each
// request of a batch is one atomic step of the store, judged by its guards (docs/guarantees.md,
// transitions 1-10), in the order given. Answers are values. An Error means that the call failed as
// a whole. With Effect::kNone nothing happened. With Effect::kUnknown any part of it may have, and
// the caller repeats it with the same tokens: it recognises itself. A malformed
// request (an id that is empty or too long, a result too long, an empty token, too few places for
// answers) makes the whole call kInvalid before any of it is applied.
//
// Thread safety: implementations may be used from any thread. Blocks: for at most the engine's own
// time-out; on disk for the disk, which has none.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "oncemq/base/clock.h"
#include "oncemq/base/result.h"
#include "oncemq/base/token.h"
#include "oncemq/dedup/effects.h"

namespace oncemq {

// What the pair (store of the marker, kind of effect) can promise. docs/guarantees.md
enum class Level : uint8_t { kAtomic, kGuarded, kOpaque };
std::string_view ToString(Level level);

// Where a delivery comes from. `source` numbers the topics of a scope; a caller without a log uses
// kNoPartition. A finished id without a partition ages by the engine's own clock
// (CompleteRequest::keep), and pins nothing.
inline constexpr int32_t kNoPartition = -1;
struct Coordinates {
  uint32_t source = 0;
  int32_t partition = kNoPartition;
  int64_t offset = -1;
  friend bool operator==(const Coordinates&, const Coordinates&) = default;
};

// The ownership fence of a partition, issued by the window's store; 0 for callers that own none
// (gate, replay).
using OwnerEpoch = uint64_t;

// Log time: the time stamp of a record in its log. It runs with the log, not with a clock.
using LogTime = std::chrono::sys_time<milliseconds>;
inline constexpr LogTime kNoLogTime = LogTime::min();

// Of CompleteRequest::keep: for ever.
inline constexpr milliseconds kForEver = milliseconds::max();
// The most of ClaimRequest::lease and RenewRequest::lease, and of a CompleteRequest::keep that is
// not for ever.
inline constexpr milliseconds kLongestClaim = std::chrono::hours(24 * 365);
inline constexpr milliseconds kLongestKeep = 100 * kLongestClaim;

enum class MarkerState : uint8_t { kNone, kOpen, kDone, kParked, kHanded };
std::string_view ToString(MarkerState state);

enum class ClaimVerdict : uint8_t {
  kGranted,        // run the effect
  kDuplicate,      // its effect is on record
  kInFlight,       // somebody may be running it now: wait for the outcome
  kAttached,       // it is parked or handed on: follow that record, do not run
  kConflict,       // the same id with another payload
  kOutsideWindow,  // too old to know
  kIncomplete,     // the window does not know this id's range
  kFenced,         // the caller's ownership of the partition is over
};
std::string_view ToString(ClaimVerdict answer);

struct ClaimRequest {
  std::string_view id;
  Token token;  // the same again when a reply was lost
  Coordinates at;
  OwnerEpoch owner_epoch = 0;
  uint32_t fingerprint = 0;   // of the payload; 0: not taken
  LogTime time = kNoLogTime;  // of the record
  // The delivery lies at or above the highest frontier that its partition ever committed, so nobody
  // has finished it: never kOutsideWindow, however old it is (rule 23).
  bool first = false;
  // Of the last copy that is not asked about, because it follows this one's outcome. Judges
  // nothing, and keeps the id from ageing before it.
  LogTime copies_until = kNoLogTime;
  // Of this claim alone; 0: the window's. It may be longer than the window's max_lease, which then
  // ends nothing before it. No renewal shortens it.
  milliseconds lease{0};
  // Where a grant would be told as uncertain: kInFlight with `uncertain`, and nothing changes, so
  // that the late truth of an earlier holder still counts.
  bool not_if_uncertain = false;
  // Number of a parked record, for a caller about to run it (rule 39). Grants an id parked under
  // this number and `at`, also with a corrected payload.
  uint64_t parked_entry = 0;
};

struct ClaimAnswer {
  ClaimVerdict answer = ClaimVerdict::kIncomplete;
  bool same_delivery = false;  // with kDuplicate: the marker has our coordinates (own redelivery)
  // With kGranted, or in its place (not_if_uncertain): an earlier attempt may have had its effect.
  bool uncertain = false;
  uint32_t attempt = 0;                       // with kGranted: 1 for the first
  uint64_t entry = 0;                         // with kAttached: number of the record to follow
  MarkerState attached = MarkerState::kNone;  // with kAttached: kParked or kHanded
  microseconds wait{0};                       // with kInFlight: when to look again
  std::string result;                         // with kDuplicate: what the first run stored
};

struct CompleteRequest {
  std::string_view id;
  Token token;
  Coordinates at;
  std::string_view result = {};
  // Of the record, or of the last copy that follows it; unknown: the engine's own time stands in.
  LogTime time = kNoLogTime;
  // Of an id without a partition: how long it is known from now on, by the engine's clock. Then the
  // next claim finds it new, also before a sweep has taken its row. 0: as long as the window
  // remembers.
  milliseconds keep{0};
};

struct ReleaseRequest {
  std::string_view id;
  Token token;
  // The handler may have had its effect (opaque level): the marker stays open without a holder,
  // marked uncertain. The mark outlives later claims and releases, until the id is finished.
  bool uncertain = false;
  Coordinates at = {};  // here and below: of the claim
  // The handler was called and asks for another attempt. The marker stays open without a holder,
  // with its count of attempts. A release that says neither takes its own attempt back.
  bool failed = false;
  // As in the claim. The id is parked again, and copies attach to its record between two attempts.
  uint64_t parked_entry = 0;
};

struct ParkRequest {
  std::string_view id;
  Token token;
  uint64_t entry = 0;
  Coordinates at = {};
  OwnerEpoch owner_epoch = 0;  // of the claim, for a window without stored claims
};

struct RenewRequest {
  std::string_view id;
  Token token;
  Coordinates at = {};
  // Of this renewal alone, from now on, beyond the window's max_lease; 0: the window's.
  milliseconds lease{0};
};

struct RestoreRequest {
  std::string_view id;
  Coordinates at;
  OwnerEpoch owner_epoch = 0;
  LogTime time = kNoLogTime;  // as in CompleteRequest
  uint32_t fingerprint = 0;   // of the payload of the copy that ran; 0: not known
};

// A partition, for a window that keeps the history of its commits.
struct StoreName {
  uint32_t source = 0;  // the number that the caller gives the topic
  int32_t partition = 0;
  std::string_view topic;
  std::string_view owner;  // cluster, group, scope, recipe, isolation, as text (rule 28)
};

// The knowledge of such a window about a partition.
struct StoreKnowledge {
  // Of each offset of [from, to) it is on record here what became of it, or it was and has been
  // forgotten by age: then the horizon says so (rules 26, 27). What was refused without a claim
  // leaves nothing here, and is taken for nothing (docs/adr/0010). Equal: of none.
  int64_t from = 0;
  int64_t to = 0;
  // The commit that was announced last, with the metadata that it was to have; -1: none was.
  int64_t offset = -1;
  std::string metadata;
  uint64_t incarnation = 0;  // of this opening: commits that rest on it carry it
  // Earlier ones, since the last commit that was acknowledged: it may be of any of them.
  std::vector<uint64_t> earlier;
  // The number of the topic in the coordinates of this store, the same for ever.
  uint32_t source = 0;
  // Changes are gone that this process was told of as made, or, in a shared store, may be gone that
  // a former owner made. Of the first it is said once, by the opening that finds it.
  bool lost_writes = false;
  // Changes that are gone were made after it. Nothing: the store cannot tell.
  std::optional<BootTime> lost_since = {};
};

// A commit that is about to be sent, and what is known by then.
struct Announcement {
  uint32_t source = 0;
  int32_t partition = 0;
  int64_t from = 0;  // as in StoreKnowledge
  int64_t to = 0;
  int64_t offset = 0;
  std::string_view metadata;
  OwnerEpoch owner_epoch = 0;  // of the commit
  // False: ids of the partition that the store has lost are not all known again.
  bool complete = true;
  // False in a whole call if no commit follows, and only the answers so far are to survive.
  bool commits = true;
};

// How far the commits of a partition have come.
struct Progress {
  uint32_t source = 0;
  int32_t partition = 0;
  OwnerEpoch owner_epoch = 0;
  int64_t frontier = 0;
  LogTime watermark = kNoLogTime;  // log time at the frontier; kNoLogTime: not known
  uint64_t incarnation = 0;        // that the commit named (StoreKnowledge); 0: none
};

// Whether a guarded change was made (also when an earlier, unanswered request of the same token had
// made it), or the marker is not the caller's any more.
enum class MarkerChange : uint8_t {
  kMade,
  kFenced,
  kInFlight,  // of Restore() only: somebody else may be running the id
};

// A call of a handler, about to be made, whose effect an earlier attempt may have had. Of the level
// opaque.
struct UncertainCall {
  std::string_view id;  // empty: the message has none
  Coordinates at;
  uint32_t attempt = 0;
};

// A message of which such calls were made.
struct UncertainRecord {
  std::string id;
  std::string topic;  // empty: the window does not know its name
  Coordinates at;
  uint32_t attempt = 0;  // the highest
  // Of its first and its last uncertain call, by the store's clock.
  WallTime first{};
  WallTime last{};
};

// At least so long after its last call, or as long as the window remembers, a record is kept.
inline constexpr milliseconds kUncertainKept = std::chrono::hours(24 * 30);

// How long a scope keeps finished ids, in log time. It stands in the store, the same for all
// processes of the scope: the longest times that one of them was opened with.
struct RememberTimes {
  milliseconds remember{0};  // 0: no opening has said it yet
  milliseconds skew{0};      // in addition, for the clocks of producers
  friend bool operator==(const RememberTimes&, const RememberTimes&) = default;
};

// What a call makes of the times in its window's options.
enum class RememberChange : uint8_t {
  kNone,     // nothing: it looks
  kCheck,    // refuses shorter ones, and changes nothing
  kExtend,   // refuses shorter ones, and puts longer ones in force: as an opening does
  kReplace,  // refuses longer ones, and puts shorter ones in force: an operator's word for all
};

struct MarkerView {
  MarkerState state = MarkerState::kNone;
  Coordinates at;
  Token token;  // of the open claim; empty if nobody holds it
  // An attempt that has ended may have had its effect. At the level opaque also that of a silent
  // holder, from when on a claim with not_if_uncertain is told so. Of a finished id: it has an
  // uncertain call on record.
  bool uncertain = false;
  std::string store;  // directory of the store that says so, where there is one for each partition
  uint32_t fingerprint = 0;  // 0: none was taken
};

// Lease and waiting times, common to all engines (rule 13).
struct WindowTimes {
  milliseconds lease{30'000};            // a claim that is not renewed ends after it
  milliseconds max_lease{600'000};       // a claim cannot be renewed beyond it
  milliseconds handler_timeout{60'000};  // opaque: how long a former owner's handler may still act
};
// Of a window that does not say how long its claims last.
inline constexpr WindowTimes kTimesUnsaid{milliseconds(0), milliseconds(0), milliseconds(0)};

// What a window can do; the input of the conformance suite and of the start-up check.
struct WindowCapabilities {
  std::string_view engine;
  Level level = Level::kGuarded;  // that it was opened with: decides how a claim is taken over
  bool shared = false;            // several processes see the same markers
  bool durable = false;           // survives the end of the process
  // All answers survive the end of the store's server; where not, a loss is told as kLostWrites.
  bool survives_restart = true;
  // So many more replicas must be there than were at the opening, or no commit is sent.
  int lacks_replicas = 0;
  bool leases_by_clock = true;  // ends a silent holder's claim by time
  bool guarded = true;          // levels that it can carry
  bool opaque = true;
  bool atomic = false;
  bool keeps_results = true;
  bool fingerprints = true;
  bool ages = false;          // forgets finished ids by log time
  bool by_partition = false;  // each partition has a store of its own
  // An id names one operation within its topic and partition; else one within the scope, in
  // whichever partition a copy comes.
  bool partition_owned = false;
  // Opened for ids that their partitions own, but the scope is of an earlier version and goes on
  // with one id over all partitions.
  bool still_crossing = false;
  bool remote = false;         // a call is a round trip: never on a thread that must not wait
  bool keeps_history = false;  // Open() comes first; Announce() and Committed() are told
  // False: Claim() only looks, and the marker that CompleteWith() inserts decides among copies.
  bool stores_claims = true;
  // Of a durable window. False: a claim ends with its process, and the next owner of a partition,
  // on any host, knows the ids finished before the last Announce(), no others.
  bool keeps_claims = true;
  bool keeps_rows = true;  // at the level atomic handlers write rows (Effects), else SQL
  WindowTimes times = kTimesUnsaid;
  bool timed = false;              // honours the `lease` and `keep` of requests
  bool forgets_by_number = false;  // the oldest finished ids go, however long they were to stay
  milliseconds longest_call{0};    // of a claim or a completion; 0: as long as the disk takes
  size_t max_id_bytes = 1024;
  size_t max_result_bytes = 65'536;
};

// Losses of a store on a server, as far as this window has found any since it was opened.
struct StoreLosses {
  uint64_t proven = 0;    // it had less than it had acknowledged to this process
  uint64_t possible = 0;  // it was started again or replaced, or its clock jumped ahead
};

struct StoreStat;

class Window {
 public:
  virtual ~Window() = default;
  virtual const WindowCapabilities& capabilities() const = 0;

  // Where a window keeps history: makes the partition ready, and tells its history. Open
  // twice is open. kUnavailable: somebody else holds it, or it cannot be read now; ask again. Other
  // errors are for a person. Where each partition has a store of its own, requests for it are
  // answered kFenced before this and after Close(). kLostWrites, of any other call: the store has
  // lost changes that it had acknowledged. No call is answered before Open(), so that an assignment
  // compares the store with the commit.
  virtual Result<StoreKnowledge> Open(const StoreName& name);
  // The partition is given back: the next owner may open the store. Calls that are under way end.
  virtual void Close(uint32_t source, int32_t partition);

  // Issues a new ownership fence for the partition: above every earlier one of this store, and at
  // least `floor`, which a caller takes from what the last owner wrote elsewhere. Older ones are
  // refused from now on. kUnavailable also while another owner writes or raises: ask again.
  virtual Result<OwnerEpoch> RaiseOwnerEpoch(uint32_t source, int32_t partition,
                                             OwnerEpoch floor) = 0;

  // none -> open, or why not. parked -> open with `parked_entry` alone. Then the count of attempts
  // goes on, and a doubt is told as `uncertain`. Without stored claims the id stays parked until
  // CompleteWith(). answers.size() >= requests.size(), likewise below.
  virtual Status Claim(std::span<const ClaimRequest> requests, std::span<ClaimAnswer> answers) = 0;

  // The present answers of Claim(), without a change of markers, leases or filing times. Never the
  // base of a decision to run. kInvalid, also for no request, where there is no such look.
  virtual Status Judge(std::span<const ClaimRequest> requests, std::span<ClaimAnswer> answers);

  // open -> done. Judged by the token alone: a late truth is kept, also after the ownership is
  // gone, the lease has ended or the claim was released as uncertain, as long as nobody else has
  // claimed the id.
  virtual Status Complete(std::span<const CompleteRequest> requests,
                          std::span<MarkerChange> answers) = 0;

  // Collects the effects of one batch of the partition, level atomic. `granted`: the claims of the
  // batch; their ids outlive the result. kInvalid: the window does not carry it. It must not
  // outlive the window.
  virtual Result<std::unique_ptr<EffectBatch>> NewEffects(uint32_t source, int32_t partition,
                                                          std::span<const ClaimRequest> granted);

  // open -> done for all of them together with the effects, or kFenced for all of them and nothing
  // is written: one of them is not the caller's any more, so the batch is not what it seems
  // (rule 5), or a row that the effects rest on (Effects::Watch) has changed. Requests and effects
  // are of one partition. kInvalid, and nothing is written: another window made the batch, or there
  // is no request, so that no marker would stand for the effects.
  virtual Status CompleteWith(EffectBatch& effects, std::span<const CompleteRequest> requests,
                              std::span<MarkerChange> answers);

  // open -> none, or open without a holder if this attempt or an earlier one has failed or is
  // uncertain. Then the next claim is granted at once, and told. open -> parked with the number of
  // a parked record, even beyond the bound of parked ids. Another token's claim and a finished or
  // parked id are left alone (kFenced). An id without a marker, or parked under this number, is
  // released already (kMade). Counts of failed attempts are kept for ids of partitions only, and
  // where claims are stored. They decide nothing. An engine may drop the oldest ones
  // (docs/policies.md).
  virtual Status Release(std::span<const ReleaseRequest> requests,
                         std::span<MarkerChange> answers) = 0;

  // open -> parked. Precondition: the record with this entry number is acknowledged. kFull: no more
  // ids can be parked, and repeating does not help, since parked ids stay. An id back under its
  // number needs no room. Refused once the ownership of the claim is over, because the next owner
  // has read the parked records by then.
  virtual Status Park(std::span<const ParkRequest> requests, std::span<MarkerChange> answers) = 0;

  // Moves the end of the lease to now + lease, at most max_lease after the grant; also of a lease
  // that has ended less than max_lease after the grant, while nobody took the id over. A request
  // with a lease of its own ends at most kLongestClaim after the grant. Refused once the ownership
  // that the claim was made under is over.
  virtual Status Renew(std::span<const RenewRequest> requests, std::span<MarkerChange> answers) = 0;

  // none -> done, for deliveries that the commit calls finished (rule 29), and open -> done where
  // the same coordinates were claimed under a lower ownership, nobody holds the claim, or its lease
  // has ended. kMade also when a done, parked or handed marker was there already. kFenced: the
  // caller's ownership of the partition is over. kInFlight: somebody else may be running the id,
  // which is left alone; the caller asks again later.
  virtual Status Restore(std::span<const RestoreRequest> requests,
                         std::span<MarkerChange> answers) = 0;

  // Comes before each commit and has to be answered before it is sent: makes what was answered so
  // far survive as the engine is configured to, since what a commit calls finished must not be
  // forgotten by a power loss, and keeps the announcement behind it in the same log (rule 27).
  virtual Status Announce(std::span<const Announcement> announcements);

  // Progress that a commit has stored, acknowledged; never more than that, or an id is forgotten
  // whose delivery comes again. Forgets finished ids of age, then or soon after: those that are
  // older than the lowest watermark of all partitions that were ever owned here, less what the
  // engine remembers, and whose record lies below its partition's committed frontier (rules 22,
  // 24). An id is as old as its record. It is not older than its partition's watermark was when it
  // was finished: an old stamp is no reason to forget it early. kFenced: the caller's ownership is
  // over, or it has none; its progress is not kept. A negative frontier is kInvalid.
  virtual Status Committed(std::span<const Progress> progress, std::span<MarkerChange> answers);

  // A plain look. Never the base of a decision to run.
  virtual Status Peek(std::span<const std::string_view> ids, std::span<MarkerView> views) = 0;

  // Puts uncertain calls on record before they are made, so that the record covers them whoever
  // dies. After an error they must not be made. A message has one record, however often it is
  // called. A window without a durable store keeps the last 65,536, until its end.
  virtual Status RecordUncertain(std::span<const UncertainCall> calls);

  // The records with a call at or after `since`, in the order of their last calls. kInvalid: this
  // window keeps none.
  virtual Result<std::vector<UncertainRecord>> ListUncertain(WallTime since);

  // By an operator's hand: a finished or parked id becomes new, so its next delivery runs. kFenced:
  // nothing is known of it, or a claim of it is open. kInvalid: this window has no such call.
  virtual Status ForgetByHand(std::span<const std::string_view> ids,
                              std::span<MarkerChange> answers);

  // Drops ids that have aged, as Committed() does in steps, for at most about `within`; how many.
  // kInvalid: this window has no such call.
  virtual Result<uint64_t> DropAged(milliseconds within);

  // The times in force in the scope, after the change. kInvalid: the options have a shorter one, or
  // no such scope is behind this window.
  virtual Result<RememberTimes> Remember(RememberChange change);

  // The admin socket of this process, absolute. A window on disk names it in each store that it
  // holds, now and later, so that a look from outside knows which socket to ask. A path in its
  // options comes before this one. A window that wraps another one passes it on.
  // AdminSocket::Open() calls it.
  virtual void SetAdminSocket(const std::string& path);

  // What is kept, one entry for each store that is open here (store_stat.h). No marker changes; a
  // store that has failed is opened again for it, as for any call. One that cannot be read now says
  // so in its entry. Without stores on disk: none. Waits for forgetting that runs, so that what it
  // drops is not counted.
  virtual Result<std::vector<StoreStat>> Stat();

  // Each is in the log, too. A window that wraps another one passes it on.
  virtual StoreLosses losses() const;
};

}  // namespace oncemq
