// SPDX-License-Identifier: Apache-2.0
// The power goes under the stores of members.
#pragma once

#include <filesystem>
#include <random>

#include "support/power/power_loss.h"

namespace oncemq::testing {

// Makes `into`, what the loss leaves of the stores below its root; what is left to chance, by
// `random`. Never a store whose MANIFEST is torn: at that one its partition stops, as it should
// (tests/disk/torn_manifest.h), and nothing that is tested with members would end.
//
// Thread safety: one thread.
void CutThePower(const PowerLoss& loss, Keep keep, std::mt19937_64& random,
                 const std::filesystem::path& into);

}  // namespace oncemq::testing
