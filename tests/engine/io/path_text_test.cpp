// JSON is written whatever a file is called, and a path that is stored in it opens the same file again.
#include "engine/io/path_text.h"

#include <gtest/gtest.h>

#include "engine/base/utf8.h"
#include "engine/io/json_text.h"

namespace shardlens {
namespace path_text_test {

TEST(PathText, TheSameBytesComeBack) {
  for (const char* path : {"", "/a/text.txt", "café.txt", "caf\xe9.txt", "100% caf\xe9.txt", "\xff%E9",
                           "file:a.txt", "50%25.txt"}) {
    EXPECT_TRUE(is_utf8(path_text(path)));
    EXPECT_EQ(path_of(path_text(path)), path);
  }
}

TEST(PathText, APathInUtf8IsStoredAsItIs) {
  for (const char* path : {"/a/text.txt", "café.txt", "100%25.txt"}) EXPECT_EQ(path_text(path), path);
  EXPECT_EQ(path_text("caf\xe9.txt"), "file:caf%E9.txt");
}

TEST(PathText, WhatIsNoByteIsLeft) {
  for (const char* text : {"file:100%", "file:100%2", "file:100%zz"}) EXPECT_EQ(path_of(text), text + 5);
}

TEST(JsonText, BytesThatAreNotUtf8AreReplaced) {
  const nlohmann::ordered_json json{{"file", "caf\xe9.txt"}};
  EXPECT_EQ(json_text(json), "{\"file\":\"caf\xEF\xBF\xBD.txt\"}");
  EXPECT_EQ(json_text(json, 1), "{\n \"file\": \"caf\xEF\xBF\xBD.txt\"\n}");
}

}  // namespace path_text_test
}  // namespace shardlens
