// Markdown, as far as a lesson uses it: headings, paragraphs, lists, quotes, code and fenced blocks, with the
// line of each.
#pragma once

#include <string>
#include <vector>

#include "engine/lesson/lesson.h"

namespace shardlens {

/// What stands between two others at the top of a file.
struct MarkdownBlock {
  enum class Kind { Heading, Words, Fenced };
  Kind kind = Kind::Words;
  int line = 0;
  int level = 0;                            ///< of a Heading
  std::string info;                         ///< of a Fenced one: "scene"
  std::string text;                         ///< of a Heading or a Fenced one
  std::vector<LessonParagraph> paragraphs;  ///< of Words
};

/// Reads Markdown whose first line is line `first_line` of `file`. Throws a lesson_error for what a lesson
/// cannot show: pictures, HTML.
std::vector<MarkdownBlock> read_markdown(const std::string& text, const std::string& file, int first_line,
                                         const Names& own_names);

/// Adds paragraphs to a text, and counts their words.
void add(std::vector<LessonParagraph> paragraphs, LessonText& text);

}  // namespace shardlens
