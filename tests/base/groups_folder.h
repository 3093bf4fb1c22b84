// SPDX-License-Identifier: Apache-2.0
// A folder in which a test writes what Linux tells of control groups.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

class GroupsFolder : public testing::Test {
 protected:
  GroupsFolder() {
    char pattern[] = "/tmp/mtorch_groups_XXXXXX";
    root_ = mkdtemp(pattern);
  }
  ~GroupsFolder() override { std::filesystem::remove_all(root_); }

  void write(const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text << "\n";
  }
  std::string membership() const { return root_ + "/membership"; }
  const std::string& groups() const { return root_; }

 private:
  std::string root_;
};
