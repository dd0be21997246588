// SPDX-License-Identifier: Apache-2.0
// The tables of locks and of switch records, as each database makes them (docs/formats.md).
#pragma once

#include <string_view>

namespace oncemq {

inline constexpr std::string_view kPostgresLocksTable =
    "CREATE TABLE IF NOT EXISTS oncemq_locks_v1 (space bytea NOT NULL, name bytea NOT NULL, "
    "version bigint NOT NULL, fence bigint NOT NULL, ends bigint NOT NULL, state bytea NOT NULL, "
    "PRIMARY KEY (space, name)) WITH (fillfactor = 50)";
inline constexpr std::string_view kPostgresSealsTable =
    "CREATE TABLE IF NOT EXISTS oncemq_lock_seals_v1 (space bytea PRIMARY KEY, "
    "epoch bigint NOT NULL)";
inline constexpr std::string_view kPostgresSwitchTable =
    "CREATE TABLE IF NOT EXISTS oncemq_switch_v1 (name bytea PRIMARY KEY, version bigint NOT NULL, "
    "record bytea NOT NULL)";
inline constexpr std::string_view kPostgresWordsTable =
    "CREATE TABLE IF NOT EXISTS oncemq_switch_words_v1 (name bytea NOT NULL, who bytea NOT NULL, "
    "word bytea NOT NULL, PRIMARY KEY (name, who))";

inline constexpr std::string_view kMariadbLocksTable =
    "CREATE TABLE IF NOT EXISTS oncemq_locks_v1 (space VARBINARY(255) NOT NULL, "
    "name VARBINARY(1024) NOT NULL, version BIGINT NOT NULL, fence BIGINT NOT NULL, "
    "ends BIGINT NOT NULL, state MEDIUMBLOB NOT NULL, PRIMARY KEY (space, name)) "
    "ENGINE=InnoDB ROW_FORMAT=DYNAMIC";
inline constexpr std::string_view kMariadbSealsTable =
    "CREATE TABLE IF NOT EXISTS oncemq_lock_seals_v1 (space VARBINARY(255) NOT NULL PRIMARY KEY, "
    "epoch BIGINT NOT NULL) ENGINE=InnoDB";
inline constexpr std::string_view kMariadbSwitchTable =
    "CREATE TABLE IF NOT EXISTS oncemq_switch_v1 (name VARBINARY(64) PRIMARY KEY, "
    "version BIGINT NOT NULL, record BLOB NOT NULL) ENGINE=InnoDB";
inline constexpr std::string_view kMariadbWordsTable =
    "CREATE TABLE IF NOT EXISTS oncemq_switch_words_v1 (name VARBINARY(64) NOT NULL, "
    "who VARBINARY(256) NOT NULL, word BLOB NOT NULL, PRIMARY KEY (name, who)) ENGINE=InnoDB";

}  // namespace oncemq
