// SPDX-License-Identifier: Apache-2.0
#include "oncemq/locks/election.h"

#include <exception>

#include "oncemq/base/log.h"
#include "oncemq/base/wait_until.h"

namespace oncemq {
namespace {

// False: it threw, or returned though nothing told it to.
bool Serve(const Lease& lease, const Lead& lead, const std::stop_token& stop) {
  std::stop_source ends;
  const auto end = [&ends] { ends.request_stop(); };
  const std::stop_callback on_stop(stop, end);
  const std::stop_callback on_loss(lease.stop(), end);
  const std::stop_callback on_ask(lease.asked_back(), end);
  try {
    lead(lease, ends.get_token());
    return ends.stop_requested();
  } catch (const std::exception& error) {
    Log(LogLevel::kError, "locks", "a leader threw; it resigns",
        {{"name", lease.name()}, {"what", std::string_view(error.what()).substr(0, 200)}});
  } catch (...) {
    Log(LogLevel::kError, "locks", "a leader threw; it resigns", {{"name", lease.name()}});
  }
  return false;
}

}  // namespace

Status Campaign(LockDomain& domain, std::string_view name, const Lead& lead, std::stop_token stop,
                const CampaignOptions& options) {
  AcquireOptions how;
  how.stop = stop;
  how.max_hold = options.term;
  how.what = options.what;
  while (!stop.stop_requested()) {
    auto lease = domain.Acquire(name, how);
    if (!lease) {
      if (lease.error().code == Code::kInvalid || lease.error().code == Code::kFenced) {
        return lease.error();
      }
      const BootTime now = domain.clock().Boot();
      WaitUntil(now + options.after_failure, now, stop);
      continue;
    }
    if (*lease && !Serve(**lease, lead, stop)) {
      (*lease)->Release();
      const BootTime now = domain.clock().Boot();
      WaitUntil(now + options.after_failure, now, stop);
    }
  }
  return {};
}

Result<std::optional<LockView::Party>> LeaderOf(LockEngine& engine, std::string_view name) {
  const auto view = engine.Look(name);
  if (!view) {
    return view.error();
  }
  for (const LockView::Party& party : view->parties) {
    if (party.holds && party.mode == LockMode::kExclusive) {
      return std::optional(party);
    }
  }
  return std::optional<LockView::Party>();
}

}  // namespace oncemq
