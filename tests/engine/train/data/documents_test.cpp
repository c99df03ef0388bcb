// How text files are found, and how plain text is cut into documents.
#include "engine/train/data/documents.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <thread>

#include "tests/engine/few_files.h"
#include "tests/engine/io/test_folder.h"

namespace shardlens {
namespace documents_test {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class DocumentsTest : public TestFolder {
 protected:
  static std::vector<std::string> read(const std::string& source) {
    std::vector<std::string> documents;
    read_documents(source, [&](std::string document, int64_t) { documents.push_back(std::move(document)); });
    return documents;
  }
};

TEST_F(DocumentsTest, JsonLinesHaveADocumentEach) {
  const std::string file =
      write("x.jsonl", "{\"text\": \"one\\ntwo\"}\n\n{\"id\": 3, \"text\": \"\\u00e9\"}");
  EXPECT_THAT(read(file), ElementsAre("one\ntwo", "é"));
}

TEST_F(DocumentsTest, ABadJsonLineIsNamed) {
  for (const char* line : {"{", "[]", "{\"text\": 3}", "{\"txt\": \"a\"}", "{\"text\": \"\\ud800\", }"}) {
    const std::string file = write("x.jsonl", std::string("{\"text\": \"good\"}\n") + line + "\n");
    EXPECT_THAT(error_of([&] { read(file); }), HasSubstr("x.jsonl, line 2")) << line;
  }
}

TEST_F(DocumentsTest, JsonLinesAreToldByWhatTheyBeginWith) {
  const std::string lines = "\n {\"id\": 1, \"text\": \"one\"}\n{\"text\": \"two\"}\n";
  for (const char* name : {"x.json", "x.JSONL", "x.NdJson", "x.txt", "x"})
    EXPECT_THAT(read(write(name, lines)), ElementsAre("one", "two")) << name;
  EXPECT_THAT(read(write("mark.json", "\xef\xbb\xbf{\"text\": \"one\"}\n")), ElementsAre("one"));
}

TEST_F(DocumentsTest, OtherFormsOfJsonAreRefusedWithTheRemedy) {
  for (const char* text : {"[{\"text\": \"one\"}]", "[\n  {\n    \"text\": \"one\"\n  }\n]",
                           "[\"one\", \"two\"]", "{\n  \"text\": \"one\"\n}", "{\"text\": \"cut sh"}) {
    for (const char* name : {"x.json", "x.jsonl"})
      EXPECT_THAT(error_of([&] { read(write(name, text)); }), AllOf(HasSubstr(name), HasSubstr("jq -c")))
          << text;
  }
}

TEST_F(DocumentsTest, ProseAndProgramsThatBeginWithABracketAreText) {
  for (const char* text : {"[1] Introduction\n", "[Verse 1]\n", "[\"Well,\" he said]\n", "{ int a; }\n",
                           "{\n", "[1, 2]\n", "[]\n", "{\"a cut", "{braces}: \"quoted\"\n"})
    EXPECT_EQ(read(write("x.txt", text)).size(), 1u) << text;
}

TEST_F(DocumentsTest, ALineThatIsNoTextIsLeftOutAndSaid) {
  const std::string good = "{\"text\": \"good \\ud83d\\ude00 \\\\ud800\"}\n";
  const std::string file =
      write("x.jsonl", good + "{\"text\": \"\\ud800 half\"}\n" + good +
                           "{\"text\": \"\\ude00\\ud83d\"}\n{\"text\": \"\xff\"}\n" + good);
  std::vector<std::string> documents;
  const auto left_out =
      read_documents(file, [&](std::string document, int64_t) { documents.push_back(std::move(document)); });
  EXPECT_THAT(documents, ElementsAre("good 😀 \\ud800", "good 😀 \\ud800", "good 😀 \\ud800"));
  EXPECT_THAT(left_out, ElementsAre(HasSubstr("3 lines of " + file +
                                              " are not text and were left out: lines 2, 4, 5 (")));
  EXPECT_THAT(read_documents(write("y.jsonl", good + "{\"text\": \"\\udc00\"}\n"),
                             [](const std::string&, int64_t) {}),
              ElementsAre(HasSubstr("y.jsonl is not text and was left out: line 2 (")));
  EXPECT_TRUE(read_documents(write("z.jsonl", good), [](const std::string&, int64_t) {}).empty());
}

// The first page of a process's memory is not there: reading it is an input/output error for any user.
TEST_F(DocumentsTest, AReadErrorInTheMiddleOfASourceIsNotItsEnd) {
  std::filesystem::create_directory(path("books"));
  write("books/a.txt", "first\n");
  std::filesystem::create_symlink("/proc/self/mem", path("books/b.txt"));
  EXPECT_THAT(error_of([&] { read(path("books")); }),
              AllOf(HasSubstr("b.txt"), HasSubstr("Input/output error")));
}

TEST_F(DocumentsTest, ADeviceThatNeverEndsIsNoText) {
  std::filesystem::create_symlink("/dev/zero", path("zero.txt"));
  EXPECT_THAT(error_of([&] { read(path("zero.txt")); }),
              HasSubstr("zero.txt is not a regular file or a pipe"));
}

TEST_F(DocumentsTest, PlainTextEndsAtMarksBlankLinesAndLines) {
  EXPECT_THAT(read(write("a.txt", "one\n\ntwo\n<|endoftext|>\nthree")),
              ElementsAre("one\n\ntwo\n", "three\n"));
  // Paragraphs of 1000 bytes: the fifth passes 4 KiB, and its blank line ends the document.
  const std::string paragraph = std::string(999, 'x') + "\n\n";
  std::string text;
  for (int i = 0; i < 7; ++i) text += paragraph;
  const auto paragraphs = read(write("b.txt", text));
  ASSERT_EQ(paragraphs.size(), 2u);
  EXPECT_EQ(paragraphs[0].size(), 5 * paragraph.size());
  EXPECT_EQ(paragraphs[1].size(), 2 * paragraph.size());
  // Lines without blank ones: the ninth passes 8 KiB.
  text.clear();
  for (int i = 0; i < 10; ++i) text += std::string(999, 'x') + "\n";
  const auto lines = read(write("c.txt", text));
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0].size(), 9000u);
}

TEST_F(DocumentsTest, WhatIsNoTextIsRefusedByItsBeginning) {
  const std::string zero(1, '\0');
  const std::string icon = write("icon.ico", "of\r\na\nsite" + zero);
  EXPECT_THAT(error_of([&] { read(icon); }),
              AllOf(HasSubstr("icon.ico, line 3 holds a byte of 0"), HasSubstr("iconv")));
  const std::string picture = write("picture.png", "\x89PNG\r\n\x1a\n" + std::string(3, '\0') + "IHDR");
  EXPECT_THAT(error_of([&] { read(picture); }),
              HasSubstr("picture.png is a picture (PNG), not a text: give"));
  const std::string stray = write("book.txt", std::string(9000, 'a') + "\n" + zero + "b\n");
  EXPECT_EQ(read(stray).size(), 2u) << "a stray one further on is cleaned away";
}

TEST_F(DocumentsTest, BlankTextHasNoDocument) {
  EXPECT_TRUE(read(write("a.txt", "")).empty());
  EXPECT_TRUE(read(write("a.txt", " \n\n\t\n")).empty());
}

TEST_F(DocumentsTest, AFolderIsReadInOrderAndCountsItsBytes) {
  std::filesystem::create_directory(path("sub"));
  write("b.txt", "second\n");
  write("a.jsonl", "{\"text\": \"first\"}\n");
  write("sub/c.txt", "third\n");
  write("ignored.png", "x");
  EXPECT_THAT(read(folder_.string()), ElementsAre("first", "second\n", "third\n"));
  EXPECT_EQ(source_bytes(folder_.string()), 7 + 18 + 6);
  EXPECT_THAT(read_documents(folder_.string(), [](const std::string&, int64_t) {}),
              ElementsAre(AllOf(HasSubstr("1 file of the folder"), HasSubstr("was left out: "),
                                HasSubstr("ignored.png"))));
  int64_t last = 0;
  read_documents(folder_.string(), [&](const std::string&, int64_t bytes) { last = bytes; });
  EXPECT_EQ(last, 7 + 18 + 6);
}

TEST_F(DocumentsTest, AFolderTakesJsonByItsFirstLine) {
  write("a.JSONL", "{\"text\": \"first\"}\n");
  write("b.json", "{\"text\": \"second\"}\n");
  write("c.TXT", "third\n");
  write("d.json", "{\"text\": \"\\ud800\"}\n{\"text\": \"fourth\"}\n");
  write("facts.json", "{\n  \"name\": \"books\"\n}\n");
  write("one.json", "{\"name\": \"books\"}\n");
  EXPECT_THAT(read(folder_.string()), ElementsAre("first", "second", "third\n", "fourth"));
}

TEST_F(DocumentsTest, APipeIsATextToo) {
  const std::string pipe = path("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  std::thread writer([&] { std::ofstream(pipe) << "through a pipe\n"; });
  EXPECT_THAT(read(pipe), ElementsAre("through a pipe\n"));
  writer.join();
  EXPECT_EQ(source_bytes(pipe), 0);
  EXPECT_THAT(error_of([&] { require_many_reads(pipe); }), HasSubstr("save it in a file first"));
}

TEST_F(DocumentsTest, WhatIsNotThereIsNamed) {
  EXPECT_THAT(error_of([&] { read(path("none.txt")); }), AllOf(HasSubstr("none.txt"), HasSubstr("sample")));
  EXPECT_THAT(error_of([&] { read(folder_.string()); }), HasSubstr(".jsonl"));
}

// What is said of the sample if a shell script stands for the program that prints it.
class SampleProgram : public DocumentsTest {
 protected:
  void SetUp() override {
    DocumentsTest::SetUp();
    path_before_ = getenv("PATH");
    setenv("PATH", (folder_.string() + ":" + path_before_).c_str(), 1);
  }
  void TearDown() override {
    setenv("PATH", path_before_.c_str(), 1);
    DocumentsTest::TearDown();
  }
  std::string said_of(const std::string& script) {
    write("bible", "#!/bin/sh\n" + script + "\n");
    std::filesystem::permissions(path("bible"), std::filesystem::perms::owner_all);
    return error_of([&] { read("sample"); });
  }

 private:
  std::string path_before_;
};

TEST_F(SampleProgram, ThatBreaksOffIsNotTheWhole) {
  EXPECT_THAT(
      said_of("echo 'Ge1:1 In the beginning'\necho 'page 2 is torn' >&2\nexit 1"),
      HasSubstr("the program bible, which prints the sample corpus, failed after 23 bytes: page 2 is torn"));
}

TEST_F(SampleProgram, ThatPrintsNothingIsNotOneThatIsNotInstalled) {
  EXPECT_THAT(said_of("echo 'no book here' >&2\nexit 3"), HasSubstr("failed after 0 bytes: no book here"));
  EXPECT_THAT(said_of("exit 0"), HasSubstr("failed after 0 bytes: it printed nothing"));
  EXPECT_THAT(said_of("kill -XFSZ $$"), HasSubstr("File too large"));
  setenv("PATH", path("nowhere").c_str(), 1);
  EXPECT_THAT(error_of([&] { read("sample"); }), HasSubstr("bible, which is not installed"));
}

// At every number of files that may still be opened it works, or the cause is said. (The system's loader says
// it by its number.)
TEST_F(DocumentsTest, ASampleThatCannotBePrintedForWantOfFilesSaysSo) {
  if (testing::kSanitizerNeedsFiles) GTEST_SKIP() << testing::kWhyFilesAreNeeded;
  int files = 0;
  for (; files < 12; ++files) {
    const testing::FewFiles few(files);
    const std::string message = error_of([&] { read("sample"); });
    if (message == "no error") break;
    EXPECT_THAT(message, AnyOf(HasSubstr("Too many open files"), HasSubstr("Error 24"))) << files;
    EXPECT_THAT(message, HasSubstr("the program bible")) << files;
  }
  EXPECT_GE(files, 3);
  EXPECT_LT(files, 12);
}

TEST_F(DocumentsTest, TheSampleIsTheChaptersOfTheKingJamesVersion) {
  const std::vector<std::string> chapters = read("sample");
  ASSERT_EQ(chapters.size(), 1189u);
  EXPECT_TRUE(
      chapters[0].starts_with("In the beginning God created the heaven and the earth.\nAnd the earth was"));
  EXPECT_EQ(std::count(chapters[0].begin(), chapters[0].end(), '\n'), 31);
  EXPECT_TRUE(chapters.back().ends_with("be with you all. Amen.\n"));
}

}  // namespace documents_test
}  // namespace shardlens
