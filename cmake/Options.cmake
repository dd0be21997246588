# SPDX-License-Identifier: Apache-2.0
# The build's switches and the flags that follow from them. Flags are set for oncemq's own
# directories only, so a parent project that adds us keeps its own.

option(ONCEMQ_BUILD_TESTS "Build the tests" ${PROJECT_IS_TOP_LEVEL})
option(ONCEMQ_BUILD_CLI "Build the command oncemq (needs CLI11 and nlohmann/json)"
       ${PROJECT_IS_TOP_LEVEL})
option(ONCEMQ_BUILD_EXAMPLES "Build the examples and the demo" ${PROJECT_IS_TOP_LEVEL})
option(ONCEMQ_BUILD_BENCH "Build the benches" ${PROJECT_IS_TOP_LEVEL})
option(ONCEMQ_INSTALL "Install the libraries and the CMake package" ${PROJECT_IS_TOP_LEVEL})
option(ONCEMQ_WERROR "Turn warnings into errors (the presets set it)" OFF)
option(ONCEMQ_WITH_ETCD "Build the locks in etcd (needs nlohmann/json)" ON)
option(ONCEMQ_WITH_KAFKA "Build the Kafka source (needs librdkafka)" ON)
option(ONCEMQ_WITH_MEMORY "Build the memory window" ON)
option(ONCEMQ_WITH_ROCKSDB "Build the local window (needs RocksDB)" ON)
option(ONCEMQ_WITH_MEMCACHED "Build the locks in memcached (needs OpenSSL)" ON)
option(ONCEMQ_WITH_REDIS "Build the locks in Redis (needs hiredis)" ON)
option(ONCEMQ_WITH_ZOOKEEPER "Build the locks in ZooKeeper (needs libzookeeper-mt)" ON)
option(ONCEMQ_WITH_POSTGRES "Build the locks in PostgreSQL (needs libpq)" ON)
option(ONCEMQ_WITH_MARIADB "Build the locks in MariaDB (needs libmariadb)" ON)
set(ONCEMQ_SANITIZE "" CACHE STRING "Sanitizers, for example address,undefined or thread")

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES AND PROJECT_IS_TOP_LEVEL)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "Debug, Release or RelWithDebInfo" FORCE)
endif()

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_FIND_PACKAGE_TARGETS_GLOBAL ON)
set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)

# ccache must be told to accept precompiled headers, and to see one source in two build folders as
# one. Both are said to it alone, so the user's own settings stay as they are.
if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(ONCEMQ_CCACHE ccache)
  if(ONCEMQ_CCACHE)
    set(CMAKE_CXX_COMPILER_LAUNCHER env CCACHE_SLOPPINESS=pch_defines,time_macros
        CCACHE_NOHASHDIR=1 CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_PCH_EXTSUM=1
        ${PROJECT_SOURCE_DIR}/cmake/compile_cached ${ONCEMQ_CCACHE})
  endif()
endif()
if(PROJECT_IS_TOP_LEVEL)
  find_program(ONCEMQ_MOLD mold)
  if(ONCEMQ_MOLD)
    add_link_options(-fuse-ld=mold)
  endif()
endif()

if(ONCEMQ_SANITIZE)
  add_compile_options(-fsanitize=${ONCEMQ_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${ONCEMQ_SANITIZE})
  if(ONCEMQ_SANITIZE MATCHES "undefined")
    add_compile_options(-fno-sanitize-recover=undefined)
  endif()
endif()

# Development builds check every index and iterator of the standard library.
add_compile_definitions($<$<NOT:$<CONFIG:Release>>:_GLIBCXX_ASSERTIONS>)
if(NOT ONCEMQ_SANITIZE)
  add_compile_options(
    "$<$<CONFIG:Release>:-fstack-protector-strong;-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=2>")
  add_link_options("$<$<CONFIG:Release>:LINKER:-z,relro,-z,now>")
  include(CheckPIESupported)
  check_pie_supported(LANGUAGES CXX)
endif()
