// SPDX-License-Identifier: Apache-2.0
#include "message_pool.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace oncemq {
namespace {

TEST(MessagePool, TheIdIsACopyOfAnyLength) {
  MessagePool pool;
  for (const size_t size : {0, 1, 48, 49, 1024}) {
    std::string original(size, 'i');
    std::string_view id = original;
    HeldMessage* const held = pool.Take(MessageRef(), id);
    original.assign(size, 'x');
    EXPECT_EQ(id, std::string(size, 'i'));
    pool.Return(held);
  }
}

TEST(MessagePool, PlacesAreApartWhileTheyAreTaken) {
  MessagePool pool;
  std::set<HeldMessage*> taken;
  for (int i = 0; i < 5000; i++) {
    std::string_view id = "id";
    EXPECT_TRUE(taken.insert(pool.Take(MessageRef(), id)).second);
  }
  for (HeldMessage* held : taken) {
    pool.Return(held);
  }
  std::string_view id = "again";
  EXPECT_TRUE(taken.contains(pool.Take(MessageRef(), id))) << "a place is used again";
}

}  // namespace
}  // namespace oncemq
