// Sets words into lines, and lines and pictures onto pages, from top to bottom. A line is not left alone on a
// page, a heading stays with what follows, and a picture is never cut.
#pragma once

#include <string>
#include <vector>

#include "ui/figure/vector_file.h"

namespace shardlens::ui {

struct StyledWords {
  std::string text;
  TextStyle style;
};

/// The area of a page that is written on, in points of 1/96 inch.
struct PageFrame {
  ImVec2 size, margin;
  float width() const { return size.x - 2 * margin.x; }
  float height() const { return size.y - 2 * margin.y; }
};

class Flow {
 public:
  Flow(const Fonts& fonts, const PageFrame& frame) : fonts_(fonts), frame_(frame) {}

  /// Adds a paragraph, `indent` from the left. `mark`: stands in front of its first line.
  void add_words(const std::vector<StyledWords>& words, float indent = 0, const StyledWords& mark = {});
  /// Adds something that is `height` high and is never cut. Its marks are placed from its upper left corner.
  void add_block(Tape marks, float height);
  /// Adds a picture over the whole width. It may be made smaller, so that it has room on a page that is
  /// begun.
  void add_picture(Tape marks, float height);
  /// Room above what follows; not at the top of a page.
  void add_space(float height) { space_ += height; }
  /// What was added last stands on the same page as what follows.
  void keep_with_next();
  /// Everything from `first` to what was added last stands on one page if it can. `first`: size() before it.
  void keep_together(size_t first);
  /// The same if pictures can be made small enough for that. If not, what it is made of is on several pages.
  void keep_scene_together(size_t first);
  /// What follows begins a page.
  void begin_page() { begins_page_ = true; }
  /// The page of what follows is listed under these words.
  void add_bookmark(std::string words) { bookmarks_.push_back({std::move(words), blocks_.size()}); }
  size_t size() const { return blocks_.size(); }

  /// Returns all pages.
  PdfDocument pages(const std::string& title, ImU32 ground) const;

 private:
  struct Block {
    Tape marks;
    float height = 0;
    float space = 0;  ///< above it
    bool keeps_next = false;
    bool begins_page = false;
    bool is_picture = false;
    size_t scene_end = 0;  ///< of a scene's first block: the one after its last
  };
  struct Bookmark {
    std::string words;
    size_t block;
  };

  /// Some neighbouring blocks, and how they fit on a page.
  struct Group {
    size_t end = 0;
    float height = 0, pictures = 0;  ///< pictures: their part of the height
    /// How small pictures must be for `room`; 1: as they are.
    float scale_for(float room) const;
    bool fits(float room) const;
  };

  void add(Tape marks, float height);
  Group group(size_t begin, size_t end) const;
  size_t end_of_group(size_t begin) const;

  const Fonts& fonts_;
  PageFrame frame_;
  std::vector<Block> blocks_;
  std::vector<Bookmark> bookmarks_;
  float space_ = 0;
  bool begins_page_ = false;
};

/// The width of a line of text, as vector files have it.
float set_width(const Fonts& fonts, const TextStyle& style, const std::string& text);

}  // namespace shardlens::ui
