// SPDX-License-Identifier: Apache-2.0
// ONCEMQ_MUTANT("name") is a place where the protocol can be broken on purpose, to prove that a
// test notices. In every ordinary build it is the constant `false` and the broken branch does not
// exist. In a build with ONCEMQ_MUTANTS it is true when the environment variable ONCEMQ_MUTANT
// holds that name. tests/mutants lists them all.
#pragma once

#ifdef ONCEMQ_MUTANTS

namespace oncemq {
bool MutantChosen(const char* name);
}  // namespace oncemq

#define ONCEMQ_MUTANT(name)                                  \
  ([] {                                                      \
    static const bool chosen = ::oncemq::MutantChosen(name); \
    return chosen;                                           \
  }())

#else

#define ONCEMQ_MUTANT(name) false

#endif
