// SPDX-License-Identifier: Apache-2.0
// What holds of the names that handlers lock.
#include "guarantee_text.h"
#include "oncemq/framework/service_locks.h"
#include "units.h"

namespace oncemq {
namespace {

void SayElided(const ServiceOptions& options, GuaranteeText& text) {
  text.Say(
      "Locks are elided: no store is asked, whoever owns a partition holds the names that its "
      "handlers lock (rule 50). You said `names_partition_owned`: whoever takes a name does so in "
      "one partition. oncemq cannot check that, and nobody else is kept out.");
  text.Say(
      "Two members may hold a name at a time, between the end of a session and its notice. Only "
      "checks at the effects part them" +
      std::string(options.runtime.locks.effects_check_fences
                      ? ": you said `effects_check_fences`. oncemq cannot check that."
                      : ": those of the window's store."));
}

void SayEngine(const ServiceLocks& locks, GuaranteeText& text) {
  const auto can = ServiceLockCapabilities(locks);
  if (!can) {
    text.Say("What the stores of locks can do is not known: " + can.error().message + ".");
    return;
  }
  // Of several it is said what one of them cannot do.
  const bool several = can->engine == "switched";
  const std::string engine(several ? "one of the catalogue's stores" : can->engine);
  if (!can->processes) {
    text.Say("Locks in " + engine + " exclude nobody outside of this process.");
  }
  if (!can->fence) {
    text.Say("Locks in " + engine +
             " have no fences: no effect can tell a holder from one whose lease has ended. They "
             "save work; they do not make it right.");
  }
  if (can->processes && !can->survives_failover) {
    text.Say("Locks in " + engine +
             " may be forgotten with a server that is lost: two may hold a name then" +
             (can->fence ? ", and only their fences part them." : "."));
  }
}

}  // namespace

void SayLocks(const ServiceOptions& options, GuaranteeText& limits, GuaranteeText& holds) {
  if (options.runtime.locks.elided) {
    SayElided(options, limits);
  } else if (options.locks.any()) {
    SayEngine(options.locks, limits);
    limits.Say("A lease that is not renewed for " + FormatDuration(options.locks.lease) +
               " is lost, and its handler is told, not stopped. What it still does is refused only "
               "where the lease's fence is checked, at the target of the effect.");
  } else {
    return;
  }
  holds.Say(
      "A name is given to one handler at a time, and taken back behind it. A message whose lease "
      "was lost is not completed: it comes again.");
}

}  // namespace oncemq
