// SPDX-License-Identifier: Apache-2.0
// Where the locks are that a command is about, and how it fails.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "lock_command.h"
#include "oncemq/base/result.h"
#include "oncemq/base/switchboard.h"
#include "oncemq/locks/lock_engine.h"

namespace oncemq {

// Tells people, and says which exit code that is.
int LockFailed(const Error& error);
// kInvalid: there is a password in it, and everybody on a host can read the arguments of a command.
// `variable`: where it belongs.
Status NoPasswordIn(std::string_view address, std::string_view variable);
// Locks in memory can be seen by their own process only, so by no command: kInvalid.
Status SeenByOthers(std::string_view address);
// Whether a command goes by a catalogue: its arguments decide, else the environment, in which
// `variable` says addresses. kInvalid for arguments of both kinds; `addresses`: some of those are
// said.
Result<bool> ByCatalogue(const CatalogueArguments& from, bool addresses, const char* variable);
// The same for --at, --record, --store, --switchboard and --space.
Result<bool> LocksByCatalogue(const LockArguments& arguments);
// As the catalogue gives it to whoever asks.
Result<StoreAccess> AccessOf(const CatalogueArguments& from);
// Opens the engine that --at, --record with --store, or --catalogue names, else ONCEMQ_LOCKS,
// ONCEMQ_CATALOGUE or ONCEMQ_RECORD with ONCEMQ_STORES. Where several stores are switched it casts
// no vote, and begins no record.
Result<std::shared_ptr<LockEngine>> OpenLocksOf(const LockArguments& arguments);
// How a command opens a switchboard: its own calls are no reason to leave a store.
SwitchboardOptions WithoutVote();

}  // namespace oncemq
