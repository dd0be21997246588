# SPDX-License-Identifier: Apache-2.0
# oncemq_pc_module(<name> <sources> <libraries>): writes and installs oncemq-<name>.pc.
# oncemq_pc_all(): oncemq.pc, which requires all of them.
#
# One file for each library, so that a program with a window alone is not linked with librdkafka.
# The libraries are archives: whoever links one needs what it was built with, so all of that stands
# in Requires and Libs, and it does not matter whether `--static` is said. The paths follow the
# file: an installed tree may be moved.

set(ONCEMQ_PC_hiredis "hiredis >= 0.14")
set(ONCEMQ_PC_hiredis_ssl "hiredis_ssl >= 1.0, libssl >= 3.0")
set(ONCEMQ_PC_httplib "cpp-httplib >= 0.11")
set(ONCEMQ_PC_libmariadb "libmariadb >= 3.1")
set(ONCEMQ_PC_openssl "libcrypto >= 3.0")
set(ONCEMQ_PC_prometheus "prometheus-cpp-core >= 1.0")
set(ONCEMQ_PC_rocksdb "rocksdb >= 7.8")
set(ONCEMQ_PC_spdlog "spdlog >= 1.10")
set(ONCEMQ_PC_yaml_cpp "yaml-cpp >= 0.7")
set(ONCEMQ_PC_xxhash "libxxhash >= 0.8.1")

# Sets ${requires} and ${flags} to what a list of libraries is called there.
function(_oncemq_pc_names requires flags)
  set(names "")
  set(options "")
  foreach(library IN LISTS ARGN)
    string(REGEX REPLACE "^oncemq_dep_" "ONCEMQ_PC_" known "${library}")
    if(library MATCHES "^oncemq::(.+)$")
      list(APPEND names "oncemq-${CMAKE_MATCH_1}")
    elseif(library STREQUAL "Threads::Threads")
      list(APPEND options -pthread)
    elseif(library STREQUAL "oncemq_dep_rdkafka")
      # Not required by name: with `--static` Debian's file names libraries that its package does
      # not bring, for a librdkafka that is an archive.
      if(oncemq_pc_rdkafka_FOUND)
        list(APPEND options ${oncemq_pc_rdkafka_LDFLAGS})
      else()
        list(APPEND options -lrdkafka)
      endif()
    elseif(library STREQUAL "oncemq_dep_libpq")
      list(APPEND options -lpq)  # for the same reason
    elseif(library STREQUAL "oncemq_dep_zookeeper")
      list(APPEND options -lzookeeper_mt)
    elseif(DEFINED ${known})
      list(APPEND names "${${known}}")
    else()
      message(FATAL_ERROR "oncemq: what is ${library} called in pkg-config?")
    endif()
  endforeach()
  list(JOIN names ", " names)
  list(JOIN options " " options)
  set(${requires} "${names}" PARENT_SCOPE)
  set(${flags} "${options}" PARENT_SCOPE)
endfunction()

function(_oncemq_pc_write name description requires libs)
  set(prefix ${CMAKE_INSTALL_PREFIX})
  if(NOT IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
    file(RELATIVE_PATH up /at/${CMAKE_INSTALL_LIBDIR}/pkgconfig /at)
    string(REGEX REPLACE "/$" "" up "${up}")
    set(prefix "\${pcfiledir}/${up}")
  endif()
  foreach(kind LIBDIR INCLUDEDIR)
    set(${kind} ${CMAKE_INSTALL_${kind}})
    if(NOT IS_ABSOLUTE "${${kind}}")
      set(${kind} "\${prefix}/${${kind}}")
    endif()
  endforeach()
  file(WRITE ${PROJECT_BINARY_DIR}/${name}.pc
"# SPDX-License-Identifier: Apache-2.0
prefix=${prefix}
libdir=${LIBDIR}
includedir=${INCLUDEDIR}

Name: ${name}
Description: ${description}
Version: ${PROJECT_VERSION}
Requires: ${requires}
Cflags: -I\${includedir}
Libs: ${libs}
")
  install(FILES ${PROJECT_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endfunction()

function(oncemq_pc_module name sources libraries)
  _oncemq_pc_names(requires flags ${libraries})
  set(libs ${flags})
  if(sources)
    set(libs "-L\${libdir} -loncemq_${name} ${flags}")
  endif()
  _oncemq_pc_write(oncemq-${name} "The library ${name} of oncemq" "${requires}" "${libs}")
  set_property(GLOBAL APPEND PROPERTY ONCEMQ_PC_MODULES oncemq-${name})
endfunction()

function(oncemq_pc_all)
  get_property(modules GLOBAL PROPERTY ONCEMQ_PC_MODULES)
  list(JOIN modules ", " modules)
  _oncemq_pc_write(oncemq "${PROJECT_DESCRIPTION}" "${modules}" "")
endfunction()
