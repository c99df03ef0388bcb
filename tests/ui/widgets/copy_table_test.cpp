// Copied tables: columns align by characters, not bytes, and Markdown survives a bar in a cell.
#include "ui/widgets/copy_table.h"

#include <gtest/gtest.h>

namespace shardlens::ui {
namespace copy_table_test {

TextTable example() {
  return {{{"step"}, {"sent", Align::Right}}, {{"dX = dY · W", "4.5 MiB"}, {"a|b", "0"}}};
}

TEST(CopyTable, PlainTextLinesUpByCharacters) {
  EXPECT_EQ(to_plain_text(example()),
            "step            sent\n"
            "-----------  -------\n"
            "dX = dY · W  4.5 MiB\n"
            "a|b                0\n");
}

TEST(CopyTable, MarkdownAlignsNumbersAndEscapesBars) {
  EXPECT_EQ(to_markdown(example()),
            "| step | sent |\n| --- | ---: |\n| dX = dY · W | 4.5 MiB |\n| a\\|b | 0 |\n");
}

}  // namespace copy_table_test
}  // namespace shardlens::ui
