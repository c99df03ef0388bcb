// Named splits and split files, and the errors for wrong files.
#include "engine/config/splits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "engine/base/error.h"

namespace shardlens {
namespace splits_test {

using ::testing::HasSubstr;

// A split file with this text, read.
Split split_of(const std::string& json, const std::string& name = "my.json") {
  const auto folder =
      std::filesystem::path(::testing::TempDir()) / ("shardlens_splits_" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  std::ofstream(folder / name) << json;
  return find_split((folder / name).string());
}

std::string error_of(const std::string& json) {
  try {
    split_of(json);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Request);
    EXPECT_THAT(error.what(), HasSubstr("my.json"));
    return error.what();
  }
  return "no error";
}

TEST(Splits, NamesAreTheirCuts) {
  EXPECT_EQ(named_split("megatron"), Split{});
  const Split reversed = named_split("reversed");
  EXPECT_EQ(reversed.attn_qkv, Cut::Row);
  EXPECT_EQ(reversed.attn_proj, Cut::Column);
  EXPECT_EQ(reversed.mlp_fc, Cut::Row);
  EXPECT_EQ(reversed.mlp_proj, Cut::Column);
  EXPECT_EQ(split_names().size(), 6u);
}

TEST(Splits, FileOfTheDesignPageIsAccepted) {
  const Split split = split_of(
      R"({"attn.qkv":"column","attn.proj":"row","mlp.fc":"column","mlp.proj":"row","embedding":"vocab",
          "norm":"replicated","loss":"fused"})",
      "mine.json");
  EXPECT_EQ(split.name, "mine");
  Split megatron = split;
  megatron.name = "megatron";
  EXPECT_EQ(megatron, named_split("megatron"));
}

TEST(Splits, WhatAFileLeavesOutIsMegatron) {
  const Split split = split_of(R"({"mlp.fc": "row", "mlp.proj": "replicated"})");
  EXPECT_EQ(split.attn_qkv, Cut::Column);
  EXPECT_EQ(split.mlp_fc, Cut::Row);
  EXPECT_EQ(split.mlp_proj, Cut::Replicated);
}

TEST(Splits, FilesAreFoundByTheirPath) {
  const std::string path = ::testing::TempDir() + "/shardlens_split_" + std::to_string(getpid()) + ".json";
  std::ofstream(path) << R"({"attn.qkv": "row"})";
  EXPECT_EQ(find_split(path).attn_qkv, Cut::Row);
  std::filesystem::remove(path);
  EXPECT_THROW(find_split(path), Error);
  EXPECT_THROW(find_split(::testing::TempDir() + "/"), Error);
  EXPECT_EQ(find_split("row-row").attn_proj, Cut::Row);
}

TEST(Splits, WrongFilesGetTheNearestLegalWord) {
  EXPECT_THAT(error_of(R"({"mlp.fx": "row"})"), HasSubstr("did you mean \"mlp.fc\"?"));
  EXPECT_THAT(error_of(R"({"mlp.fc": "colum"})"), HasSubstr("did you mean \"column\"?"));
  EXPECT_THAT(error_of(R"({"mlp.fc": "colum"})"), HasSubstr("Known: column, row, replicated"));
  EXPECT_THAT(error_of(R"({"norm": "sequnce"})"), HasSubstr("did you mean \"sequence\"?"));
  EXPECT_THAT(error_of(R"({"loss": "gathr"})"), HasSubstr("did you mean \"gather\""));
  EXPECT_THAT(error_of(R"({"embedding": "columns"})"), HasSubstr("vocab, hidden, replicated"));
  EXPECT_THAT(error_of(R"({"mlp.fc": 3})"), HasSubstr("must be a text, found 3"));
  EXPECT_THAT(error_of(R"({"mlp.fc": null})"), HasSubstr("mlp.fc"));
  EXPECT_THAT(error_of(R"({"mlp.fc": "row", "mlp.fc": "column"})"), HasSubstr("appears twice"));
  EXPECT_THAT(error_of(R"(["row"])"), HasSubstr("expected an object"));
  EXPECT_THAT(error_of("{"), HasSubstr("not valid JSON"));
  EXPECT_THAT(error_of(""), HasSubstr("not valid JSON"));
  EXPECT_THAT(error_of("{} {}"), HasSubstr("not valid JSON"));
  EXPECT_THAT(error_of("{\"a\": " + std::string(200, '[') + std::string(200, ']') + "}"),
              HasSubstr("nested"));
}

TEST(Splits, UnknownNameListsTheSplits) {
  try {
    find_split("megatorn");
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(),
                HasSubstr("did you mean \"megatron\"? Known: megatron, megatron-sp, reversed, row-row"));
  }
}

}  // namespace splits_test
}  // namespace shardlens
