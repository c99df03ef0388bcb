// The strict JSON reader: types, ranges and unknown keys.
#include "engine/io/json.h"
#include "engine/base/dtype.h"
#include "engine/io/json_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/engine/io/test_folder.h"

namespace shardlens {
namespace json_test {

using ::testing::AllOf;
using ::testing::HasSubstr;
using JsonTest = TestFolder;

TEST_F(JsonTest, ReadsEveryType) {
  const nlohmann::json json = parse_json(
      R"({"i": -3, "u": 18446744073709551615, "n": 2.5, "b": true, "s": "x", "o": {}, "null": null})", "t");
  ObjectReader reader(json, "t");
  EXPECT_EQ(reader.integer("i"), -3);
  EXPECT_EQ(reader.unsigned_integer("u"), UINT64_MAX);
  EXPECT_EQ(reader.number("n"), 2.5);
  EXPECT_EQ(reader.number("i"), -3);
  EXPECT_TRUE(reader.boolean("b"));
  EXPECT_EQ(reader.string("s"), "x");
  EXPECT_TRUE(reader.child("o").is_object());
  EXPECT_EQ(reader.integer_or("null", 7), 7);
  EXPECT_EQ(reader.string_or("absent", "y"), "y");
  EXPECT_FALSE(reader.has("absent"));
  EXPECT_NO_THROW(reader.finish());
}

TEST_F(JsonTest, NumbersThatAreNotFiniteAreNotLeftOutInSilence) {
  using nlohmann::ordered_json;
  const ordered_json whole{{"loss", 1.5}, {"norms", {1, 2.5}}};
  EXPECT_EQ(json_text(whole), R"({"loss":1.5,"norms":[1,2.5]})");
  const ordered_json odd{
      {"loss", NAN}, {"norms", {1.0, INFINITY}}, {"late", ordered_json()}, {"of", {{"a", -INFINITY}}}};
  EXPECT_EQ(json_text(odd), R"({"loss":null,"norms":[1.0,null],"late":null,"of":{"a":null},)"
                            R"("not_finite":["/loss","/norms/1","/of/a"]})");
}

TEST_F(JsonTest, RefusesOtherTypesAndSurprises) {
  const nlohmann::json json =
      parse_json(R"({"s": "x", "u": 18446744073709551615, "i": -3, "large": 4294967296, "extra": 1})", "t");
  ObjectReader reader(json, "t");
  EXPECT_THAT(error_of([&] { reader.integer("s"); }),
              HasSubstr("t: \"s\" must be a whole number, found \"x\""));
  EXPECT_THAT(error_of([&] { reader.integer("u"); }), HasSubstr("too large"));
  EXPECT_THAT(error_of([&] { reader.unsigned_integer("i"); }), HasSubstr("at least 0, found -3"));
  EXPECT_THAT(error_of([&] { reader.small_integer("large"); }), HasSubstr("\"large\" is out of range"));
  EXPECT_THAT(error_of([&] { reader.word("s", parse_dtype); }), HasSubstr("t, \"s\": unknown dtype \"x\""));
  EXPECT_THAT(error_of([&] { reader.boolean("i"); }), HasSubstr("true or false"));
  EXPECT_THAT(error_of([&] { reader.string("gone"); }), HasSubstr("\"gone\" is missing (expected a text)"));
  EXPECT_THAT(error_of([&] { reader.finish(); }), HasSubstr("unknown key \"extra\""));
}

// Where every tensor or figure has a name of its own, the keys come from the file.
TEST_F(JsonTest, AKeyOfTheFileIsShownAndNotPrinted) {
  const std::string key = "a\n\x1b[2J";
  const nlohmann::json json{{key, nlohmann::json::array()}};
  ObjectReader reader(json, "t");
  for (const std::string& said :
       {error_of([&] { reader.integer(key); }), error_of([&] { reader.number(key); }),
        error_of([&] { reader.boolean(key); }), error_of([&] { reader.string(key + "?"); }),
        error_of([&] { reader.child(key + "?"); })}) {
    EXPECT_THAT(said, HasSubstr("\"a\\x0a\\x1b[2J"));
    EXPECT_THAT(said, ::testing::Not(::testing::ContainsRegex("[\x01-\x1f]")));
  }
}

TEST_F(JsonTest, RefusesBrokenText) {
  for (const char* text :
       {"", "{", "{\"a\": 1,}", "nul", "{\"a\": 1e999}", "\xff\xfe", "{\"a\": \"\xc3\"}", "{} x"}) {
    EXPECT_THAT(error_of([&] { parse_json(text, "broken.json"); }),
                HasSubstr("broken.json is not valid JSON"))
        << text;
  }
  EXPECT_THAT(error_of([&] { parse_json("{\"a\": 1", "t"); }), HasSubstr("in the middle, after 7 bytes"));
  EXPECT_THAT(error_of([&] { parse_json(R"({"a": {"b": 1, "b": 2}})", "t"); }),
              HasSubstr("\"b\" appears twice"));
  const std::string long_key = "\"" + std::string(5000, 'a') + "\"";
  EXPECT_LT(error_of([&] { parse_json("{" + long_key + ": 1, " + long_key + ": 2}", "t"); }).size(), 200u);
  EXPECT_EQ(parse_json(R"({"a": {"b": 1}, "b": [{"b": 2}, {"b": 3}]})", "t").size(), 2u);
  EXPECT_THAT(error_of([&] { parse_json(std::string(1'000'000, '['), "t"); }),
              HasSubstr("nested more than 64"));
}

// The parser takes it for the end, and what follows would not be read.
TEST_F(JsonTest, RefusesAByteOfZero) {
  for (const std::string& text :
       {std::string("{\"a\": 1}\0", 9), std::string("{\"a\": 1}\0{", 10), std::string("{\"a\": \0 1}", 10)}) {
    EXPECT_THAT(error_of([&] { parse_json(text, "zero.json"); }),
                AllOf(HasSubstr("zero.json is not valid JSON at byte"), HasSubstr("it holds a byte of 0")));
  }
  EXPECT_EQ(parse_json("\"\\u0000\"", "t").get<std::string>(), std::string(1, '\0'));
}

// With a reader that looks through the list at the end of each object, this takes longer than a test may.
TEST_F(JsonTest, TakesTimeInProportionToTheText) {
  std::string text = "[";
  for (int i = 0; i < 2'000'000; ++i) text += "{},";
  EXPECT_EQ(parse_json(text + "[]]", "t").size(), 2'000'001u);
}

TEST_F(JsonTest, RefusesTooManyValues) {
  std::string text = "[0";
  for (int i = 0; i < 8'000'000; ++i) text += ",0";
  EXPECT_THAT(error_of([&] { parse_json(text + "]", "t"); }), HasSubstr("t: more than 8000000 values"));
}

TEST_F(JsonTest, KeepsEveryValueAndItsPlace) {
  const char* const text =
      R"({"a":[1,[2,{"b":[]}],{}],"c":{"d":{"e":null,"f":[true,-2.5]}},"g":"\ud83d\ude00","h":18446744073709551615})";
  EXPECT_EQ(parse_json(text, "t"), nlohmann::json::parse(text));
  for (const char* single : {"3", "null", "\"x\"", "[]", " {} "})
    EXPECT_EQ(parse_json(single, "t"), nlohmann::json::parse(single));
}

TEST_F(JsonTest, ReadsFiles) {
  EXPECT_EQ(read_json_file(write("x.json", "{\"a\": 1}"))["a"], 1);
  EXPECT_THAT(error_of([&] { read_json_file(path("absent.json")); }), HasSubstr("cannot open"));
  EXPECT_NE(error_of([&] { read_json_file(folder_.string()); }), "no error");
  EXPECT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_THAT(error_of([&] { read_json_file(path("pipe")); }), HasSubstr("not a regular file"));
}

}  // namespace json_test
}  // namespace shardlens
