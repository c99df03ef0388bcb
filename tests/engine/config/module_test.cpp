// A module is opened, or a sentence says why not and what to do.
#include "engine/config/module.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "engine/config/error.h"

namespace shardlens {
namespace {

using ::testing::HasSubstr;

std::string refusal(const std::string& file, const std::string& symbol) {
  try {
    module_symbol(file, symbol, "build it again");
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Request);
    EXPECT_THAT(error.what(), HasSubstr(file));
    EXPECT_THAT(error.what(), HasSubstr("build it again"));
    return error.what();
  }
  ADD_FAILURE() << file << " was opened";
  return {};
}

TEST(Module, GivesWhatItHas) {
  using Number = int (*)();
  const auto number =
      reinterpret_cast<Number>(module_symbol("libshardlens_test_module.so", "shardlens_test_number", ""));
  EXPECT_EQ(number(), 42);
}

TEST(Module, AbsentItSaysWhereItWasLookedFor) {
  EXPECT_THAT(refusal("libshardlens_nowhere.so", "x"), HasSubstr("not beside the program"));
}

TEST(Module, WithoutTheSymbolItSaysWhich) {
  EXPECT_THAT(refusal("libshardlens_test_module.so", "shardlens_other"), HasSubstr("shardlens_other"));
}

TEST(Module, OfAnotherVersionItSaysBoth) {
  const std::string message = refusal("libshardlens_test_other_version.so", "shardlens_test_number");
  EXPECT_THAT(message, HasSubstr("shardlens 0.0.9"));
  EXPECT_THAT(message, HasSubstr(shardlens_module_version()));
}

// One built where the compiler is another one is the same to the program.
TEST(Module, OfAnotherCompilerItIsOpened) {
  EXPECT_NE(module_symbol("libshardlens_test_other_compiler.so", "shardlens_test_number", ""), nullptr);
}

// Objects passed to it would be read as what they are not.
TEST(Module, OfAnotherInterfaceItIsRefused) {
  EXPECT_THAT(refusal("libshardlens_test_other_interface.so", "shardlens_test_number"),
              HasSubstr("interface 000000000000"));
}

TEST(Module, WithAnotherLayoutOfTheStandardLibrarysTypesItIsRefused) {
  EXPECT_THAT(refusal("libshardlens_test_old_strings.so", "shardlens_test_number"),
              HasSubstr("libstdc++ with strings as before C++11"));
  EXPECT_THAT(refusal("libshardlens_test_debugged_containers.so", "shardlens_test_number"),
              HasSubstr("libstdc++, containers to be debugged"));
}

TEST(Module, ALibraryThatIsNoModuleIsRefused) {
  EXPECT_THAT(refusal("libshardlens_test_no_version.so", "shardlens_test_number"), HasSubstr("unknown"));
}

TEST(Module, WithoutALibraryThatItNeedsItSaysWhich) {
  const std::string message = refusal("libshardlens_test_needy.so", "shardlens_test_number");
  EXPECT_THAT(message, HasSubstr("cannot be opened"));
  EXPECT_THAT(message, HasSubstr("libshardlens_test_gone.so"));
}

TEST(Module, AFileThatIsNoLibraryIsRefused) {
  const auto folder = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  const std::string name = "libshardlens_test_text.so";
  std::ofstream(folder / name) << "this is a text\n";
  EXPECT_THAT(refusal(name, "x"), HasSubstr("cannot be opened"));
  std::filesystem::remove(folder / name);
}

}  // namespace
}  // namespace shardlens
