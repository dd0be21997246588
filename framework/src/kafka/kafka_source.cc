// SPDX-License-Identifier: Apache-2.0
#include "kafka_source.h"

#include <algorithm>
#include <utility>

#include "oncemq/base/log.h"

namespace oncemq {
namespace {

constexpr microseconds kLeaveWithin{5'000'000};

// Of a member that has given everything back, nothing concerns the runtime any more: not its late
// commits, and not that its successor has fenced it.
class LateWords final : public SourceEvents {
 public:
  void Assigned(PartitionId, const AssignFacts&) override {}
  void Revoked(PartitionId) override {}
  void Lost(PartitionId) override {}
  void CommitAnswered(PartitionId, uint64_t, CommitReply) override {}
  void Incident(const PartitionName&, int64_t, const std::string& why) override { Note(why); }
  std::optional<Status> Prepare(PartitionId, const PartitionName&, Assignment&) override {
    return Status();
  }
  bool CatchUpGap(PartitionId, int64_t, int64_t) override { return false; }
  bool Finished(PartitionId) const override { return true; }
  void Failed(const std::string& why) override { Note(why); }

 private:
  static void Note(const std::string& why) {
    Log(LogLevel::kInfo, "kafka", "a member that is leaving reports", {{"what", why}});
  }
};

// The present one, if none of the former ones has it.
template <class Former>
Member& OwnerOf(const rd_kafka_message_t* message, Member& present, std::vector<Former>& former) {
  const auto found =
      std::ranges::find_if(former, [&](const Former& one) { return one.member->Owns(message); });
  return found == former.end() ? present : *found->member;
}

}  // namespace

KafkaSource::KafkaSource(const RuntimeOptions& options, const ClientFacts& facts,
                         const IdNeeds& needs, int wake, const Clock& clock, ParkTopic* park)
    : options_(options),
      facts_(facts),
      wake_(wake),
      clock_(clock),
      reader_(options_, needs),
      table_(options_.kafka.topics),
      contact_(options_.kafka.brokers, clock_),
      park_(park == nullptr ? nullptr
                            : std::make_unique<ParkWatch>(options_, *park, reader_, table_, wake)) {
}

Result<std::unique_ptr<KafkaSource>> KafkaSource::Open(const RuntimeOptions& options,
                                                       const IdNeeds& needs, int wake,
                                                       const Clock& clock, ParkTopic* park) {
  std::unique_ptr<KafkaSource> source(
      new KafkaSource(options, ChooseFeatures(options.kafka), needs, wake, clock, park));
  if (auto made = source->NewMember(); !made) {
    return made.error();
  }
  return source;
}

Status KafkaSource::NewMember() {
  auto client = OpenClient(options_, facts_);
  if (!client) {
    return client.error();
  }
  member_ = std::make_unique<Member>(options_, *std::move(client), facts_.cooperative, wake_,
                                     reader_, table_, beginning_, contact_, policies_, clock_);
  return {};
}

Status KafkaSource::Join() {
  if (const Status queried = member_->QueryBeginning(beginning_); !queried) {
    Log(LogLevel::kWarn, "kafka", "the group is joined without a look at it",
        {{"error", ToString(queried.error())}});
  }
  // Fixed in a client once it is made.
  const uint64_t share = PrefetchShare(options_.kafka.prefetch_bytes, beginning_.partitions());
  if (share != std::exchange(facts_.prefetch_share, share)) {
    if (const Status made = NewMember(); !made) {
      return made;
    }
  }
  if (options_.catch_up > 0) {
    member_->QueryCleanupPolicies();
  }
  return member_->Subscribe();
}

void KafkaSource::Serve(SourceEvents& events) {
  if (!failure_.empty()) {
    events.Failed(std::exchange(failure_, {}));
  }
  member_->Serve(events);
  if (!former_.empty()) {
    ReapFormer();
  }
}

void KafkaSource::ReapFormer() {
  const BootTime now = clock_.Boot();
  LateWords events;
  for (Former& former : former_) {
    former.member->Serve(events);
  }
  std::erase_if(former_, [&](const Former& former) {
    return former.member->held() == 0 && (former.member->closed() || now >= former.patience);
  });
}

uint32_t KafkaSource::Read(PartitionId partition, uint32_t most, std::vector<Arrival>& arrivals,
                           SourceEvents& events) {
  return member_->Read(partition, most, arrivals, events);
}

void KafkaSource::Release(std::span<void* const> messages) {
  for (void* const message : messages) {
    const rd_kafka_message_t* const raw = reader_.Raw(message);
    Member* const owner = raw != nullptr ? &OwnerOf(raw, *member_, former_) : nullptr;
    if (const DetachedMessage* const redriven = reader_.Redriven(message)) [[unlikely]] {
      park_->TakeBack(*redriven);
    }
    reader_.Release(message);
    if (owner != nullptr) {
      owner->Released();
    }
  }
}

void KafkaSource::Detach(std::span<LeftBehind> messages) {
  for (LeftBehind& message : messages) {
    const rd_kafka_message_t* const raw = reader_.Raw(message.message);
    if (raw != nullptr) {
      Member& owner = OwnerOf(raw, *member_, former_);
      reader_.Detach(message);
      owner.Released();
    }
  }
}

void KafkaSource::Rejoin() {
  std::unique_ptr<Member> former = std::move(member_);
  Status made = NewMember();
  if (made) {
    made = member_->Subscribe();
  }
  if (!made) {
    failure_ = "no new member: " + ToString(made.error());
  }
  if (member_ == nullptr) {
    member_ = std::move(former);
    return;
  }
  if (policies_.pending()) {
    member_->QueryCleanupPolicies();  // the answer to the former one may never be read
  }
  former->Close();
  former_.push_back({std::move(former), clock_.Boot() + kLeaveWithin});
}

KafkaSource::~KafkaSource() {
  former_.push_back({std::move(member_), BootTime{}});
  bool held = reader_.copies() > 0;  // by a handler that does not return; they need no client
  for (Former& former : former_) {
    if (former.member != nullptr && former.member->held() > 0) {
      // Destroying the client would wait for them, which means for a handler that does not return.
      Log(LogLevel::kWarn, "kafka", "handlers still hold messages; their client is not freed",
          {{"messages", former.member->held()}});
      former.member->Keep();
      held = true;
    }
  }
  if (held) {
    reader_.Abandon();
  }
}

}  // namespace oncemq
