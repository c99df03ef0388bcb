// Several files with an index are read as one, and an index and files that disagree are refused by name.
#include "engine/io/safetensors_index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/io/safetensors.h"
#include "tests/engine/io/test_folder.h"

namespace shardlens {
namespace safetensors_index_test {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class SafetensorsIndex : public TestFolder {
 protected:
  static constexpr int64_t kRows = 3;

  // Tensors a to e of 12 bytes each, in files of at most 24 bytes.
  void SetUp() override {
    TestFolder::SetUp();
    write_files(24);
  }
  void write_files(int64_t shard_bytes, const std::string& step = "7") {
    const std::vector<float> values{1, 2, 3};
    std::vector<TensorToStore> tensors;
    for (const char* name : {"a", "b", "c", "d", "e"})
      tensors.push_back({name, DType::Fp32, {kRows}, values.data()});
    write_sharded_safetensors(path("m.safetensors"), tensors, {{"step", step}}, shard_bytes,
                              [&](const std::string& file, const void* data, size_t bytes) {
                                written_[std::filesystem::path(file).filename()].append(
                                    static_cast<const char*>(data), bytes);
                              });
  }
  // Changes the index as somebody's mistake might.
  std::string refusal_of(const std::function<void(nlohmann::json& weight_map)>& change) {
    nlohmann::json index = nlohmann::json::parse(contents(kIndex));
    change(index["weight_map"]);
    const std::string saved = contents(kIndex);
    write(kIndex, index.dump());
    const std::string message = error_of([&] { SafetensorsFile file(path(kIndex)); });
    write(kIndex, saved);
    return message;
  }

  const std::string kIndex = "m.safetensors.index.json";
  const std::string kFirst = "m-00001-of-00003.safetensors", kLast = "m-00003-of-00003.safetensors";
  std::map<std::string, std::string> written_;  // what the writer told, by file
};

TEST_F(SafetensorsIndex, SeveralFilesAreReadAsOne) {
  EXPECT_EQ(files_in_folder(), 4u);
  const SafetensorsFile file(path(kIndex));
  EXPECT_THAT(file.paths(),
              ElementsAre(path(kIndex), path(kFirst), path("m-00002-of-00003.safetensors"), path(kLast)));
  EXPECT_EQ(file.tensors().size(), 5u);
  for (const char* name : {"a", "b", "c", "d", "e"}) {
    std::vector<float> values(kRows);
    file.read(file.require(name, {kRows}), DType::Fp32, values.data());
    EXPECT_THAT(values, ElementsAre(1, 2, 3)) << name;
  }
  EXPECT_EQ(file.path_of(*file.find("e")), path(kLast));
  EXPECT_EQ(file.metadata().at("step"), "7");
  const nlohmann::json index = nlohmann::json::parse(contents(kIndex));
  EXPECT_EQ(index["metadata"]["total_size"], 60);
  EXPECT_EQ(index["weight_map"]["b"], kFirst);
}

TEST_F(SafetensorsIndex, EveryByteOfEveryFileIsTold) {
  EXPECT_EQ(written_.size(), 4u);
  for (const auto& [file, bytes] : written_) EXPECT_EQ(bytes, contents(file)) << file;
}

TEST_F(SafetensorsIndex, WhatFitsIsOneFileAndATensorIsNeverCut) {
  for (const std::string& file : {kIndex, kFirst, kLast, std::string("m-00002-of-00003.safetensors")})
    std::filesystem::remove(path(file));
  write_files(60);
  EXPECT_EQ(files_in_folder(), 1u);
  EXPECT_EQ(file_or_index(path("m.safetensors")), path("m.safetensors"));
  std::filesystem::remove(path("m.safetensors"));
  write_files(1);
  EXPECT_EQ(files_in_folder(), 6u) << "a file for each tensor";
  EXPECT_EQ(file_or_index(path("m.safetensors")), path(kIndex));
}

// A file of another checkpoint among them: what all files say alike is what is known.
TEST_F(SafetensorsIndex, AStepThatFilesDoNotAgreeOnIsNotTold) {
  const std::string old = contents(kFirst);
  for (const std::string& file : {kIndex, kFirst, kLast, std::string("m-00002-of-00003.safetensors")})
    std::filesystem::remove(path(file));
  write_files(24, "8");
  write(kFirst, old);
  EXPECT_EQ(SafetensorsFile(path(kIndex)).metadata().count("step"), 0u);
}

TEST_F(SafetensorsIndex, AnIndexAndFilesThatDisagreeAreRefusedByName) {
  EXPECT_THAT(refusal_of([](auto& map) { map["x"] = map["a"]; }),
              AllOf(HasSubstr(kFirst + " has no tensor \"x\", which"), HasSubstr(path(kIndex))));
  EXPECT_THAT(refusal_of([](auto& map) { map.erase("a"); }),
              AllOf(HasSubstr(kFirst + " holds the tensor \"a\", but"), HasSubstr(path(kIndex))));
  EXPECT_THAT(refusal_of([](auto& map) { map["a"] = map["e"]; }), HasSubstr("do not belong together"));
  EXPECT_LT(refusal_of([](auto& map) { map[std::string(5000, 'x')] = map["a"]; }).size(), 600u);
  EXPECT_THAT(refusal_of([&](auto& map) { map["a"] = "gone.safetensors"; }),
              AllOf(HasSubstr("gone.safetensors is missing"), HasSubstr(path(kIndex))));
  std::filesystem::remove(path(kLast));
  EXPECT_THAT(error_of([&] { SafetensorsFile file(path(kIndex)); }),
              AllOf(HasSubstr(path(kLast) + " is missing"), HasSubstr(path(kIndex))));
}

TEST_F(SafetensorsIndex, AFileInAnotherFolderIsRefused) {
  const std::string elsewhere = (std::filesystem::path("..") / folder_.filename() / kFirst).string();
  for (const std::string& name : {elsewhere, path(kFirst), "./" + kFirst, std::string("..\\x"),
                                  std::string(".."), std::string("."), std::string()})
    EXPECT_THAT(
        refusal_of([&](auto& map) { map["a"] = name; }),
        AllOf(HasSubstr(path(kIndex) + ": tensor \"a\" is in \"" + name + "\""), HasSubstr("without /")));
  EXPECT_THAT(refusal_of([](auto& map) { map["a"] = 3; }), HasSubstr("\"a\" must be a text"));
  EXPECT_THAT(refusal_of([](auto& map) { map = nlohmann::json::object(); }), HasSubstr("names no tensor"));
  EXPECT_THAT(refusal_of([](auto& map) { map = nullptr; }), HasSubstr("\"weight_map\": expected an object"));
  write(kIndex, "{\"metadata\": {}}");
  EXPECT_THAT(error_of([&] { SafetensorsFile file(path(kIndex)); }), HasSubstr("\"weight_map\" is missing"));
}

TEST_F(SafetensorsIndex, AnIndexOfAnIndexIsNoFileOfTensors) {
  std::filesystem::copy(path(kIndex), path("again"));
  EXPECT_THAT(refusal_of([](auto& map) { map["x"] = "again"; }), HasSubstr("not a safetensors file"));
}

TEST_F(SafetensorsIndex, NamesOfItsFiles) {
  EXPECT_EQ(shard_path("run/model.safetensors", 2, 12), "run/model-00002-of-00012.safetensors");
  for (const char* name : {"model.safetensors", "model.safetensors.index.json",
                           "model-00001-of-00002.safetensors", "model-123456-of-123456.safetensors"})
    EXPECT_TRUE(is_written_for("model.safetensors", name)) << name;
  for (const char* name : {"model.fp16.safetensors", "model-1-of-2.safetensors", "model-00001-of-00002.bin",
                           "model-0000x-of-00002.safetensors", "optimizer.safetensors", "config.json"})
    EXPECT_FALSE(is_written_for("model.safetensors", name)) << name;
}

}  // namespace safetensors_index_test
}  // namespace shardlens
