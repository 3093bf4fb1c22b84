// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/parallel/quota.h"

#include "base/groups_folder.h"

namespace mt::cpu {
namespace {

class Quota : public GroupsFolder {
 protected:
  int quota() const { return processor_quota(membership(), groups()); }
};

TEST_F(Quota, NoneIsKnown) {
  EXPECT_EQ(quota(), 0);
  write("/membership", "0::/");
  EXPECT_EQ(quota(), 0);
  write("/cpu.max", "max 100000");
  EXPECT_EQ(quota(), 0);
  write("/membership", "nonsense\n1:\n::\n");
  EXPECT_EQ(quota(), 0);
}

TEST_F(Quota, TheUnifiedHierarchy) {
  write("/membership", "0::/");
  write("/cpu.max", "400000 100000");
  EXPECT_EQ(quota(), 4);
  write("/cpu.max", "150000 100000");
  EXPECT_EQ(quota(), 2);
  write("/cpu.max", "1000 100000");
  EXPECT_EQ(quota(), 1);
}

TEST_F(Quota, AGroupHasNoMoreThanThoseItLiesIn) {
  write("/membership", "0::/a.slice/b.scope");
  write("/a.slice/b.scope/cpu.max", "800000 100000");
  EXPECT_EQ(quota(), 8);
  write("/a.slice/cpu.max", "300000 100000");
  EXPECT_EQ(quota(), 3);
  write("/a.slice/b.scope/cpu.max", "200000 100000");
  EXPECT_EQ(quota(), 2);
}

TEST_F(Quota, TheFirstVersion) {
  write("/membership", "5:memory:/x\n4:cpu,cpuacct:/x\n0::/");
  write("/cpu/cpu.cfs_quota_us", "-1");
  write("/cpu/cpu.cfs_period_us", "100000");
  EXPECT_EQ(quota(), 0);
  write("/cpu/x/cpu.cfs_quota_us", "250000");
  write("/cpu/x/cpu.cfs_period_us", "100000");
  EXPECT_EQ(quota(), 3);
}

}  // namespace
}  // namespace mt::cpu
