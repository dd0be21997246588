// SPDX-License-Identifier: Apache-2.0
// The public headers of the engines of this build.
#pragma once

#include "oncemq/locks/memory_locks.h"
#ifdef ONCEMQ_WITH_ETCD
#include "oncemq/locks/etcd_locks.h"
#endif
#ifdef ONCEMQ_WITH_MARIADB
#include "oncemq/locks/mariadb_locks.h"
#endif
#ifdef ONCEMQ_WITH_MEMCACHED
#include "oncemq/locks/memcached_locks.h"
#endif
#ifdef ONCEMQ_WITH_POSTGRES
#include "oncemq/locks/postgres_locks.h"
#endif
#ifdef ONCEMQ_WITH_REDIS
#include "oncemq/locks/redis_locks.h"
#include "oncemq/locks/redlock_locks.h"
#endif
#ifdef ONCEMQ_WITH_ZOOKEEPER
#include "oncemq/locks/zookeeper_locks.h"
#endif
