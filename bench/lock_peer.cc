// SPDX-License-Identifier: Apache-2.0
#include "lock_peer.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <stdexcept>

namespace oncemq::bench {
namespace {

// Many and short, since what else the machine does comes and goes; and each block is as often the
// first as any other.
constexpr int kRounds = 24;
constexpr int kWarmUpPairs = 5'000;
constexpr int kWarmUpOthers = 500;
constexpr timeval kPeerPatience{120, 0};
constexpr timeval kPollInterval{1, 0};  // at a peer that is started, before it asks for orders

// What a block took, by round: median, 99th percentile.
struct Took {
  std::array<std::vector<double>, 2> of_round;

  void Add(const std::vector<double>& round) {
    of_round[0].push_back(At(round, 0.5));
    of_round[1].push_back(At(round, 0.99));
  }
};
constexpr std::array<const char*, 2> kParts{", median", ", 99th percentile"};

using Block = std::function<std::vector<double>()>;

// The blocks of each round one after the other, another one first each time.
template <size_t kCount>
std::array<Took, kCount> InTurn(const std::array<Block, kCount>& blocks) {
  std::array<Took, kCount> took;
  for (size_t round = 0; round < kRounds; round++) {
    for (size_t i = 0; i < kCount; i++) {
      const size_t at = (round + i) % kCount;
      took[at].Add(blocks[at]());
    }
  }
  return took;
}

std::vector<double> Times(int count, const std::function<double()>& once) {
  std::vector<double> took;
  for (int i = 0; i < count; i++) {
    took.push_back(once());
  }
  return took;
}

double Timed(const Turn& turn) {
  const double begin = WallSeconds();
  turn();
  return (WallSeconds() - begin) * 1e6;
}

// A socket on which somebody listens, and its port.
int Listen(uint16_t& port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &kPollInterval, sizeof kPollInterval);  // of accept, too
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  if (fd < 0 || bind(fd, generic, length) != 0 || listen(fd, 1) != 0 ||
      getsockname(fd, generic, &length) != 0) {
    throw std::runtime_error("no port for the orders of a peer");
  }
  port = ntohs(address.sin_port);
  return fd;
}

}  // namespace

LockPeer::LockPeer(const Peer& peer, const std::string& peers_dir, const std::string& address)
    : name_(peer.name) {
  uint16_t port = 0;
  const int listens = Listen(port);
  process_ = std::make_unique<testing::Process>(testing::ProcessOptions{
      .command = {PeerProgram(peer, peers_dir), address, std::to_string(port)},
      .log_file = dir_.path() / "peer.log"});
  for (time_t waited = 0; fd_ < 0 && waited < kPeerPatience.tv_sec && process_->Running();
       waited++) {
    fd_ = accept4(listens, nullptr, nullptr, SOCK_CLOEXEC);
  }
  close(listens);
  if (fd_ < 0) {
    Fail("it does not ask for orders");
  }
  setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &kPeerPatience, sizeof kPeerPatience);
}

LockPeer::~LockPeer() {
  if (fd_ >= 0) {
    close(fd_);
  }
}

void LockPeer::Fail(const std::string& what) {
  process_->Kill9();
  std::ostringstream said;
  said << std::ifstream(dir_.path() / "peer.log").rdbuf();
  throw std::runtime_error("peer " + name_ + ": " + what + "; it said:\n" + said.str());
}

std::vector<double> LockPeer::RunOrder(const std::string& what, int count) {
  const std::string order = what + " " + std::to_string(count) + "\n";
  if (send(fd_, order.data(), order.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(order.size())) {
    Fail("it takes no orders");
  }
  std::string answer;
  std::array<char, 4096> some;
  while (answer.empty() || answer.back() != '\n') {
    const ssize_t length = read(fd_, some.data(), some.size());
    if (length <= 0) {
      Fail("no answer to " + order);
    }
    answer.append(some.data(), static_cast<size_t>(length));
  }
  std::istringstream numbers(answer);
  std::vector<double> took;
  for (double one = 0; numbers >> one;) {
    took.push_back(one);
  }
  if (took.size() != static_cast<size_t>(count) || !numbers.eof() || At(took, 0) <= 0) {
    Fail("not the answer to " + order + answer);
  }
  return took;
}

namespace {

void AddEach(const std::string& what, const std::string& peer, const Took& of_ours,
             const Took& of_peer, const Took& of_raw, Report& report) {
  for (size_t i = 0; i < kParts.size(); i++) {
    report.AddPairs(what + " / " + peer + kParts[i], of_ours.of_round[i], "us",
                    of_peer.of_round[i]);
    report.AddPairs("peer: " + peer + ", " + what + kParts[i], of_peer.of_round[i], "us",
                    of_raw.of_round[i]);
  }
}

void PairsBesidePeer(const LockRivals& rivals, Report& report) {
  const LockSubject& subject = rivals.subject;
  const Turn raw = subject.raw(0);
  const Turn pair = [&] {
    auto lease = subject.one.Acquire("pair");
    Need(lease && *lease && (*lease)->Release() == Released::kYes, "the pair failed");
  };
  const int count = subject.pairs;
  std::vector<double> requests[2];
  const auto counted = [&](std::vector<double>& of, const Block& block) {
    const double before = rivals.requests();
    std::vector<double> took = block();
    of.push_back((rivals.requests() - before) / count);
    return took;
  };
  const auto ours = [&] { return Times(count, [&] { return Timed(pair); }); };
  const auto peers = [&] { return rivals.peer.RunOrder("mutex", count); };
  const auto took = InTurn<4>({[&] { return counted(requests[0], ours); },
                               [&] { return counted(requests[1], peers); },
                               [&] { return Times(count, [&] { return Timed(raw); }); },
                               [&] { return rivals.peer.RunOrder("semaphore", count); }});
  const auto& [of_ours, of_peer, of_raw, of_semaphore] = took;
  const std::string name = rivals.peer.name();
  AddEach("pair", name, of_ours, of_peer, of_raw, report);
  report.AddPairs("pair / " + name + " semaphore, median", of_ours.of_round[0], "us",
                  of_semaphore.of_round[0]);
  report.AddPairs("requests of a pair / " + name, requests[0], "", requests[1]);
}

void HandOffsBesidePeer(const LockRivals& rivals, Report& report) {
  const LockSubject& subject = rivals.subject;
  const int count = subject.hand_offs / 5;
  const auto took = InTurn<3>(
      {[&] { return Times(count, [&] { return HandOff(subject, {}, UntilOneWaits{subject}); }); },
       [&] { return rivals.peer.RunOrder("hand-off", count); },
       [&] { return Times(count, subject.raw_hand_off); }});
  const auto& [of_ours, of_peer, of_raw] = took;
  AddEach("hand-off", rivals.peer.name(), of_ours, of_peer, of_raw, report);
}

}  // namespace

void MeasureBesidePeer(const LockRivals& rivals, Report& report) {
  rivals.peer.RunOrder("mutex", kWarmUpPairs);
  rivals.peer.RunOrder("semaphore", kWarmUpOthers);
  rivals.peer.RunOrder("hand-off", kWarmUpOthers);
  PairsBesidePeer(rivals, report);
  HandOffsBesidePeer(rivals, report);
}

}  // namespace oncemq::bench
