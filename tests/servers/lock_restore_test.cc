// SPDX-License-Identifier: Apache-2.0
// An etcd that is restored from what it was a while ago counts from there again, under load: its
// names go on elsewhere meanwhile, and come back with an epoch that leads all fences.
#include "oncemq/clients/etcd_client.h"
#include "support/etcd_server.h"
#include "switch_storm.h"

namespace oncemq::testing {
namespace {

class LockRestore : public SwitchStorm {
 protected:
  void SetUp() override {
    ONCEMQ_REQUIRE_ETCD();
    x_ = EtcdServer::Start();
    y_ = EtcdServer::Start();
    at_x_ = {x_->port(), Url};
    at_y_ = {y_->port(), Url};
    PlayerOptions like = NewPlayer();
    like.longest = milliseconds(500);
    OpenOperator(like);
    like.session = milliseconds(2'000);
    like.readers = 25;
    rules_.fences_of_requests = true;
    JoinAll(like);
  }
  static std::string Url(uint16_t port) { return "etcd://127.0.0.1:" + std::to_string(port); }
  int64_t Revision() const {
    const auto client = EtcdClient::Open(*ParseEtcdEndpoint(x_->url()));
    const auto answer = client ? (*client)->Run(EtcdOp{.kind = EtcdOp::Kind::kRange, .key = "none"})
                               : client.error();
    EXPECT_TRUE(answer.has_value()) << ToString(answer.error());
    return answer ? answer->header.revision : 0;
  }

  std::unique_ptr<EtcdServer> x_;
  std::unique_ptr<EtcdServer> y_;
};

TEST_F(LockRestore, AStoreThatWasRestoredIsSealedAnewAndItsFencesStayInOrder) {
  TroubleFor(HowLong(milliseconds(300)));
  x_->Save();
  const int64_t saved = Revision();
  Trouble(
      milliseconds(500), [this] { TroubleOne(); }, [&] { return Revision() > saved + 50; });
  const int64_t lost = Revision();
  x_->Kill9();
  SwitchTo("y", SwitchMode::kDrain);
  TroubleFor(milliseconds(300));
  x_->Restore();
  EXPECT_LT(Revision(), lost) << "it did not go back";
  SwitchTo("x", SwitchMode::kBoth);
  TroubleFor(milliseconds(500));
  End();
  ExpectExclusion();
  EXPECT_GE(EpochsOfGrants().size(), 3u);
}

}  // namespace
}  // namespace oncemq::testing
