// SPDX-License-Identifier: Apache-2.0
// One leads and one stands by, each a process, over the real server of each engine: the leader is
// cut off, and the next one is killed.
#include <fstream>
#include <sstream>

#include "each_engine.h"
#include "support/eventually.h"
#include "support/process.h"
#include "support/temp_dir.h"

namespace oncemq::testing {
namespace {

// Long against a moment in which the machine does something else.
constexpr milliseconds kLease{4'000};
constexpr milliseconds kSession{6'000};
// For a question and its answer, or a wait between two, on a slow machine.
constexpr milliseconds kSoon{6'000};
constexpr milliseconds kPatience{60'000};

int64_t Micros(BootTime time) {
  return time.time_since_epoch().count();
}

// In office; times are microseconds of the clock that all processes share.
struct Term {
  Fence fence;
  int64_t from = 0;
  std::optional<int64_t> to;  // when its stop token was requested
};

// A process that campaigns (lock_leader.cc).
class Candidate {
 public:
  Candidate(const PlayerOptions& options, std::filesystem::path log)
      : log_(std::move(log)), process_({.command = Command(options), .log_file = log_}) {}

  bool Stands() const { return !LinesOf("stands").empty(); }
  std::vector<Term> Terms() const {
    std::vector<Term> terms = LinesOf("leads");
    const std::vector<Term> ends = LinesOf("stopped");
    for (size_t i = 0; i < terms.size() && i < ends.size(); i++) {
      terms[i].to = ends[i].from;
    }
    return terms;
  }
  Process& process() { return process_; }

 private:
  static std::vector<std::string> Command(const PlayerOptions& options) {
    std::vector<std::string> command = WordsOf(options);
    command.insert(command.begin(), ONCEMQ_LOCK_LEADER);
    return command;
  }
  std::vector<Term> LinesOf(const std::string& wanted) const {
    std::vector<Term> terms;
    std::ifstream log(log_);
    for (std::string line; std::getline(log, line) && !log.eof();) {
      std::istringstream words(line);
      std::string what;
      Term term;
      if (words >> what >> term.fence.epoch >> term.fence.token >> term.from && what == wanted) {
        terms.push_back(term);
      }
    }
    return terms;
  }

  const std::filesystem::path log_;
  Process process_;
};

class EachEngineElection : public EachEngine {
 protected:
  std::unique_ptr<Candidate> Stand(const std::string& name, const std::vector<uint16_t>& ports) {
    PlayerOptions options{.directory = logs_.path()};
    server_->Put(options, ports);
    options.lease = kLease;
    options.queue_lease = milliseconds(2'000);
    options.call = milliseconds(1'000);
    options.session = kSession;
    auto candidate = std::make_unique<Candidate>(options, logs_.path() / name);
    EXPECT_TRUE(Eventually(kPatience, [&] { return candidate->Stands(); }));
    return candidate;
  }
  // As docs/locks.md has it: how long a name stays at most with a process that died.
  milliseconds Stays() const {
    if (GetParam().session > milliseconds(0)) {
      return kSession;
    }
    return GetParam().name == "memcached" ? kLease + milliseconds(4'000) : kLease;
  }
  // That the other one leads, in time and by a greater fence, since the former one could not any
  // more.
  Term Succeeds(const Candidate& next, size_t terms, const Term& former, BootTime since) {
    const bool leads = Eventually(Stays() + kPatience, [&] { return next.Terms().size() > terms; });
    EXPECT_TRUE(leads);
    const Term term = leads ? next.Terms().at(terms) : Term{};
    const milliseconds took((term.from - Micros(since)) / 1'000);
    EXPECT_LE(took, Stays() + kSoon);
    EXPECT_TRUE(!GetParam().can.fence || term.fence > former.fence);
    RecordProperty("led_after_ms_" + std::to_string(++successions_), std::to_string(took.count()));
    return term;
  }

  const TempDir logs_;

 private:
  int successions_ = 0;
};

TEST_P(EachEngineElection, WhoStandsByLeadsInTimeWhenTheLeaderIsCutOffOrKilled) {
  Networks networks;
  std::vector<uint16_t> ports;
  for (const uint16_t port : server_->ports()) {
    networks.push_back(std::make_unique<TcpProxy>(port));
    ports.push_back(networks.back()->port());
  }
  const auto one = Stand("one", ports);
  ASSERT_TRUE(Eventually(kPatience, [&] { return one->Terms().size() == 1; }));
  const auto two = Stand("two", server_->ports());
  const BootTime cut = Now();
  for (const auto& network : networks) {
    network->Set(TcpProxy::Mode::kSilent);
  }
  const Term former = Succeeds(*two, 0, one->Terms().at(0), cut);
  ASSERT_TRUE(Eventually(kPatience, [&] { return one->Terms().at(0).to.has_value(); }));
  EXPECT_LT(*one->Terms().at(0).to, former.from) << "two led at a time";
  for (const auto& network : networks) {
    network->Cut();
    network->Set(TcpProxy::Mode::kPass);
  }
  const auto engine = OpenLockEngine(address_);
  ASSERT_TRUE(engine.has_value()) << ToString(engine.error());
  const bool lines = (*engine)->capabilities().fair;
  ASSERT_TRUE(Eventually(kPatience, [&] {
    const auto view = (*engine)->Read("leader");
    return !lines || (view && view->parties.size() > 1);
  })) << "nobody stands by";
  const size_t terms = one->Terms().size();
  const BootTime killed = Now();
  two->process().Kill9();
  Succeeds(*one, terms, former, killed);
}

INSTANTIATE_TEST_SUITE_P(Locks, EachEngineElection, ::testing::ValuesIn(EnginesWithAnAddress()),
                         [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace oncemq::testing
