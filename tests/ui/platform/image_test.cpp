// PNG files hold the given pixels, and a failed write leaves nothing behind.
#include "ui/platform/image.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "engine/base/error.h"
#include "tests/ui/read_png.h"

namespace shardlens {
namespace image_test {

class ImageFile : public ::testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::filesystem::path folder_ =
      std::filesystem::path(::testing::TempDir()) /
      ("image_test." + std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()) + "." +
       std::to_string(getpid()));
};

Image sample() {
  Image image{{5, 3}, {}};
  for (int i = 0; i < 5 * 3; ++i) {
    for (const int channel : {i, 2 * i, 255 - i, 255})
      image.rgba.push_back(static_cast<std::uint8_t>(channel));
  }
  return image;
}

TEST_F(ImageFile, RoundTrip) {
  write_png(sample(), folder_ / "a.png");
  const Image read = read_png(folder_ / "a.png");
  EXPECT_EQ(read.size, sample().size);
  EXPECT_EQ(read.rgba, sample().rgba);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1)
      << "a temporary file was left";
}

TEST_F(ImageFile, AMissingFolderIsARequestErrorThatNamesThePath) {
  try {
    write_png(sample(), folder_ / "no" / "a.png");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Request);
    EXPECT_NE(std::string(error.what()).find("a.png"), std::string::npos);
  }
}

TEST_F(ImageFile, AFailedRenameLeavesNothingBehind) {
  std::filesystem::create_directories(folder_ / "a.png" / "occupied");
  EXPECT_THROW(write_png(sample(), folder_ / "a.png"), Error);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1);
}

}  // namespace image_test
}  // namespace shardlens
