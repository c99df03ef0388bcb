// A plug-in is opened, or the message says why not and what to do.
#include "engine/base/plugin.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "engine/base/error.h"

namespace shardlens {
namespace plugin_test {

using ::testing::HasSubstr;

std::string refusal(const std::string& file, const std::string& symbol) {
  try {
    plugin_symbol(file, symbol, "build it again");
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Request);
    EXPECT_THAT(error.what(), HasSubstr(file));
    EXPECT_THAT(error.what(), HasSubstr("build it again"));
    return error.what();
  }
  ADD_FAILURE() << file << " was opened";
  return {};
}

TEST(Plugin, GivesWhatItHas) {
  using Number = int (*)();
  const auto number =
      reinterpret_cast<Number>(plugin_symbol("libshardlens_test_plugin.so", "shardlens_test_number", ""));
  EXPECT_EQ(number(), 42);
}

TEST(Plugin, AbsentItSaysWhereItWasLookedFor) {
  EXPECT_THAT(refusal("libshardlens_nowhere.so", "x"), HasSubstr("not beside the program"));
}

TEST(Plugin, WithoutTheSymbolItSaysWhich) {
  EXPECT_THAT(refusal("libshardlens_test_plugin.so", "shardlens_other"), HasSubstr("shardlens_other"));
}

TEST(Plugin, OfAnotherVersionItSaysBoth) {
  const std::string message = refusal("libshardlens_test_other_version.so", "shardlens_test_number");
  EXPECT_THAT(message, HasSubstr("shardlens 0.0.9"));
  EXPECT_THAT(message, HasSubstr(shardlens_plugin_version()));
}

// One built where the compiler is another one is the same to the program.
TEST(Plugin, OfAnotherCompilerItIsOpened) {
  EXPECT_NE(plugin_symbol("libshardlens_test_other_compiler.so", "shardlens_test_number", ""), nullptr);
}

// Objects passed to it would be read as what they are not.
TEST(Plugin, OfAnotherInterfaceItIsRefused) {
  EXPECT_THAT(refusal("libshardlens_test_other_interface.so", "shardlens_test_number"),
              HasSubstr("interface 000000000000"));
}

TEST(Plugin, WithAnotherLayoutOfTheStandardLibrarysTypesItIsRefused) {
  EXPECT_THAT(refusal("libshardlens_test_old_strings.so", "shardlens_test_number"),
              HasSubstr("libstdc++ with strings as before C++11"));
  EXPECT_THAT(refusal("libshardlens_test_debugged_containers.so", "shardlens_test_number"),
              HasSubstr("libstdc++, containers to be debugged"));
}

TEST(Plugin, ALibraryThatIsNoPluginIsRefused) {
  EXPECT_THAT(refusal("libshardlens_test_no_version.so", "shardlens_test_number"), HasSubstr("unknown"));
}

TEST(Plugin, WithoutALibraryThatItNeedsItSaysWhich) {
  const std::string message = refusal("libshardlens_test_needy.so", "shardlens_test_number");
  EXPECT_THAT(message, HasSubstr("cannot be opened"));
  EXPECT_THAT(message, HasSubstr("libshardlens_test_gone.so"));
}

TEST(Plugin, AFileThatIsNoLibraryIsRefused) {
  const auto folder = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  const std::string name = "libshardlens_test_text.so";
  std::ofstream(folder / name) << "this is a text\n";
  EXPECT_THAT(refusal(name, "x"), HasSubstr("cannot be opened"));
  std::filesystem::remove(folder / name);
}

// Mapped, what is not there would end the program by a signal.
TEST(Plugin, CutOffAnywhereItIsRefused) {
  const auto folder = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  const std::string name = "libshardlens_test_cut.so";
  const auto whole = std::filesystem::file_size(folder / "libshardlens_test_plugin.so");
  constexpr uintmax_t kCuts = 61;
  for (uintmax_t cut = 0; cut < kCuts; ++cut) {
    std::filesystem::remove(folder / name);  // a file that is open stays as it is
    std::filesystem::copy_file(folder / "libshardlens_test_plugin.so", folder / name);
    std::filesystem::resize_file(folder / name, cut + 1 == kCuts ? whole - 1 : whole * cut / kCuts);
    const std::string message = refusal(name, "shardlens_test_number");
    EXPECT_THAT(message, HasSubstr("cannot be opened"));
    EXPECT_THAT(message, ::testing::AnyOf(HasSubstr("cut off"), HasSubstr("not a shared library")));
  }
  std::filesystem::remove(folder / name);
}

TEST(Plugin, APipeIsNotWaitedFor) {
  const auto folder = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  const std::string name = "libshardlens_test_pipe.so";
  ASSERT_EQ(mkfifo((folder / name).c_str(), 0600), 0);
  EXPECT_THAT(refusal(name, "x"), HasSubstr("not a regular file"));
  std::filesystem::remove(folder / name);
}

// The places of a part that lie beyond every file.
TEST(Plugin, AHeaderWithImpossibleSizesIsRefused) {
  const auto folder = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  std::ifstream file(folder / "libshardlens_test_plugin.so", std::ios::binary);
  const std::string whole{std::istreambuf_iterator<char>(file), {}};
  const std::string name = "libshardlens_test_harmed.so";
  constexpr size_t kPlaces[] = {32, 40};  // of the segments' table and of the sections'
  for (const size_t at : kPlaces) {
    std::string harmed = whole;
    harmed.replace(at, 8, std::string(8, '\xff'));
    std::filesystem::remove(folder / name);
    std::ofstream(folder / name, std::ios::binary) << harmed;
    EXPECT_THAT(refusal(name, "x"), HasSubstr("its header is damaged")) << at;
  }
  std::filesystem::remove(folder / name);
}

}  // namespace plugin_test
}  // namespace shardlens
