// SPDX-License-Identifier: Apache-2.0
#include "kafka_message.h"

#include <gtest/gtest.h>

#include <string>

namespace oncemq {
namespace {

TEST(FingerprintOf, IsTheSameInEveryProcessAndVersion) {
  EXPECT_EQ(FingerprintOf("pay 5"), 0x922B05FDu);
  EXPECT_EQ(FingerprintOf(""), 0x38D394C2u);
}

TEST(FingerprintOf, TellsPayloadsApart) {
  EXPECT_NE(FingerprintOf("pay 5"), FingerprintOf("pay 6"));
  EXPECT_NE(FingerprintOf(""), FingerprintOf(std::string_view("\0", 1)));
  EXPECT_NE(FingerprintOf(""), FingerprintOf(std::nullopt)) << "a tombstone is no empty payload";
}

class MessageReaderTest : public ::testing::Test {
 protected:
  Arrival Read(const RuntimeOptions& options, bool window) {
    message_.key = key_.data();
    message_.key_len = key_.size();
    message_.payload = payload_.data();
    message_.len = payload_.size();
    Arrival arrival;
    MessageReader(options, {.window = window, .max_bytes = 1024}).Read(&message_, arrival);
    return arrival;
  }
  static RuntimeOptions ByKey() {
    RuntimeOptions options;
    options.id_from = IdFrom::kKey;
    return options;
  }

  std::string key_ = "k";
  std::string payload_ = "pay 5";
  rd_kafka_message_t message_{};
};

TEST_F(MessageReaderTest, TakesTheFingerprintOfThePayload) {
  EXPECT_EQ(Read(ByKey(), true).fingerprint, FingerprintOf("pay 5"));
}

TEST_F(MessageReaderTest, TakesNoneWhereConflictsAreIgnoredOrNothingIsCompared) {
  RuntimeOptions options = ByKey();
  EXPECT_EQ(Read(options, false).fingerprint, 0u);
  options.conflicts = ConflictPolicy::kIgnore;
  EXPECT_EQ(Read(options, true).fingerprint, 0u);
}

}  // namespace
}  // namespace oncemq
