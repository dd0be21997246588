// SPDX-License-Identifier: Apache-2.0
#include "park_storm.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <fstream>
#include <iterator>
#include <set>
#include <thread>
#include <utility>

#include "guarded_target.h"
#include "oncemq/clients/postgres_client.h"
#include "oncemq/dedup/postgres_window.h"
#include "park_storm_ids.h"
#include "support/eventually.h"
#include "support/postgres_server.h"
#include "support/redis_server.h"

namespace oncemq::testing {
namespace {

using std::chrono::seconds;

constexpr seconds kAct{2};
constexpr seconds kPause{7};  // a session, and some more
constexpr int kActsOfARedrive = 3;
constexpr int kRedrives = 8;
constexpr size_t kFindings = 20;

// The effects are at a target that knows ids.
class GuardedStore : public ParkStormStore {
 public:
  explicit GuardedStore(const std::filesystem::path& dir) : target_(dir / "target") {}

  std::vector<int64_t> Effects() override {
    std::vector<int64_t> ids;
    for (const StoredEffect& effect : target_.All()) {
      ids.push_back(effect.id);
    }
    return ids;
  }

 private:
  GuardedTarget target_;
};

class GuardedByRedis final : public GuardedStore {
 public:
  using GuardedStore::GuardedStore;
  std::vector<std::string> MemberWords() const override { return {server_->url(), "guarded"}; }

 private:
  const std::unique_ptr<RedisServer> server_ = RedisServer::Start();
};

std::unique_ptr<PostgresServer> StartedPostgres() {
  auto server = PostgresServer::Start();
  EXPECT_TRUE(MigratePostgresWindow(server->url(), "oncemq"));
  return server;
}

class GuardedByPostgres final : public GuardedStore {
 public:
  using GuardedStore::GuardedStore;
  std::vector<std::string> MemberWords() const override { return {server_->url(), "guarded"}; }

 private:
  const std::unique_ptr<PostgresServer> server_ = StartedPostgres();
};

// The effects are rows, which nothing makes unique.
class AtomicInPostgres final : public ParkStormStore {
 public:
  AtomicInPostgres() {
    EXPECT_TRUE(
        client_->Run({"CREATE TABLE effects (n bigserial PRIMARY KEY, id bigint, part bigint)"}));
  }
  std::vector<std::string> MemberWords() const override { return {server_->url(), "atomic"}; }
  std::vector<int64_t> Effects() override { return Numbers("SELECT id FROM effects ORDER BY n"); }

 private:
  std::vector<int64_t> Numbers(std::string_view statement) {
    const auto answer = client_->Run({statement});
    EXPECT_TRUE(answer) << ToString(answer.error());
    std::vector<int64_t> numbers;
    for (const auto& row : answer ? answer->rows : SqlAnswer{}.rows) {
      numbers.push_back(std::stoll(row[0].value_or("-1")));
    }
    return numbers;
  }

  const std::unique_ptr<PostgresServer> server_ = StartedPostgres();
  const std::unique_ptr<SqlClient> client_ =
      *OpenPostgres(*ParsePostgresEndpoint(server_->url()), {.call = seconds(60)}, 1);
};

std::chrono::milliseconds Since(BootTime begin) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(BootNow() - begin);
}

}  // namespace

std::unique_ptr<ParkStormStore> ParkStormStore::Open(ParkStormWindow window,
                                                     const std::filesystem::path& dir) {
  switch (window) {
    case ParkStormWindow::kPostgresAtomic:
      return std::make_unique<AtomicInPostgres>();
    case ParkStormWindow::kPostgresGuarded:
      return std::make_unique<GuardedByPostgres>(dir);
    case ParkStormWindow::kRedisGuarded:
      break;
  }
  return std::make_unique<GuardedByRedis>(dir);
}

ParkStorm::ParkStorm(const std::string& bootstrap, const std::string& name,
                     const ParkStormSize& size, ParkStormWindow window, uint64_t seed)
    : bootstrap_(bootstrap),
      topic_(name),
      size_(size),
      seed_(seed),
      random_(seed),
      store_(ParkStormStore::Open(window, dir_.path())),
      admin_(bootstrap),
      producer_(bootstrap) {
  admin_.CreateTopic({.name = topic_, .partitions = size.partitions});
  const auto made = CreateParkTopics(Options(), seconds(20));
  EXPECT_TRUE(made) << ToString(made.error());
}

RuntimeOptions ParkStorm::Options() const {
  return ParkingOptions(bootstrap_, topic_ + ".group", topic_);
}

void ParkStorm::Run() {
  const auto go = [](auto act) {
    if (!::testing::Test::HasFailure()) {
      act();
    }
  };
  Storm();
  go([&] { JudgeParked(Parked()); });
  go([&] { RedriveTooEarly(); });
  go([&] { RedriveAll(); });
  go([&] { EndMembers(); });
  go([&] { JudgeOrder(); });
  if (::testing::Test::HasFailure()) {
    const auto kept = std::filesystem::temp_directory_path() / (topic_ + ".logs");
    std::filesystem::create_directories(kept);
    for (int number = 0; number < started_; number++) {
      std::ofstream(kept / std::to_string(number)) << LogOf(number);
    }
  }
  const auto say = [](const char* name, auto number) {
    ::testing::Test::RecordProperty(name, std::to_string(number));
  };
  say("kills", sights_.kills);
  say("pauses", sights_.pauses);
  say("leaves", sights_.leaves);
  say("joins", sights_.joins);
  say("parked", sights_.parked);
  say("heads", sights_.heads);
  say("refused_again", sights_.refused_again);
  say("redriven", sights_.ended);
  say("redrives", sights_.redrives);
  say("settled_ms", sights_.settled.count());
  say("drained_ms", sights_.drained.count());
}

void ParkStorm::Start() {
  std::vector<std::string> command{ONCEMQ_PARKING_MEMBER, bootstrap_,
                                   Options().kafka.group, topic_,
                                   dir_.path().string(),  std::to_string(started_)};
  for (std::string& word : store_->MemberWords()) {
    command.push_back(std::move(word));
  }
  ProcessOptions options{.command = std::move(command),
                         .log_file = dir_.path() / ("member-" + std::to_string(started_))};
  options.environment["ONCEMQ_TEST_ASSIGNOR"] = seed_ % 2 == 1 ? "cooperative-sticky" : "range";
  if (seed_ / 2 % 2 == 1) {
    options.environment["ONCEMQ_OWNED_IDS"] = "1";
  }
  members_.push_back({started_++, std::make_unique<Process>(std::move(options))});
}

ParkStorm::Member& ParkStorm::AnyMember() {
  for (;;) {
    Member& member = members_[random_() % members_.size()];
    if (member.paused_until == BootTime{}) {
      EXPECT_TRUE(member.process->Running()) << LogOf(member.number);
      return member;
    }
  }
}

void ParkStorm::Kill() {
  Member& victim = AnyMember();
  victim.process->Kill9();
  members_.erase(members_.begin() + (&victim - members_.data()));
  sights_.kills++;
}

void ParkStorm::Leave() {
  Member& member = AnyMember();
  member.process->Signal(SIGTERM);
  leaving_.push_back(std::move(member));
  members_.erase(members_.begin() + (&member - members_.data()));
  sights_.leaves++;
}

void ParkStorm::Pause() {
  Member& member = AnyMember();
  member.process->Pause();
  member.paused_until = BootNow() + kPause;
  sights_.pauses++;
}

void ParkStorm::ContinuePaused(bool all) {
  for (Member& member : members_) {
    if (member.paused_until != BootTime{} && (all || member.paused_until < BootNow())) {
      member.process->Continue();
      member.paused_until = {};
    }
  }
}

// One member at most stands still.
void ParkStorm::Act() {
  ContinuePaused(/*all=*/false);
  const bool paused = std::any_of(members_.begin(), members_.end(), [](const Member& member) {
    return member.paused_until != BootTime{};
  });
  const uint64_t draw = random_() % 6;
  const bool few = members_.size() <= size_.members / 2;
  if (few || (members_.size() < size_.members && draw < 3)) {
    Start();
    sights_.joins++;
  } else if (draw % 3 == 0) {
    Leave();
  } else if (draw % 3 == 1 && !paused) {
    Pause();
  } else {
    Kill();
  }
}

void ParkStorm::Storm() {
  const int acts = static_cast<int>(size_.storm / kAct);
  SendUpTo(size_.ids / 20);
  while (members_.size() < size_.members) {
    Start();
  }
  const BootTime begin = BootNow();
  for (int act = 1; act <= acts && !::testing::Test::HasFailure(); act++) {
    SendUpTo(size_.ids / 20 + static_cast<int>(int64_t{size_.ids} * 3 / 4 * act / acts));
    SleepFor(std::max(milliseconds(0), act * kAct - Since(begin)));
    Act();
  }
  ContinuePaused(/*all=*/true);
  while (members_.size() < size_.members) {
    Start();
  }
  const BootTime calm = BootNow();
  EXPECT_TRUE(AllCommitted()) << Logs();
  sights_.settled = Since(calm);
}

// All that is parked is refused again, and stays with what follows it.
void ParkStorm::RedriveTooEarly() {
  const std::vector<ParkedEntry> heads = HeadsOf(Parked());
  Redrive(heads, size_.ids / 10 * 9, kActsOfARedrive);
  EXPECT_TRUE(AllCommitted()) << Logs();
  JudgeParked(Parked());
}

void ParkStorm::RedriveAll() {
  std::ofstream(dir_.path() / kFixed).flush();
  const BootTime begin = BootNow();
  int acts = kActsOfARedrive;
  std::vector<ParkedEntry> heads = HeadsOf(Parked());
  for (; !heads.empty() && sights_.redrives < kRedrives; heads = HeadsOf(Parked())) {
    Redrive(heads, size_.ids, std::exchange(acts, 0));
    EXPECT_TRUE(AllCommitted()) << Logs();
    if (::testing::Test::HasFailure()) {
      break;
    }
  }
  sights_.drained = Since(begin);
  for (const ParkedEntry& head : heads) {
    ADD_FAILURE() << "id " << head.id << " at " << head.partition << "/" << head.offset
                  << " is still parked after " << sights_.redrives << " redrives: " << head.why;
  }
}

// Live messages come meanwhile. So many members go or come, and the first one is killed.
void ParkStorm::Redrive(const std::vector<ParkedEntry>& heads, int send_to, int acts) {
  constexpr int kPieces = 50;
  std::atomic<bool> ended = false;
  Result<ParkProgress> progress = ParkProgress{};
  std::jthread redrive([&] {
    const ParkCommand command{.run = "run " + std::to_string(sights_.redrives),
                              .per_second = static_cast<uint32_t>(heads.size() / 5 + 1)};
    progress = CommandParked(Options(), command, heads, seconds(40), {});
    ended = true;
  });
  const int live = (send_to - sent_ids_) / kPieces + 1;
  const int acts_at_first = acts;
  BootTime next_act = BootNow() + kAct;
  for (int piece = 0; !ended || piece < kPieces; piece++) {
    SendUpTo(std::min(send_to, sent_ids_ + live));
    SleepFor(milliseconds(100));
    if (acts > 0 && BootNow() >= next_act) {
      acts-- == acts_at_first ? Kill() : Act();
      next_act += kAct;
    }
    ContinuePaused(/*all=*/false);
  }
  SendUpTo(send_to);
  redrive.join();
  ContinuePaused(/*all=*/true);
  while (members_.size() < size_.members) {
    Start();
  }
  EXPECT_TRUE(progress) << ToString(progress.error());
  sights_.ended += progress ? progress->ended : 0;
  sights_.refused_again += progress ? progress->refused_again : 0;
  sights_.redrives++;
}

void ParkStorm::EndMembers() {
  for (Member& member : leaving_) {
    const auto exit = member.process->Wait(seconds(60));
    EXPECT_TRUE(exit == 0 || exit == 1) << LogOf(member.number);
  }
  for (Member& member : members_) {
    EXPECT_EQ(member.process->Terminate(seconds(60)), 0) << LogOf(member.number);
  }
}

void ParkStorm::SendUpTo(int end) {
  for (; sent_ids_ < end; sent_ids_++) {
    const int key = sent_ids_ % size_.keys;
    const int32_t partition = key % size_.partitions;
    const std::string id = std::to_string(sent_ids_);
    const std::string key_text = "k" + std::to_string(key);
    for (int copy = 0; copy < (HasCopy(sent_ids_) ? 2 : 1); copy++) {
      producer_.Send({.topic = topic_,
                      .partition = partition,
                      .key = key_text,
                      .value = "x",
                      .headers = {{"message-id", id}}});
      sent_[partition]++;
    }
  }
  producer_.Flush();
}

bool ParkStorm::AllCommitted() {
  return Eventually(seconds(400), [&] {
    const auto committed = admin_.Committed(Options().kafka.group, topic_);
    return std::all_of(sent_.begin(), sent_.end(), [&](const auto& sent) {
      const auto commit = committed.find(sent.first);
      return commit != committed.end() && commit->second.offset == sent.second;
    });
  });
}

std::vector<ParkedEntry> ParkStorm::Parked() {
  std::vector<ParkedEntry> parked;
  const Status read = ReadParked(Options(), seconds(60), [&](const ParkedEntry& entry) {
    parked.push_back(entry);
    return true;
  });
  EXPECT_TRUE(read) << (read ? "" : ToString(read.error()));
  return parked;
}

std::vector<ParkedEntry> ParkStorm::HeadsOf(std::vector<ParkedEntry> parked) {
  std::erase_if(parked, [](const ParkedEntry& entry) { return entry.head != entry.offset; });
  return parked;
}

// Each message that was sent has had its effect, or is parked with all later ones of its key.
void ParkStorm::JudgeParked(const std::vector<ParkedEntry>& parked) {
  sights_.parked = parked.size();
  sights_.heads = HeadsOf(parked).size();
  std::vector<bool> done(static_cast<size_t>(size_.ids));
  for (const int64_t id : store_->Effects()) {
    done[static_cast<size_t>(id)] = true;
  }
  std::set<int64_t> waiting;
  std::map<std::string, std::set<int64_t>> heads;
  for (const ParkedEntry& entry : parked) {
    waiting.insert(std::stoll(entry.id));
    heads[*entry.key].insert(entry.head);
  }
  for (const auto& [key, its] : heads) {
    EXPECT_EQ(its.size(), 1u) << key << " has more heads than one";
  }
  std::vector<std::string> findings;
  std::map<int, int> first_open;  // by key
  for (int id = 0; id < sent_ids_; id++) {
    const bool has_effect = done[static_cast<size_t>(id)];
    if (has_effect && IsPoison(id)) {
      findings.push_back(std::to_string(id) + " was refused, and has an effect");
    }
    if (!has_effect && !waiting.contains(id)) {
      findings.push_back(std::to_string(id) + " has no effect, and is not parked");
    }
    const auto open = first_open.find(id % size_.keys);
    if (has_effect && open != first_open.end()) {
      findings.push_back(std::to_string(id) + " ran before " + std::to_string(open->second));
    }
    if (!has_effect) {
      first_open.try_emplace(id % size_.keys, id);
    }
  }
  findings.resize(std::min(findings.size(), kFindings));
  for (const std::string& finding : findings) {
    ADD_FAILURE() << finding;
  }
  EXPECT_FALSE(parked.empty());
}

void ParkStorm::JudgeOrder() {
  std::vector<int> times(static_cast<size_t>(size_.ids));
  std::map<int64_t, int64_t> last;
  std::vector<std::string> findings;
  for (const int64_t id : store_->Effects()) {
    times[static_cast<size_t>(id)]++;
    const auto [before, first] = last.try_emplace(id % size_.keys, id);
    if (!first && before->second >= id) {
      findings.push_back(std::to_string(id) + " ran after " + std::to_string(before->second));
    }
    before->second = id;
  }
  for (int id = 0; id < size_.ids; id++) {
    const int had = times[static_cast<size_t>(id)];
    if (had != 1) {
      findings.push_back(std::to_string(id) + " has " + std::to_string(had) + " effects");
    }
  }
  findings.resize(std::min(findings.size(), kFindings));
  for (const std::string& finding : findings) {
    ADD_FAILURE() << finding;
  }
}

std::string ParkStorm::LogOf(int number) const {
  std::ifstream log(dir_.path() / ("member-" + std::to_string(number)));
  return "member " + std::to_string(number) + ": " +
         std::string(std::istreambuf_iterator<char>(log), {});
}

// The ends of those of the living.
std::string ParkStorm::Logs() const {
  constexpr size_t kEnd = 2'000;
  std::string logs;
  for (const Member& member : members_) {
    const std::string log = LogOf(member.number);
    logs += log.substr(log.size() - std::min(log.size(), kEnd)) + "\n";
  }
  return logs;
}

}  // namespace oncemq::testing
