// SPDX-License-Identifier: Apache-2.0
// ThreadSanitizer and libraries that are not built for it. Debian's librdkafka and librocksdb count
// and hand over with atomics and locks of their own that are not seen, so what they free and read
// looks like races; libzookeeper_mt has one, where it formats the name of a server for its log.
// Matches what a library does itself: our code around it is watched as ever, and our callbacks are
// not hidden, since the library's own frames are not on the stacks that ThreadSanitizer keeps of
// them.
extern "C" {
#pragma GCC visibility push(default)
const char* __tsan_default_suppressions();
const char* __tsan_default_suppressions() {
  return "race:librdkafka.so\n"
         "race:libzookeeper_mt.so\n"
#ifdef ONCEMQ_TSAN_ROCKSDB
         // Its strings are copied by libstdc++, of which only the last frame is kept.
         "called_from_lib:libstdc++.so\n"
#endif
         "race:librocksdb.so\n";
}
#pragma GCC visibility pop
}
