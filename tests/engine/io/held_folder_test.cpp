// A held folder is read as it was, although another one has taken its place and it was removed.
#include "engine/io/held_folder.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdio.h>

#include <atomic>
#include <thread>

#include "engine/io/input_file.h"
#include "tests/engine/io/test_folder.h"

namespace shardlens {
namespace held_folder_test {

namespace fs = std::filesystem;

class HeldFolderTest : public TestFolder {
 protected:
  std::string read(const std::string& name) const { return InputFile(path(name)).text(); }
  /// Puts a folder whose files both hold `text` in the place of "x", as a checkpoint is saved.
  void replace_by(const std::string& text) const {
    fs::create_directory(path("new"));
    for (const std::string file : {"new/a", "new/b"}) write(file, text);
    if (fs::exists(path("x"))) {
      ASSERT_EQ(renameat2(AT_FDCWD, path("new").c_str(), AT_FDCWD, path("x").c_str(), RENAME_EXCHANGE), 0);
      fs::remove_all(path("new"));
    } else {
      fs::rename(path("new"), path("x"));
    }
  }
};

TEST_F(HeldFolderTest, IsReadAsItWas) {
  replace_by("old");
  {
    const HeldFolder held(path("x"));
    replace_by("new");
    EXPECT_EQ(read("x/a"), "old");
    EXPECT_EQ(read("x/a"), "old") << "and again";
    EXPECT_EQ(read("x/b"), "old");
    fs::remove_all(path("x"));
    EXPECT_EQ(read("x/b"), "old");
  }
  EXPECT_NE(error_of([&] { read("x/a"); }).find("cannot open"), std::string::npos);
}

TEST_F(HeldFolderTest, WhatIsNotThereIsNotHeld) {
  const HeldFolder nothing(path("x"));
  replace_by("new");
  EXPECT_EQ(read("x/a"), "new");
}

TEST_F(HeldFolderTest, IsOneFolderWhileOthersTakeItsPlace) {
  replace_by("0");
  std::atomic<bool> all_read{false};
  std::thread writer([&] {
    for (int i = 1; !all_read; ++i) replace_by(std::to_string(i));
  });
  for (int i = 0; i < 500; ++i) {
    const HeldFolder held(path("x"));
    EXPECT_EQ(read("x/a"), read("x/b"));
  }
  all_read = true;
  writer.join();
}

}  // namespace held_folder_test
}  // namespace shardlens
