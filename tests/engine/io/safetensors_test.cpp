// Safetensors files made by hand from the format's description: they are read by region, and every damaged
// file is refused.
#include "engine/io/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "engine/io/half.h"
#include "tests/engine/io/test_folder.h"

namespace shardlens {
namespace safetensors_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using SafetensorsTest = TestFolder;

template <class T>
std::string bytes_of(const std::vector<T>& values) {
  std::string bytes(values.size() * sizeof(T), '\0');
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

std::string file_of(const std::string& header, const std::string& data) {
  return bytes_of<uint64_t>({header.size()}) + header + data;
}

const std::string kHeader =
    R"({"__metadata__":{"format":"pt"},"a":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},)"
    R"("b":{"dtype":"BF16","shape":[2],"data_offsets":[24,28]},"c":{"dtype":"F16","shape":[],"data_offsets":[28,30]},)"
    R"("d":{"dtype":"U8","shape":[2],"data_offsets":[30,32]},"e":{"dtype":"F64","shape":[0,4],"data_offsets":[32,32]}})";
const std::string kData = bytes_of<float>({1, 2, 3, 4, 5, 6}) + bytes_of<uint16_t>({0x3FC0, 0xC000}) +
                          bytes_of<uint16_t>({0x3555}) + "xy";

std::vector<double> read_all(const SafetensorsFile& file, const std::string& name) {
  const StoredTensor& tensor = *file.find(name);
  std::vector<double> values(static_cast<size_t>(element_count(tensor.shape)));
  file.read(tensor, DType::Fp64, values.data());
  return values;
}

TEST_F(SafetensorsTest, ReadsEveryFloatingPointType) {
  const SafetensorsFile file(write("x.safetensors", file_of(kHeader, kData)));
  EXPECT_EQ(file.tensors().size(), 5u);
  EXPECT_EQ(file.metadata().at("format"), "pt");
  EXPECT_THAT(read_all(file, "a"), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(read_all(file, "b"), ElementsAre(1.5, -2));
  EXPECT_THAT(read_all(file, "c"), ElementsAre(0x1.554p-2));  // the half nearest to one third
  EXPECT_TRUE(read_all(file, "e").empty());
  EXPECT_THAT(error_of([&] { read_all(file, "d"); }), HasSubstr("U8 cannot be read as fp64"));
}

TEST(Half, AllValuesWidenExactly) {
  // Every finite half is fraction * 2^exponent, computed here in another way.
  for (uint32_t bits = 0; bits < 0x7C00; ++bits) {
    const double fraction = bits & 0x3FF, exponent = bits >> 10;
    const double value =
        exponent == 0 ? fraction * 0x1p-24 : (1024 + fraction) * std::pow(2.0, exponent - 25);
    ASSERT_EQ(half_to_float(static_cast<uint16_t>(bits)), value) << bits;
    ASSERT_EQ(half_to_float(static_cast<uint16_t>(bits | 0x8000)), -value) << bits;
  }
  EXPECT_TRUE(std::signbit(half_to_float(0x8000)));
  EXPECT_EQ(half_to_float(0xFC00), -std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(half_to_float(0x7E01)));
  EXPECT_TRUE(std::isnan(bfloat_to_float(0x7FC0)));
}

TEST_F(SafetensorsTest, NamesWithAndWithoutPrefix) {
  const std::string header = R"({"transformer.h.0.w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
                             R"("wte.weight":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})";
  const SafetensorsFile file(write("x.safetensors", file_of(header, bytes_of<float>({1, 2}))));
  EXPECT_EQ(file.find("h.0.w")->name, "transformer.h.0.w");
  EXPECT_EQ(file.find("transformer.wte.weight")->name, "wte.weight");
  EXPECT_EQ(file.find("bert.wte.weight")->name, "wte.weight");
  EXPECT_EQ(file.find("h.1.w"), nullptr);
  EXPECT_THAT(
      error_of([&] { file.require("transformer.h.1.w", {1}); }),
      HasSubstr("no tensor \"transformer.h.1.w\" among its 2; the nearest name is \"transformer.h.0.w\""));
  EXPECT_THAT(error_of([&] {
                file.require("wte.weight", {4, 2});
              }),
              HasSubstr("tensor \"wte.weight\": its shape is [1]; expected [4, 2]"));
}

TEST_F(SafetensorsTest, LayerNormsOlderNames) {
  const std::string header = R"({"e.LayerNorm.gamma":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
                             R"("bert.e.LayerNorm.beta":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})";
  const SafetensorsFile file(write("x.safetensors", file_of(header, bytes_of<float>({1, 2}))));
  EXPECT_EQ(file.find("bert.e.LayerNorm.weight")->name, "e.LayerNorm.gamma");
  EXPECT_EQ(file.find("e.LayerNorm.bias")->name, "bert.e.LayerNorm.beta");
  EXPECT_EQ(file.find("e.dense.weight"), nullptr);
}

// A region in a view equals picking the same elements out of the whole.
TEST_F(SafetensorsTest, RegionsOfAView) {
  constexpr int64_t kRows = 5, kHidden = 12;
  std::vector<float> weight(kRows * 3 * kHidden);
  std::iota(weight.begin(), weight.end(), 0.0f);
  write_safetensors(path("w.safetensors"), {{"qkv", DType::Fp32, {kRows, 3 * kHidden}, weight.data()}});
  const SafetensorsFile file(path("w.safetensors"));
  const StoredTensor& tensor = file.require("qkv", {kRows, 3 * kHidden});
  const std::vector<std::vector<Range>> regions = {{{0, 5}, {0, 3}, {0, 12}}, {{0, 5}, {0, 3}, {4, 8}},
                                                   {{1, 3}, {0, 3}, {0, 12}}, {{2, 3}, {1, 2}, {0, 12}},
                                                   {{0, 5}, {2, 3}, {0, 12}}, {{4, 5}, {2, 3}, {11, 12}},
                                                   {{0, 5}, {1, 1}, {0, 12}}};
  for (const auto& region : regions) {
    std::vector<double> expected;
    for (int64_t i = region[0].begin; i < region[0].end; ++i) {
      for (int64_t j = region[1].begin; j < region[1].end; ++j) {
        for (int64_t k = region[2].begin; k < region[2].end; ++k) {
          expected.push_back(static_cast<double>((i * 3 + j) * kHidden + k));
        }
      }
    }
    std::vector<double> got(expected.size());
    file.read(tensor, {kRows, 3, kHidden}, region, DType::Fp64, got.data());
    EXPECT_EQ(got, expected);
  }
  std::vector<float> out(1000);
  EXPECT_THAT(error_of([&] {
                file.read(tensor, {kRows, 3, 11}, {{0, 5}, {0, 3}, {0, 11}}, DType::Fp32, out.data());
              }),
              HasSubstr("cannot be seen as [5, 3, 11]"));
  EXPECT_THAT(error_of([&] {
                file.read(tensor, {kRows, 36}, {{0, 5}, {0, 37}}, DType::Fp32, out.data());
              }),
              HasSubstr("reaches outside dimension 1"));
  EXPECT_THAT(error_of([&] {
                file.read(tensor, {kRows, 36}, {{3, 2}, {0, 36}}, DType::Fp32, out.data());
              }),
              HasSubstr("reaches outside dimension 0"));
}

TEST_F(SafetensorsTest, LongRunsAreReadInPieces) {
  std::vector<double> values(700'001);
  std::iota(values.begin(), values.end(), 0.5);
  write_safetensors(path("long.safetensors"), {{"x", DType::Fp64, {700'001}, values.data()}});
  EXPECT_EQ(read_all(SafetensorsFile(path("long.safetensors")), "x"), values);
}

TEST_F(SafetensorsTest, WrittenFilesReadBack) {
  const std::vector<float> odd = {1, 2, 3};
  const std::vector<double> wide = {4, 5};
  const std::vector<uint16_t> half = {0x3C00};
  write_safetensors(path("x.safetensors"),
                    {{"odd", DType::Fp32, {3, 1}, odd.data()},
                     {"half", DType::Fp16, {}, half.data()},
                     {"wide", DType::Fp64, {2}, wide.data()},
                     {"nothing", DType::Fp32, {0, 5}, nullptr}},
                    {{"format", "pt"}});
  const SafetensorsFile file(path("x.safetensors"));
  EXPECT_THAT(read_all(file, "odd"), ElementsAre(1, 2, 3));
  EXPECT_THAT(read_all(file, "wide"), ElementsAre(4, 5));
  EXPECT_THAT(read_all(file, "half"), ElementsAre(1));
  EXPECT_EQ(file.metadata().at("format"), "pt");
  for (const StoredTensor& tensor : file.tensors()) {
    const int64_t alignment = tensor.dtype == "F64" ? 8 : tensor.dtype == "F32" ? 4 : 2;
    EXPECT_TRUE(tensor.bytes == 0 || tensor.offset % alignment == 0) << tensor.name;
  }
  EXPECT_THAT(error_of([&] {
                write_safetensors(path("y.safetensors"),
                                  {{"a", DType::Fp32, {1}, odd.data()}, {"a", DType::Fp32, {1}, odd.data()}});
              }),
              HasSubstr("two tensors are called \"a\""));
  EXPECT_EQ(files_in_folder(), 1u);
}

TEST_F(SafetensorsTest, SaysWhatIsWrong) {
  const auto refusal = [&](const std::string& bytes) {
    return error_of([&] { SafetensorsFile file(write("bad.safetensors", bytes)); });
  };
  const auto header_refusal = [&](const std::string& header, const std::string& data = "12345678") {
    return refusal(file_of(header, data));
  };
  const auto tensor_refusal = [&](const std::string& tensor) {
    return header_refusal("{\"w\":" + tensor + "}");
  };
  EXPECT_THAT(error_of([&] { SafetensorsFile file(path("absent")); }), HasSubstr("No such file"));
  EXPECT_THAT(refusal(""), HasSubstr("has only 0 bytes"));
  EXPECT_THAT(refusal(std::string(64, '\xFF')),
              HasSubstr("its header should have 18446744073709551615 bytes"));
  EXPECT_THAT(refusal(bytes_of<uint64_t>({1000}) + "{}"),
              HasSubstr("should have 1000 bytes and the whole file has 10"));
  EXPECT_THAT(refusal(bytes_of<uint64_t>({0}) + "{}"), HasSubstr("should have 0 bytes"));
  EXPECT_THAT(header_refusal("[1, 2]"), HasSubstr("expected an object"));
  EXPECT_THAT(header_refusal("{\"w\": "), HasSubstr("not valid JSON"));
  EXPECT_THAT(header_refusal("{\"w\": 3}"), HasSubstr("expected an object, found 3"));
  EXPECT_THAT(header_refusal("{\"__metadata__\":{\"a\":1}}", ""), HasSubstr("\"a\" must be a text"));
  EXPECT_THAT(tensor_refusal(R"({"dtype":"F33","shape":[2],"data_offsets":[0,8]})"),
              HasSubstr("tensor \"w\": unknown dtype \"F33\"; did you mean \"F32\"?"));
  EXPECT_THAT(tensor_refusal(R"({"dtype":"F32","shape":[2]})"), HasSubstr("\"data_offsets\" is missing"));
  EXPECT_THAT(tensor_refusal(R"({"dtype":"F32","shape":[2],"data_offsets":[0,8],"x":1})"),
              HasSubstr("unknown key \"x\""));
  EXPECT_THAT(tensor_refusal(R"({"dtype":"F32","shape":[-2],"data_offsets":[0,8]})"),
              HasSubstr("\"shape\" must be a list of whole numbers"));
  EXPECT_THAT(tensor_refusal(R"({"dtype":"F32","shape":[2.5],"data_offsets":[0,8]})"),
              HasSubstr("\"shape\" must be a list"));
  EXPECT_THAT(tensor_refusal(R"({"dtype":"F32","shape":2,"data_offsets":[0,8]})"),
              HasSubstr("\"shape\" must be a list"));
  EXPECT_THAT(tensor_refusal(R"({"dtype":"F32","shape":[2],"data_offsets":[0,8,9]})"),
              HasSubstr("must be two numbers"));
  EXPECT_THAT(tensor_refusal(R"({"dtype":"F32","shape":[2],"data_offsets":[8,0]})"),
              HasSubstr("must be two numbers"));
  EXPECT_THAT(tensor_refusal(R"({"dtype":"F32","shape":[3],"data_offsets":[0,8]})"),
              HasSubstr("F32 of shape [3] has 12 bytes but its offsets span 8"));
  EXPECT_THAT(tensor_refusal(R"({"dtype":"F32","shape":[4],"data_offsets":[0,16]})"),
              HasSubstr("ends at byte 16 of the data and the file has 8"));
  EXPECT_THAT(tensor_refusal(R"({"dtype":"F32","shape":[1],"data_offsets":[0,4]})"),
              HasSubstr("4 bytes after the last tensor"));
  EXPECT_THAT(tensor_refusal(R"({"dtype":"F32","shape":[1],"data_offsets":[4,8]})"),
              HasSubstr("with a hole"));
  EXPECT_THAT(tensor_refusal(R"({"dtype":"F32","shape":[4294967296,4294967296,2],"data_offsets":[0,8]})"),
              HasSubstr("more than 2^63 bytes"));
  EXPECT_THAT(
      header_refusal(
          R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})"),
      HasSubstr("tensor \"b\": begins at byte 4 of the data, inside the tensor before it"));
  EXPECT_THAT(
      header_refusal(
          R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})"),
      HasSubstr("appears twice"));
}

TEST_F(SafetensorsTest, AFileThatShrinksIsAnErrorNotASignal) {
  const SafetensorsFile file(write("x.safetensors", file_of(kHeader, kData)));
  std::filesystem::resize_file(path("x.safetensors"), 8 + kHeader.size() + 10);
  EXPECT_THAT(error_of([&] { read_all(file, "a"); }), HasSubstr("more bytes are expected"));
}

// Every prefix is refused; every flipped bit is refused or gives tensors that can all be read.
TEST_F(SafetensorsTest, SurvivesTruncationAndFlippedBits) {
  const std::string whole = file_of(kHeader, kData);
  for (size_t bytes = 0; bytes < whole.size(); ++bytes) {
    EXPECT_NE(error_of([&] { SafetensorsFile file(write("cut", whole.substr(0, bytes))); }), "no error")
        << bytes;
  }
  int refused = 0;
  const size_t header_bits = 8 * (8 + kHeader.size());
  for (size_t bit = 0; bit < header_bits; ++bit) {
    std::string flipped = whole;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
    const std::string message = error_of([&] {
      const SafetensorsFile file(write("flip", flipped));
      for (const StoredTensor& tensor : file.tensors()) {
        if (tensor.dtype[0] == 'F' || tensor.dtype == "BF16") {
          std::vector<float> values(static_cast<size_t>(element_count(tensor.shape)));
          file.read(tensor, DType::Fp32, values.data());
        }
      }
    });
    refused += message == "no error" ? 0 : 1;
  }
  EXPECT_GT(refused, static_cast<int>(header_bits / 2));
}

}  // namespace safetensors_test
}  // namespace shardlens
