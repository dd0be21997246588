// SPDX-License-Identifier: Apache-2.0
// scripts/demo failures: a poison, the payments that follow it, a fix, a redrive, and the books, on
// a real Kafka.
#include <chrono>
#include <csignal>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "books.h"
#include "child.h"
#include "oncemq/base/clock.h"
#include "screen.h"
#include "support/kafka_admin.h"
#include "support/kafka_broker.h"
#include "support/process.h"
#include "support/test_producer.h"
#include "work_dir.h"

namespace failures {
namespace {

using oncemq::BootNow;
using oncemq::BootTime;
using oncemq::milliseconds;
using oncemq::demo::Finding;
using oncemq::demo::Payment;
using oncemq::testing::KafkaAdmin;
using oncemq::testing::KafkaBroker;
using oncemq::testing::Process;
using oncemq::testing::TestProducer;

constexpr char kHelp[] =
    "usage: failures_demo [option...]\n"
    "  --keep        keep the working directory with the service's log\n"
    "exit code: 0 verdict OK, 4 verdict FAILED, 3 no Kafka, 2 usage, 130 ended by a signal\n";
constexpr char kTopic[] = "payments";
constexpr char kGroup[] = "failures";  // as service.yaml has it
constexpr int32_t kPartitions = 4;
constexpr uint32_t kAccounts = 9;  // that pay
constexpr uint32_t kNewAccount = kAccounts + 1;
constexpr uint32_t kPoisoned = 5;
constexpr uint32_t kPoison = 3;
constexpr size_t kCopyOneIn = 4;
constexpr milliseconds kTurn{50};
constexpr milliseconds kLongest{60'000};        // of each step
constexpr int kStoppedInOrder = 128 + SIGTERM;  // RunService

struct Ended : std::exception {};  // by a signal

std::string ContentOf(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::string LastLineOf(std::string text) {
  text.erase(text.find_last_not_of('\n') + 1);
  return text.substr(text.rfind('\n') + 1);
}

class Demo {
 public:
  explicit Demo(std::unique_ptr<oncemq::demo::WorkDir> dir) : dir_(std::move(dir)) {}

  bool Run();

 private:
  struct CommandResult {
    int code = 0;
    std::string output;
  };
  void StartService(int release, uint32_t last_account);
  void EndService();
  // Each account pays so often, and some of that is sent again.
  void SendPayments(uint32_t of_each);
  void Send(TestProducer& producer, const Payment& payment) const;
  bool Drained() const;
  // Runs the command `oncemq park ...`, and `meanwhile` next to it.
  template <class Work>
  CommandResult Park(std::vector<std::string> words, Work meanwhile);
  CommandResult Park(std::vector<std::string> words) {
    return Park(std::move(words), [] {});
  }
  template <class Done>
  void Until(std::string_view what, Done done);
  std::map<std::string, std::string> Environment() const {
    return {{"BROKER", kafka_->bootstrap()}, {"PWD", dir_->path()}};
  }
  void PrintLine(const std::string& text);

  const BootTime began_ = BootNow();
  oncemq::demo::Screen screen_;
  std::unique_ptr<oncemq::demo::WorkDir> dir_;
  std::unique_ptr<KafkaBroker> kafka_;
  std::unique_ptr<KafkaAdmin> admin_;
  std::unique_ptr<Process> service_;
  SentPayments sent_{.poisoned = kPoisoned, .poison = kPoison};
  std::map<uint32_t, uint32_t> sequences_;
  int commands_ = 0;
};

void Demo::PrintLine(const std::string& text) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(BootNow() - began_).count();
  std::string clock = std::to_string(seconds);
  clock.insert(0, clock.size() < 3 ? 3 - clock.size() : 0, ' ');
  screen_.Line(clock + " s  " + text);
}

template <class Done>
void Demo::Until(std::string_view what, Done done) {
  const BootTime until = BootNow() + kLongest;
  while (!done()) {
    if (oncemq::demo::PauseOrEnd(kTurn)) {
      throw Ended();
    }
    if (service_ != nullptr && !service_->Running()) {
      throw std::runtime_error("the service ended by itself:\n" +
                               ContentOf(dir_->path() / "service.log"));
    }
    if (BootNow() >= until) {
      throw std::runtime_error(std::string(what) + " takes too long");
    }
  }
}

template <class Work>
Demo::CommandResult Demo::Park(std::vector<std::string> words, Work meanwhile) {
  std::string shown;
  for (const std::string& word : words) {
    shown += word.find(' ') == std::string::npos ? " " + word : " '" + word + "'";
  }
  PrintLine("$ oncemq park" + shown + " -c service.yaml");
  words.insert(words.begin(), {FAILURES_COMMAND, "park"});
  words.insert(words.end(), {"-c", FAILURES_SERVICE_FILE});
  const auto log = dir_->path() / ("park-" + std::to_string(++commands_));
  Process command({.command = words, .environment = Environment(), .log_file = log});
  meanwhile();
  std::optional<int> code;
  Until("oncemq park" + shown, [&] { return (code = command.Wait(milliseconds(0))).has_value(); });
  CommandResult result{*code, ContentOf(log)};
  std::istringstream lines(result.output);
  for (std::string line; std::getline(lines, line);) {
    screen_.Line("         " + line);
  }
  return result;
}

void Demo::StartService(int release, uint32_t last_account) {
  auto environment = Environment();
  environment["RELEASE"] = std::to_string(release);
  environment["LAST_ACCOUNT"] = std::to_string(last_account);
  service_ = std::make_unique<Process>(
      oncemq::testing::ProcessOptions{.command = {FAILURES_PROGRAM, "-c", FAILURES_SERVICE_FILE},
                                      .environment = environment,
                                      .log_file = dir_->path() / "service.log"});
  PrintLine("release " + std::to_string(release) +
            " of the service starts; it knows accounts 1 to " + std::to_string(last_account));
}

void Demo::EndService() {
  const int code = service_->Terminate(kLongest);
  service_.reset();
  if (code != kStoppedInOrder) {
    throw std::runtime_error("the service ends with " + std::to_string(code));
  }
}

void Demo::Send(TestProducer& producer, const Payment& payment) const {
  const std::string key = oncemq::demo::KeyOf(payment);
  const std::string value = oncemq::demo::EncodePayment(payment);
  producer.Send(
      {.topic = kTopic, .key = key, .value = value, .headers = {{"message-id", payment.id}}});
}

void Demo::SendPayments(uint32_t of_each) {
  TestProducer producer(kafka_->bootstrap());
  const size_t first = sent_.payments.size();
  for (uint32_t i = 0; i < of_each; i++) {
    for (uint32_t account = 1; account <= kAccounts; account++) {
      const uint32_t sequence = ++sequences_[account];
      const bool poison = account == kPoisoned && sequence == kPoison;
      sent_.payments.push_back(
          {.id = "pay-" + std::to_string(account) + "-" + std::to_string(sequence),
           .from = account,
           .to = poison ? kNewAccount : account % kAccounts + 1,
           .cents = 100 * account + sequence,
           .sequence = sequence});
      Send(producer, sent_.payments.back());
    }
  }
  for (size_t i = first; i < sent_.payments.size(); i += kCopyOneIn) {
    Send(producer, sent_.payments[i]);
  }
  producer.Flush();
}

bool Demo::Drained() const try {
  const auto commits = admin_->Committed(kGroup, kTopic);
  for (int32_t partition = 0; partition < kPartitions; partition++) {
    const auto commit = commits.find(partition);
    const int64_t end = admin_->QueryWatermarks(kTopic, partition).high;
    if ((commit == commits.end() ? 0 : commit->second.offset) != end) {
      return false;
    }
  }
  return true;
} catch (const std::runtime_error&) {
  return false;  // a broker that is busy does not know its partitions for a moment
}

bool Demo::Run() {
  kafka_ = KafkaBroker::Start({.start_timeout = 2 * kLongest});
  admin_ = std::make_unique<KafkaAdmin>(kafka_->bootstrap());
  admin_->CreateTopic({.name = kTopic, .partitions = kPartitions});
  PrintLine("a Kafka is up, with the topic payments");
  Park({"create"});
  StartService(1, kAccounts);
  SendPayments(5);
  sent_.first_round = sent_.payments.size();
  PrintLine("5 payments of each account, and copies; number 3 of account 5 is to account 10");
  Until("the first payments", [&] { return Drained(); });
  PrintLine("all is committed: the poison is parked, its followers too, and the others are booked");
  Park({"list"});

  EndService();
  PrintLine("release 1 has ended; the fix is a release with account 10");
  StartService(2, kNewAccount);
  SendPayments(2);
  PrintLine("2 more payments of each account: those of account 5 still follow");
  Until("the next payments", [&] { return Drained(); });
  Park({"redrive", "--why", "account 10"});
  const CommandResult redrive =
      Park({"redrive", "--why", "account 10", "--go"}, [&] { SendPayments(2); });
  PrintLine("2 more payments of each account came meanwhile");
  Until("the last payments", [&] { return Drained(); });
  const CommandResult left = Park({"list"});
  const bool drained = Drained();
  EndService();

  const auto ledger = oncemq::demo::ReadLedger(dir_->path() / "window" / kTopic, kPartitions);
  if (!ledger) {
    throw std::runtime_error(ledger.error().message);
  }
  auto findings = JudgeBooks(sent_, *ledger);
  findings.push_back(
      {redrive.code == 0, "redrive", "exit code " + std::to_string(redrive.code), ""});
  findings.push_back({left.code == 0 && left.output.starts_with("0 messages"), "park topic",
                      LastLineOf(left.output), ""});
  findings.push_back({drained, "group", drained ? "lag 0" : "offsets without a commit", ""});
  int failed = 0;
  for (const Finding& finding : findings) {
    failed += finding.ok ? 0 : 1;
    screen_.Line("  " + screen_.Mark(finding.ok) + "  " + finding.what + ": " + finding.text);
  }
  screen_.Line(std::to_string(findings.size() - static_cast<size_t>(failed)) + " passed, " +
               std::to_string(failed) + " failed, 0 skipped");
  screen_.Line("verdict: " + screen_.Mark(failed == 0));
  return failed == 0;
}

int RunDemo(bool keep) {
  if (const auto missing = KafkaBroker::Missing(); missing) {
    std::fprintf(stderr, "failures_demo: %s\n", missing->c_str());
    return 3;
  }
  oncemq::demo::BlockEnds();
  auto dir = oncemq::demo::WorkDir::Make(keep);
  if (!dir) {
    std::fprintf(stderr, "failures_demo: %s\n", dir.error().message.c_str());
    return 1;
  }
  if (keep) {
    std::printf("kept: %s\n", (*dir)->path().c_str());
  }
  try {
    return Demo(*std::move(dir)).Run() ? 0 : 4;
  } catch (const Ended&) {
    return 130;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "failures_demo: %s\n", error.what());
    return 1;
  }
}

}  // namespace
}  // namespace failures

int main(int argc, char** argv) {
  const std::string_view option = argc > 1 ? argv[1] : "";
  if (option == "--help" || option == "-h") {
    std::fputs(failures::kHelp, stdout);
    return 0;
  }
  if (argc > 2 || (argc == 2 && option != "--keep")) {
    std::fputs(failures::kHelp, stderr);
    return 2;
  }
  return failures::RunDemo(option == "--keep");
}
