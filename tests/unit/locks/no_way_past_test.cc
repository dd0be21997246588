// SPDX-License-Identifier: Apache-2.0
// Effects under a fence take a lease: there is no overload for a fence that somebody made up, for a
// name, or for nothing. What would break it does not compile here.
#include <gtest/gtest.h>

#include <type_traits>

#include "oncemq/locks/redis_fence.h"
#include "oncemq/locks/sql_fence.h"

namespace oncemq {
namespace {

// The call is not evaluated, so what it answers need not be known here.
template <class... Arguments>
concept Installs = requires(Arguments... arguments) {
  typename std::type_identity<decltype(InstallFence(arguments...))>::type;
};
template <class... Arguments>
concept BeginsInSql = requires(Arguments... arguments) {
  typename std::type_identity<decltype(BeginFenced(arguments...))>::type;
};
template <class Target, class... Arguments>
concept Begins = requires(const Target& target, Arguments... arguments) {
  typename std::type_identity<decltype(target.Begin(arguments...))>::type;
};
template <class Target, class... Arguments>
concept Writes = requires(const Target& target, Arguments... arguments) {
  typename std::type_identity<decltype(target.Write(arguments...))>::type;
};
using Command = std::vector<std::string_view>;

TEST(NoWayPast, ALeaseIsMadeByALockOnly) {
  static_assert(std::is_default_constructible_v<Lease>, "which holds nothing");
  static_assert(!std::is_constructible_v<Lease, Fence>);
  static_assert(!std::is_constructible_v<Lease, std::string_view>);
  static_assert(!std::is_copy_constructible_v<Lease>);
  static_assert(!std::is_convertible_v<std::shared_ptr<Hold>, Lease>);
}

TEST(NoWayPast, AFenceInSqlIsInstalledByALease) {
  static_assert(Installs<SqlSession&, const Lease&>);
  static_assert(!Installs<SqlSession&>);
  static_assert(!Installs<SqlSession&, Fence>);
  static_assert(!Installs<SqlSession&, std::string_view>);
  static_assert(!Installs<SqlSession&, std::string_view, Fence>);
  static_assert(!Installs<SqlSession&, const Lease*>);
}

TEST(NoWayPast, ATransactionUnderAFenceIsBegunByALease) {
  static_assert(BeginsInSql<SqlClient&, const Lease&>);
  static_assert(!BeginsInSql<SqlClient&>);
  static_assert(!BeginsInSql<SqlClient&, Fence>);
  static_assert(!BeginsInSql<SqlClient&, std::string_view>);
  static_assert(!BeginsInSql<SqlClient&, const Lease*>);
}

TEST(NoWayPast, AFenceInRedisIsInstalledAndWrittenUnderByALease) {
  static_assert(Begins<RedisFence, const Lease&>);
  static_assert(!Begins<RedisFence>);
  static_assert(!Begins<RedisFence, Fence>);
  static_assert(!Begins<RedisFence, const Lease*>);
  static_assert(Writes<RedisFence, const Lease&, Command>);
  static_assert(!Writes<RedisFence, Command>);
  static_assert(!Writes<RedisFence, Fence, Command>);
  static_assert(!Writes<RedisFence, const Lease*, Command>);
}

}  // namespace
}  // namespace oncemq
