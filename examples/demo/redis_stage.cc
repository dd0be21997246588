// SPDX-License-Identifier: Apache-2.0
#include "redis_stage.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <optional>
#include <sstream>
#include <system_error>
#include <utility>

#include "book_lua.h"
#include "oncemq/clients/redis_client.h"
#include "oncemq/dedup/redis_window.h"

namespace oncemq::demo {
namespace {

namespace fs = std::filesystem;

constexpr milliseconds kLongestStart{10'000};
constexpr int kPortTries = 3;
constexpr char kPostings[] = "postings";

// Debian's package of the tools has the server under another name; the name that it is called by
// decides about its work.
std::optional<fs::path> RedisProgram() {
  const char* path = std::getenv("PATH");
  for (const char* name : {"redis-server", "redis-check-rdb"}) {
    std::istringstream folders(path == nullptr ? "" : path);
    for (std::string folder; std::getline(folders, folder, ':');) {
      const fs::path program = fs::path(folder) / name;
      if (access(program.c_str(), X_OK) == 0) {
        return program;
      }
    }
  }
  return std::nullopt;
}

// Free at this moment; 0: none is.
uint16_t FreePort() {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  const bool bound = bind(fd, any, size) == 0 && getsockname(fd, any, &size) == 0;
  close(fd);
  return bound ? ntohs(address.sin_port) : 0;
}

Result<std::unique_ptr<RedisClient>> Connect(const std::string& url) {
  const auto endpoint = ParseRedisEndpoint(url);
  return endpoint ? RedisClient::Open(*endpoint)
                  : Result<std::unique_ptr<RedisClient>>(endpoint.error());
}

// False: it has ended, or does not answer in time.
bool ComesUp(Child& server, const std::string& url) {
  const BootTime until = BootNow() + kLongestStart;
  while (!Connect(url)) {
    if (server.Wait(milliseconds(50)) || BootNow() >= until) {
      return false;
    }
  }
  return true;
}

class LedgerInRedis final : public RedisLedger {
 public:
  explicit LedgerInRedis(std::unique_ptr<RedisClient> client) : client_(std::move(client)) {}

  Result<std::string> Book(const Posting& posting) override {
    const std::string line = FormatPosting(posting);
    const RedisCommand call{kPostings, posting.payment.id, posting.worker, line};
    auto by = client_->Call(book_, 1, {&call, 1});
    if (!by) {
      return by.error();
    }
    const RedisReply& answer = by->front();
    return answer.kind == RedisReply::Kind::kText ? Result<std::string>(answer.text)
                                                  : RedisStrange();
  }
  Result<EffectLogContent> Read() override {
    const auto lines = client_->Run(RedisCommand{"LRANGE", kPostings, "0", "-1"});
    if (!lines) {
      return lines.error();
    }
    EffectLogContent content;
    for (const RedisReply& line : lines->list) {
      auto posting = ParsePosting(std::string_view(line.text).substr(0, line.text.find('\n')));
      if (posting) {
        content.postings.push_back(*std::move(posting));
      } else {
        content.damaged++;
      }
    }
    return content;
  }

 private:
  const RedisScript book_{kBookLua};
  const std::unique_ptr<RedisClient> client_;
};

}  // namespace

Result<std::unique_ptr<RedisStage>> RedisStage::Start(const fs::path& dir) {
  const auto program = RedisProgram();
  if (!program) {
    return Error{Code::kUnavailable, Effect::kNone,
                 "this machine has no Redis; install the package redis-tools"};
  }
  std::error_code failed;
  const fs::path called = dir / "redis-server";
  fs::create_symlink(*program, called, failed);
  // Another process may take the port before the server does.
  for (int tries = 0; tries < kPortTries && !failed; tries++) {
    const std::string port = std::to_string(FreePort());
    auto server = Child::Start({.command = {called, "--port", port, "--bind", "127.0.0.1", "--dir",
                                            dir, "--save", "", "--appendonly", "yes"},
                                .log = dir / "redis.log"});
    if (!server) {
      return server.error();
    }
    const std::string url = "redis://127.0.0.1:" + port;
    if (ComesUp(**server, url)) {
      return std::unique_ptr<RedisStage>(new RedisStage(*std::move(server), url));
    }
  }
  return Error{Code::kUnavailable, Effect::kNone, "Redis does not start in " + dir.string()};
}

Result<std::unique_ptr<RedisLedger>> RedisLedger::Open(const std::string& url) {
  auto client = Connect(url + "/1");
  if (!client) {
    return client.error();
  }
  return std::unique_ptr<RedisLedger>(new LedgerInRedis(*std::move(client)));
}

Result<std::unique_ptr<Window>> OpenStageWindow(const std::string& url, const std::string& scope) {
  RedisWindowOptions options;
  options.scope = scope;
  options.level = Level::kGuarded;
  return OpenRedisWindow(url + "/0", options);
}

}  // namespace oncemq::demo
