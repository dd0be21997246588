// SPDX-License-Identifier: Apache-2.0
// On which file systems a store is opened: the library is told which one it stands on.
#include <gtest/gtest.h>
#include <sys/vfs.h>

#include <atomic>
#include <filesystem>

#include "oncemq/base/clock.h"
#include "oncemq/dedup/local_window.h"
#include "support/power/interpose.h"
#include "support/temp_dir.h"

namespace {
std::atomic<long> told{0};  // 0: the truth
}  // namespace

EXPORTED int statfs(const char* path, struct statfs* facts) noexcept {
  const int answer = REAL(statfs)(path, facts);
  if (answer == 0 && told != 0) {
    facts->f_type = told;
  }
  return answer;
}

namespace oncemq::testing {
namespace {

struct FileSystem {
  const char* name;
  long number;  // of linux/magic.h and statfs(2)
  bool local;
};

class DiskFileSystem : public ::testing::TestWithParam<FileSystem> {
 protected:
  ~DiskFileSystem() override { told = 0; }
};

INSTANTIATE_TEST_SUITE_P(
    All, DiskFileSystem,
    ::testing::Values(FileSystem{"Ext4", 0xEF53, true}, FileSystem{"Xfs", 0x58465342, true},
                      FileSystem{"Tmpfs", 0x01021994, true}, FileSystem{"Btrfs", 0x9123683E, true},
                      FileSystem{"Nfs", 0x6969, false}, FileSystem{"Smb2", 0xFE534D42, false},
                      FileSystem{"Cifs", 0xFF534D42, false}, FileSystem{"Ceph", 0x00C36400, false},
                      FileSystem{"Fuse", 0x65735546, false}, FileSystem{"NineP", 0x01021997, false},
                      FileSystem{"Lustre", 0x0BD00BD0, false}),
    [](const auto& system) { return system.param.name; });

TEST_P(DiskFileSystem, AStoreIsOpenedOnADiskOfThisHostOnly) {
  const TempDir directory;
  LocalWindowOptions options;
  options.directory = directory.path() / "store";
  options.identity = "file system";
  options.level = Level::kGuarded;
  const ManualClock clock;
  told = GetParam().number;
  const auto window = OpenLocalWindow(options, clock);
  if (GetParam().local) {
    EXPECT_TRUE(window) << ToString(window.error());
    return;
  }
  ASSERT_FALSE(window);
  EXPECT_EQ(window.error().code, Code::kInvalid);
  EXPECT_NE(window.error().message.find(options.directory), std::string::npos)
      << ToString(window.error());
  EXPECT_FALSE(std::filesystem::exists(std::filesystem::path(options.directory) / "CURRENT"));
}

}  // namespace
}  // namespace oncemq::testing
