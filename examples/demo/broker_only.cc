// SPDX-License-Identifier: Apache-2.0
#include "broker_only.h"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <csignal>
#include <string>

#include "embedded_broker.h"
#include "oncemq/base/log.h"
#include "payment_plan.h"
#include "payment_producer.h"
#include "screen.h"
#include "side.h"
#include "stream.h"
#include "timing.h"
#include "words.h"

namespace oncemq::demo {
namespace {

constexpr int kTurnMs = 100;
constexpr int64_t kReportEvery = 100;  // messages between two lines

// The signals that end it, as a descriptor; the end of its parent is one of them.
int EndsAt(pid_t parent) {
  sigset_t ends;
  sigemptyset(&ends);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    sigaddset(&ends, signal);
  }
  pthread_sigmask(SIG_BLOCK, &ends, nullptr);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) {
    raise(SIGTERM);  // it was gone before it could be asked for
  }
  return signalfd(-1, &ends, SFD_CLOEXEC);
}

void Introduce(const std::string& address, const PaymentPlan& plan, Screen& screen) {
  const auto payments = static_cast<int64_t>(plan.payments.size());
  const auto sends = static_cast<int64_t>(plan.sends.size());
  screen.Line("An embedded broker (librdkafka's mock cluster, no real Kafka) for a first try.");
  screen.Line("Topic " + std::string(kTopic) + ", " + std::to_string(kPartitions) +
              " partitions: " + Grouped(payments) + " payments, " + Grouped(sends - payments) +
              " of them sent twice, " + Grouped(kSlowMessagesPerSecond) +
              " a second; ids in the header message-id.");
  screen.Line("It ends at Ctrl-C, and then it keeps nothing. In another terminal:");
  screen.Line("");
  screen.Line("    export BROKER=" + address);
  screen.Line(
      "    build/release/cli/oncemq run -c examples/first/service.yaml --handler print "
      "--consume-without-effects");
  screen.Line("");
}

Status Serve(const DemoOptions& options, int ends, Screen& screen) {
  const PaymentPlan plan = MakePlan({.seed = options.seed, .payments = options.payments});
  auto broker = EmbeddedBroker::Start(kTopic, kPartitions);
  if (!broker) {
    return broker.error();
  }
  auto producer = PaymentProducer::Connect((*broker)->address(), kTopic, kPartitions);
  if (!producer) {
    return producer.error();
  }
  Introduce((*broker)->address(), plan, screen);
  Stream stream(plan, **producer, kSlowMessagesPerSecond);
  stream.FlowTo(1.0, BootNow());
  int64_t reported = -1;
  pollfd asked{.fd = ends, .events = POLLIN, .revents = 0};
  while (poll(&asked, 1, kTurnMs) <= 0) {
    const Status flowed = stream.Flow(BootNow());
    if (!flowed && flowed.error().code != Code::kFull) {
      return flowed;
    }
    const auto sent = static_cast<int64_t>(stream.sent());
    const bool over = !flowed || stream.sent() == stream.size();
    if (over || sent / kReportEvery != reported) {
      reported = sent / kReportEvery;
      screen.Live(Grouped(sent) + " of " + Grouped(static_cast<int64_t>(stream.size())) +
                  (over ? " sent: that was all; the broker stays" : " sent"));
    }
    if (!flowed) {
      stream.Pause();
    }
  }
  screen.Settle();
  return {};
}

}  // namespace

int OfferBroker(const DemoOptions& options) {
  const int ends = EndsAt(getppid());
  Screen screen;
  StartLogging({.level = LogLevel::kError});  // a client without a broker is what was asked for
  const Status served = Serve(options, ends, screen);
  StopLogging();
  close(ends);
  if (!served) {
    screen.Line("demo: " + served.error().message);
    return 1;
  }
  return 0;
}

}  // namespace oncemq::demo
