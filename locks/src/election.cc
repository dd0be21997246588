// SPDX-License-Identifier: Apache-2.0
#include "oncemq/locks/election.h"

#include <exception>

#include "oncemq/base/log.h"
#include "oncemq/base/wait_until.h"

namespace oncemq {
namespace {

// Leads until the lease is lost, or given up for whatever reason.
void Serve(const Lease& lease, const Lead& lead, const std::stop_token& stop) {
  std::stop_source ends;
  const auto end = [&ends] { ends.request_stop(); };
  const std::stop_callback on_stop(stop, end);
  const std::stop_callback on_loss(lease.stop(), end);
  const std::stop_callback on_recall(lease.recalled(), end);
  try {
    lead(lease, ends.get_token());
  } catch (const std::exception& error) {
    Log(LogLevel::kError, "locks", "a leader threw; it resigns",
        {{"name", lease.name()}, {"what", std::string_view(error.what()).substr(0, 200)}});
  } catch (...) {
    Log(LogLevel::kError, "locks", "a leader threw; it resigns", {{"name", lease.name()}});
  }
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
    if (!lease && (lease.error().code == Code::kInvalid || lease.error().code == Code::kFenced)) {
      return lease.error();
    }
    if (lease && *lease) {
      Serve(**lease, lead, stop);
      (*lease)->Release();
    }
    const BootTime now = domain.clock().Boot();
    WaitUntil(now + options.pause, now, stop);
  }
  return {};
}

Result<std::optional<LockView::Party>> LeaderOf(LockEngine& engine, std::string_view name) {
  const auto view = engine.Read(name);
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
