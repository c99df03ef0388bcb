// Reads .npy files as NumPy writes them, and refuses everything else without a crash.
#include "engine/io/npy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "tests/engine/io/test_folder.h"
#include "tests/engine/io/write_npy.h"

namespace shardlens {
namespace npy_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using NpyTest = TestFolder;

template <class T>
std::string bytes_of(const std::vector<T>& values) {
  std::string bytes(values.size() * sizeof(T), '\0');
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

// A file with any header text, as NumPy lays it out.
std::string npy(const std::string& header, const std::string& data, char version = 1) {
  std::string file = std::string("\x93NUMPY") + version + '\0';
  file += static_cast<char>(header.size() & 0xFF);
  file += static_cast<char>(header.size() >> 8);
  if (version > 1) file += std::string(2, '\0');
  return file + header + data;
}

const std::string kHeader = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";
const std::string kSixFloats = bytes_of<float>({1, 2, 3, 4, 5, 6.5f});

TEST_F(NpyTest, ReadsAllVersionsAndTypes) {
  for (const char version : {1, 2, 3}) {
    const NpyFile array(write("x.npy", npy(kHeader, kSixFloats, version)));
    EXPECT_THAT(array.shape(), ElementsAre(2, 3));
    std::vector<double> values(6);
    array.read_floats(DType::Fp64, values.data());
    EXPECT_THAT(values, ElementsAre(1, 2, 3, 4, 5, 6.5));
  }
  const NpyFile doubles(write(
      "d.npy", npy("{'descr': '<f8', 'fortran_order': False, 'shape': (2,)}\n", bytes_of<double>({0.1, 2}))));
  std::vector<float> rounded(2);
  doubles.read_floats(DType::Fp32, rounded.data());
  EXPECT_THAT(rounded, ElementsAre(0.1f, 2.0f));
  const NpyFile integers(write("i.npy", npy("{\"shape\": (3,), 'fortran_order': True, 'descr': '<i4'}",
                                            bytes_of<int32_t>({-1, 0, 7}))));
  EXPECT_THAT(integers.read_integers(), ElementsAre(-1, 0, 7));
  const NpyFile scalar(write("s.npy", npy("{'descr': '<i8', 'fortran_order': False, 'shape': ()}",
                                          bytes_of<int64_t>({int64_t{1} << 40}))));
  EXPECT_TRUE(scalar.shape().empty());
  EXPECT_THAT(scalar.read_integers(), ElementsAre(int64_t{1} << 40));
  const NpyFile empty(write(
      "e.npy", npy("{'descr': '<f4', 'fortran_order': False, 'shape': (0, 9223372036854775807, 4)}", "")));
  std::vector<float> none;
  EXPECT_NO_THROW(empty.read_floats(DType::Fp32, none.data()));
}

TEST_F(NpyTest, WritesWhatNumpyWrites) {
  const std::vector<float> values = {1, 2, 3, 4, 5, 6.5f};
  write_npy(path("x.npy"), NpyType::Float32, {2, 3}, values.data());
  const std::string file = contents("x.npy");
  EXPECT_EQ(file.size(), 128 + 24u);
  EXPECT_EQ(file.substr(0, 10), std::string("\x93NUMPY\x01\x00\x76\x00", 10));
  EXPECT_EQ(file.substr(10, kHeader.size()), kHeader);
  EXPECT_EQ(file[127], '\n');
  EXPECT_EQ(file.substr(128), kSixFloats);
  for (const Shape& shape : {Shape{}, Shape{1}, Shape{1, 1, 1}}) {
    write_npy(path("y.npy"), NpyType::Int64, shape, std::vector<int64_t>{42}.data());
    const NpyFile array(path("y.npy"));
    EXPECT_EQ(array.shape(), shape);
    EXPECT_THAT(array.read_integers(), ElementsAre(42));
  }
}

TEST_F(NpyTest, SaysWhatIsWrong) {
  const auto refusal = [&](const std::string& bytes) {
    return error_of([&] { NpyFile file(write("bad.npy", bytes)); });
  };
  const auto header_refusal = [&](const std::string& header) { return refusal(npy(header, kSixFloats)); };
  EXPECT_THAT(error_of([&] { NpyFile file(path("absent.npy")); }), HasSubstr("No such file"));
  EXPECT_THAT(error_of([&] { NpyFile file(folder_.string()); }), HasSubstr("not a regular file"));
  EXPECT_THAT(refusal(""), HasSubstr("not a .npy file"));
  EXPECT_THAT(refusal("PK\x03\x04 a zip file, say"), HasSubstr("not a .npy file"));
  EXPECT_THAT(refusal(npy(kHeader, kSixFloats, 4)), HasSubstr("version 4.0; expected 1, 2 or 3"));
  EXPECT_THAT(refusal(npy(kHeader, kSixFloats.substr(1))),
              HasSubstr("float32 of shape [2, 3] needs 24 bytes of data and the file has 23"));
  EXPECT_THAT(refusal(npy(kHeader, kSixFloats + "x")), HasSubstr("the file has 25"));
  EXPECT_THAT(header_refusal("{'descr': '>f4', 'fortran_order': False, 'shape': (2, 3), }"),
              HasSubstr("big-endian"));
  EXPECT_THAT(header_refusal("{'descr': '<f2', 'fortran_order': False, 'shape': (2, 3), }"),
              HasSubstr("type '<f2'"));
  EXPECT_THAT(header_refusal("{'descr': '|O', 'fortran_order': False, 'shape': (2, 3), }"),
              HasSubstr("type '|O'"));
  EXPECT_THAT(header_refusal("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }"),
              HasSubstr("Fortran order"));
  EXPECT_THAT(header_refusal("{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775807, 3), }"),
              HasSubstr("more than 2^63"));
  for (const char* damaged :
       {"", "{", "{}", "{'descr': '<f4', 'fortran_order': False, 'shape': (2, -3), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), 'more': 1}",
        "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }",
        "{'descr': '<f4', 'fortran_order': 0, 'shape': (2, 3), }", "{'descr': '<f4', 'fortran_order': False}",
        "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2, 3), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), } x"}) {
    EXPECT_THAT(header_refusal(damaged), HasSubstr("header is damaged")) << damaged;
  }
  const NpyFile floats(write("f.npy", npy(kHeader, kSixFloats)));
  EXPECT_THAT(error_of([&] { floats.read_integers(); }),
              HasSubstr("f.npy: the array has type float32; expected int32 or int64"));
  const NpyFile integers(
      write("i.npy", npy("{'descr': '<i4', 'fortran_order': False, 'shape': (6,)}", kSixFloats)));
  std::vector<float> out(6);
  EXPECT_THAT(error_of([&] { integers.read_floats(DType::Fp32, out.data()); }),
              HasSubstr("i.npy: the array has type int32; expected float32"));
}

// More than one piece of the reader, and a hole of two terabytes of which only the head is read.
TEST_F(NpyTest, IsReadWhenItIsAskedFor) {
  std::vector<int64_t> many(200'001);
  for (size_t i = 0; i < many.size(); ++i) many[i] = static_cast<int64_t>(i) - 7;
  write_npy(path("many.npy"), NpyType::Int64, {static_cast<int64_t>(many.size())}, many.data());
  EXPECT_EQ(NpyFile(path("many.npy")).read_integers(), many);
  const std::string head = npy("{'descr': '<i4', 'fortran_order': False, 'shape': (500000000, 999)}", "");
  std::error_code no_room;
  std::filesystem::resize_file(write("huge.npy", head), head.size() + 500'000'000ull * 999 * 4, no_room);
  if (no_room) GTEST_SKIP() << "this file system has no such large files";
  EXPECT_THAT(NpyFile(path("huge.npy")).shape(), ElementsAre(500'000'000, 999));
}

// Every prefix and every flipped bit ends in an Error or in an array that fits its file.
TEST_F(NpyTest, SurvivesTruncationAndFlippedBits) {
  const std::string whole = npy(kHeader, kSixFloats);
  for (size_t bytes = 0; bytes < whole.size(); ++bytes) {
    EXPECT_NE(error_of([&] { NpyFile file(write("cut.npy", whole.substr(0, bytes))); }), "no error") << bytes;
  }
  int refused = 0;
  const size_t header_bits = 8 * (whole.size() - kSixFloats.size());
  for (size_t bit = 0; bit < header_bits; ++bit) {
    std::string flipped = whole;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
    const std::string message = error_of([&] {
      const NpyFile array(write("flip.npy", flipped));
      const auto count = static_cast<size_t>(element_count(array.shape()));
      std::vector<double> values(count);
      if (array.type() == NpyType::Int32 || array.type() == NpyType::Int64) {
        EXPECT_EQ(array.read_integers().size(), count);
      } else {
        array.read_floats(DType::Fp64, values.data());
      }
    });
    refused += message == "no error" ? 0 : 1;
  }
  EXPECT_GT(refused, static_cast<int>(header_bits * 9 / 10));
}

}  // namespace npy_test
}  // namespace shardlens
