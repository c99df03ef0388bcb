// Modules that are not there, and files that are none.
#include "engine/config/module.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "engine/config/error.h"

namespace shardlens {
namespace {

std::string refusal(const std::string& file) {
  try {
    module_symbol(file, "anything", "install it");
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Request);
    return error.what();
  }
  return "";
}

TEST(Module, SaysWhatIsMissingAndWhatHelps) {
  const std::string text = refusal("libshardlens_nothing.so");
  EXPECT_NE(text.find("libshardlens_nothing.so is not beside the program in /"), std::string::npos) << text;
  EXPECT_NE(text.find(": install it"), std::string::npos) << text;
}

TEST(Module, RefusesAFileThatIsNoLibrary) {
  const auto folder = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  const auto path = folder / "libshardlens_broken.so";
  std::ofstream(path) << "not a library";
  const std::string text = refusal("libshardlens_broken.so");
  std::filesystem::remove(path);
  EXPECT_NE(text.find("libshardlens_broken.so cannot be opened"), std::string::npos) << text;
}

}  // namespace
}  // namespace shardlens
