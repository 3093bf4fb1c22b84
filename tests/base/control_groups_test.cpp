// SPDX-License-Identifier: Apache-2.0
#include "base/control_groups.h"

#include <cmath>

#include "base/groups_folder.h"

namespace mt {
namespace {

class MemoryLimit : public GroupsFolder {
 protected:
  double limit() const { return memory_limit_of_groups(membership(), groups()); }
};

TEST_F(MemoryLimit, NoneIsKnown) {
  EXPECT_EQ(limit(), HUGE_VAL);
  write("/membership", "0::/");
  EXPECT_EQ(limit(), HUGE_VAL);
  write("/memory.max", "max");
  EXPECT_EQ(limit(), HUGE_VAL);
}

TEST_F(MemoryLimit, IsTheLeastOfAllGroups) {
  write("/membership", "0::/a.slice/b.scope");
  write("/a.slice/b.scope/memory.max", "8589934592");
  EXPECT_EQ(limit(), 8589934592.0);
  write("/a.slice/memory.max", "536870912");
  EXPECT_EQ(limit(), 536870912.0);
}

TEST_F(MemoryLimit, TheFirstVersion) {
  write("/membership", "5:cpu,cpuacct:/y\n4:memory:/x\n0::/");
  write("/memory/memory.limit_in_bytes", "9223372036854771712");
  EXPECT_GT(limit(), 1e18);
  write("/memory/x/memory.limit_in_bytes", "1073741824");
  EXPECT_EQ(limit(), 1073741824.0);
}

}  // namespace
}  // namespace mt
