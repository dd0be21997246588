// SPDX-License-Identifier: Apache-2.0
// KafkaSource: the Source on librdkafka. It outlives its members: one that has to leave the group
// for good is replaced by a new one, and destroyed when the last message of it was released.
//
// Thread safety: as Source.
#pragma once

#include <memory>
#include <vector>

#include "broker_contact.h"
#include "client_config.h"
#include "kafka_message.h"
#include "member.h"
#include "park_watch.h"
#include "partition_table.h"
#include "source.h"

namespace oncemq {

class KafkaSource final : public Source {
 public:
  // The descriptor `wake` and the topic (or nullptr) outlive it. kInvalid: the options can't be.
  static Result<std::unique_ptr<KafkaSource>> Open(const RuntimeOptions& options,
                                                   const IdNeeds& needs, int wake,
                                                   const Clock& clock, ParkTopic* park);
  ~KafkaSource() override;

  Status Join();

  void Serve(SourceEvents& events) override;
  std::span<const PartitionId> readable() const override { return member_->readable(); }
  uint32_t Read(PartitionId partition, uint32_t most, std::vector<Arrival>& arrivals,
                SourceEvents& events) override;
  void Release(std::span<void* const> messages) override;
  void Detach(std::span<LeftBehind> messages) override;
  void Commit(std::span<const CommitAction> commits) override { member_->Commit(commits); }
  void GiveBack(PartitionId partition) override { member_->GiveBack(partition); }
  void AssignAnew(PartitionId partition) override { member_->AssignAnew(partition); }
  void RetryPrepare() override { member_->RetryPrepare(); }
  void Refuse() override { member_->Refuse(); }
  void Rejoin() override;
  void Close() override { member_->Close(); }
  bool closed() const override { return member_->closed(); }
  std::string Unreached() const override { return contact_.Missing(); }
  milliseconds UnreachedFor() const override { return contact_.MissingFor(); }
  std::vector<MissingTopic> Missing() const override { return member_->Missing(); }
  ParkedSource* parked() override { return park_.get(); }
  int64_t ReadTo(PartitionId partition) const override { return member_->ReadTo(partition); }
  LogSight LogOf(PartitionId partition) const override { return member_->LogOf(partition); }
  const std::map<PartitionId, NotBegun>& not_begun() const override { return member_->not_begun(); }
  std::unique_ptr<MessageView> NewView() const override { return reader_.NewView(); }
  PartitionName Name(PartitionId partition) const override { return table_.Name(partition); }

 private:
  KafkaSource(const RuntimeOptions& options, const ClientFacts& facts, const IdNeeds& needs,
              int wake, const Clock& clock, ParkTopic* park);
  Status NewMember();
  void ReapFormer();

  const RuntimeOptions options_;
  ClientFacts facts_;
  const int wake_;
  const Clock& clock_;
  MessageReader reader_;
  PartitionTable table_;
  GroupBeginning beginning_;
  BrokerContact contact_;
  CleanupPolicies policies_;
  std::unique_ptr<Member> member_;
  struct Former {
    std::unique_ptr<Member> member;
    BootTime patience;  // until when it may take its leave
  };
  std::vector<Former> former_;
  std::unique_ptr<ParkWatch> park_;
  std::string failure_;  // to be told by the next Serve()
};

}  // namespace oncemq
