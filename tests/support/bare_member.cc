// SPDX-License-Identifier: Apache-2.0
#include "bare_member.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "eventually.h"

namespace oncemq::testing {
namespace {

// Requests of the protocol, in versions from before its compact encodings.
constexpr int16_t kOffsetCommit = 8;
constexpr int16_t kFindCoordinator = 10;
constexpr int16_t kJoinGroup = 11;
constexpr int16_t kSyncGroup = 14;

// Numbers are big-endian; a string has its length in front. An answer that is too short throws.
class Out {
 public:
  template <class T>
  Out& Number(T value) {
    for (int shift = static_cast<int>(sizeof(T)) * 8 - 8; shift >= 0; shift -= 8) {
      bytes_.push_back(static_cast<char>(static_cast<uint64_t>(value) >> shift));
    }
    return *this;
  }
  Out& Text(std::string_view text) {
    Number(static_cast<int16_t>(text.size()));
    bytes_.append(text);
    return *this;
  }
  Out& Bytes(std::string_view bytes) {
    Number(static_cast<int32_t>(bytes.size()));
    bytes_.append(bytes);
    return *this;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

class In {
 public:
  explicit In(std::string_view bytes) : bytes_(bytes.begin(), bytes.end()) {}

  template <class T>
  T Number() {
    uint64_t value = 0;
    for (size_t i = 0; i < sizeof(T); i++) {
      value = value << 8 | static_cast<unsigned char>(bytes_.at(at_++));
    }
    return static_cast<T>(value);
  }
  std::string Text() {
    std::string text(static_cast<size_t>(Number<int16_t>()), '\0');
    for (char& c : text) {
      c = bytes_.at(at_++);
    }
    return text;
  }

 private:
  const std::vector<char> bytes_;
  size_t at_ = 0;
};

[[noreturn]] void Fail(const std::string& what) {
  throw std::runtime_error(what + ": " + std::strerror(errno));
}

}  // namespace

BareMember::BareMember(const std::string& bootstrap, std::string group) : group_(std::move(group)) {
  const size_t colon = bootstrap.rfind(':');
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(std::stoi(bootstrap.substr(colon + 1))));
  inet_pton(AF_INET, bootstrap.substr(0, colon).c_str(), &address.sin_addr);
  socket_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const timeval patience{.tv_sec = 10, .tv_usec = 0};
  setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  if (connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    const int error = errno;
    close(socket_);
    errno = error;
    Fail("connect to " + bootstrap);
  }
}

BareMember::~BareMember() {
  close(socket_);
}

void BareMember::SendAll(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) {
      Fail("send to the broker");
    }
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
}

std::string BareMember::Receive(size_t bytes) {
  std::string text(bytes, '\0');
  for (size_t at = 0; at < bytes;) {
    const ssize_t got = recv(socket_, &text[at], bytes - at, 0);
    if (got <= 0) {
      Fail("receive from the broker");
    }
    at += static_cast<size_t>(got);
  }
  return text;
}

std::string BareMember::Request(int16_t api, int16_t version, const std::string& body) {
  Out header;
  header.Number(api).Number(version).Number(++requests_).Text("bare-member");
  SendAll(Out().Bytes(header.bytes() + body).bytes());
  const auto size = In(Receive(4)).Number<int32_t>();
  const std::string answer = Receive(static_cast<size_t>(size));
  if (In(answer).Number<int32_t>() != requests_) {
    throw std::runtime_error("the broker answered another request");
  }
  return answer.substr(4);
}

void BareMember::Join(std::chrono::milliseconds session) {
  Out join;
  join.Text(group_).Number(static_cast<int32_t>(session.count()));
  join.Number(static_cast<int32_t>(session.count())).Text("").Text("consumer");
  join.Number(int32_t{1}).Text("range").Bytes("");
  const bool joined = Eventually(std::chrono::seconds(30), [&] {
    // The first question for a coordinator makes the broker create the topic that it needs.
    Request(kFindCoordinator, 0, Out().Text(group_).bytes());
    In answer(Request(kJoinGroup, 2, join.bytes()));
    answer.Number<int32_t>();  // throttle
    if (answer.Number<int16_t>() != kNoError) {
      return false;
    }
    generation_ = answer.Number<int32_t>();
    answer.Text();  // protocol
    answer.Text();  // leader
    member_ = answer.Text();
    return true;
  });
  if (!joined) {
    throw std::runtime_error("the broker does not let the member join");
  }
  Out sync;
  sync.Text(group_).Number(generation_).Text(member_).Number(int32_t{1}).Text(member_).Bytes("");
  In answer(Request(kSyncGroup, 1, sync.bytes()));
  answer.Number<int32_t>();  // throttle
  if (answer.Number<int16_t>() != kNoError) {
    throw std::runtime_error("the broker does not take the member's assignment");
  }
}

int16_t BareMember::Commit(const std::string& topic, int32_t partition, int64_t offset) {
  Out commit;
  commit.Text(group_).Number(generation_).Text(member_).Number(int64_t{-1});  // default retention
  commit.Number(int32_t{1}).Text(topic).Number(int32_t{1});
  commit.Number(partition).Number(offset).Text("");
  In answer(Request(kOffsetCommit, 2, commit.bytes()));
  answer.Number<int32_t>();  // one topic
  answer.Text();
  answer.Number<int32_t>();  // one partition
  answer.Number<int32_t>();
  return answer.Number<int16_t>();
}

}  // namespace oncemq::testing
