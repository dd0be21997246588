// SPDX-License-Identifier: Apache-2.0
// Finished ids of a store on disk are told apart by their bytes, whatever their hashes (rule 35).
#include <gtest/gtest.h>

#include "local/bucket_merge.h"
#include "local/id_page.h"
#include "local/recent_ids.h"
#include "oncemq/base/hash.h"

namespace oncemq {
namespace {

constexpr uint64_t kHash = 0x1234'5678'9abc'def0;

IdRecord RecordOf(std::string_view id, int64_t offset) {
  return {.id = id, .at = {0, 0, offset}};
}

TEST(RecentIds, IdsOfOneHashAreTwo) {
  const KeyedHash hasher(KeyedHash::Secret{});
  RecentIds ids(hasher);
  const IdRecord first = RecordOf("first", 7);
  std::string bytes(RecordBytes(first), '\0');
  WriteRecord(first, bytes.data());
  ids.Append(bytes, kHash);
  EXPECT_FALSE(ids.Find(kHash, "other", false));
  EXPECT_FALSE(ids.Find(kHash, "first", true)) << "a digest of the same bytes";
  ASSERT_TRUE(ids.Find(kHash, "first", false));
  EXPECT_EQ(ids.Find(kHash, "first", false)->at.offset, 7);
}

TEST(IdPage, IdsOfOneHashAreTwo) {
  IdPageBuilder builder(/*base=*/0);
  builder.Add(kHash, RecordOf("first", 7));
  const std::string page = builder.Finish();
  IdRecord found;
  EXPECT_EQ(FindInPage(page, 0, kHash, "other", false, &found), PageResult::kMissing);
  EXPECT_EQ(FindInPage(page, 0, kHash, "first", true, &found), PageResult::kMissing);
  ASSERT_EQ(FindInPage(page, 0, kHash, "first", false, &found), PageResult::kFound);
  EXPECT_EQ(found.at.offset, 7);
}

TEST(IdsOfOneHash, IdsOfOneHashAreTwo) {
  IdsOfOneHash ids;
  EXPECT_TRUE(ids.Take(kHash, RecordOf("first", 7)));
  EXPECT_TRUE(ids.Take(kHash, RecordOf("other", 8)));
  IdRecord digest = RecordOf("first", 9);
  digest.digest = true;
  EXPECT_TRUE(ids.Take(kHash, digest)) << "a digest of the same bytes";
  EXPECT_FALSE(ids.Take(kHash, RecordOf("first", 10)));
  EXPECT_FALSE(ids.Take(kHash, RecordOf("other", 10)));
  EXPECT_TRUE(ids.Take(kHash + 1, RecordOf("first", 11)));
  EXPECT_FALSE(ids.Take(kHash + 1, RecordOf("first", 12)));
}

TEST(IdPage, IsReadInTheOrderInWhichItWasWritten) {
  IdPageBuilder builder(/*base=*/5);
  builder.Add(kHash, RecordOf("first", 7));
  builder.Add(kHash + 1, RecordOf("second", 3));
  const std::string page = builder.Finish();
  IdPageReader reader(page, 5);
  IdRecord record;
  ASSERT_TRUE(reader.Next(&record));
  EXPECT_EQ(record.id, "first");
  EXPECT_EQ(record.at.offset, 7);
  EXPECT_TRUE(reader.MayHaveHash(kHash));
  EXPECT_FALSE(reader.MayHaveHash(kHash + 1));
  ASSERT_TRUE(reader.Next(&record));
  EXPECT_EQ(record.id, "second");
  EXPECT_EQ(record.at.offset, 3);
  EXPECT_FALSE(reader.Next(&record));
  EXPECT_FALSE(reader.damaged());
}

TEST(IdPage, APageWithTooMuchOrTooLittleIsDamaged) {
  IdPageBuilder builder(/*base=*/0);
  builder.Add(kHash, RecordOf("first", 7));
  const std::string page = builder.Finish();
  for (const std::string& wrong : {page + "x", page.substr(0, page.size() - 1), std::string()}) {
    IdPageReader reader(wrong, 0);
    IdRecord record;
    while (reader.Next(&record)) {
    }
    EXPECT_TRUE(reader.damaged());
  }
}

}  // namespace
}  // namespace oncemq
