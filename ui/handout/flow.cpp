// Breaks lines at spaces and pages between blocks.
#include "ui/handout/flow.h"

#include <algorithm>
#include <utility>

#include "ui/figure/typesetter.h"

namespace shardlens::ui {
namespace {

constexpr float kLeading = 1.32f;      // from line to line, in sizes of the text
constexpr float kLeastPicture = 0.7f;  // of its size
constexpr float kLeastOfPage = 0.33f;  // a page with less on it goes on with a part of a scene
constexpr size_t kWholeParagraph = 5;  // a paragraph of at most so many lines is not divided

/// Words of one style in a line, or a part of a word that has several.
struct Piece {
  std::string text;
  TextStyle style;
  float width = 0;
};
/// What no line is broken in, unless it is wider than a line.
struct Word {
  std::vector<Piece> pieces;
  float width() const {
    float sum = 0;
    for (const Piece& piece : pieces) sum += piece.width;
    return sum;
  }
};
struct SetLine {
  struct Placed {
    float x;
    Piece piece;
  };
  std::vector<Placed> pieces;
  float width = 0;
};

/// The end of the character that begins at `at`.
size_t character_end(const std::string& text, size_t at) {
  do ++at;
  while (at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80);
  return at;
}

/// Splits at spaces, and inside of what is wider than a line.
std::vector<Word> words_of(const Fonts& fonts, const std::vector<StyledWords>& words, float width) {
  std::vector<Word> found;
  bool begins = true;
  for (const auto& [text, style] : words) {
    const auto wide = [&](size_t from, size_t to) {
      return set_width(fonts, style, text.substr(from, to - from));
    };
    for (size_t at = 0; at < text.size();) {
      if (text[at] == ' ' || text[at] == '\n') {
        begins = true;
        ++at;
        continue;
      }
      size_t end = std::min(text.find_first_of(" \n", at), text.size());
      if (wide(at, end) > width) {
        size_t fits = character_end(text, at);
        while (fits < end && wide(at, character_end(text, fits)) <= width) fits = character_end(text, fits);
        end = fits;
      }
      if (std::exchange(begins, false)) found.emplace_back();
      found.back().pieces.push_back({text.substr(at, end - at), style, wide(at, end)});
      at = end;
    }
  }
  return found;
}

/// Adds to the line; words of one style become one text, so that copied text has its spaces.
void append(SetLine& line, const Piece& piece, float gap) {
  const bool goes_on = !line.pieces.empty() && line.pieces.back().piece.style.font == piece.style.font &&
                       line.pieces.back().piece.style.colour == piece.style.colour;
  if (goes_on)
    line.pieces.back().piece.text += (gap > 0 ? " " : "") + piece.text;
  else
    line.pieces.push_back({line.width + gap, piece});
  line.width += gap + piece.width;
}

std::vector<SetLine> lines_of(const Fonts& fonts, const std::vector<StyledWords>& words, float width) {
  std::vector<SetLine> lines;
  for (const Word& word : words_of(fonts, words, width)) {
    const float gap = lines.empty() ? 0 : set_width(fonts, word.pieces.front().style, " ");
    const bool fits = !lines.empty() && lines.back().width + gap + word.width() <= width;
    if (!fits) lines.emplace_back();
    for (const Piece& piece : word.pieces) {
      if (lines.back().width > 0 && lines.back().width + (fits ? gap : 0) + piece.width > width + 0.5f)
        lines.emplace_back();
      append(lines.back(), piece, fits && &piece == &word.pieces.front() ? gap : 0);
    }
  }
  return lines;
}

}  // namespace

float set_width(const Fonts& fonts, const TextStyle& style, const std::string& text) {
  const std::vector<TextRun> runs = set_line(fonts, {{0, 0}, style, Align::Left, text});
  return runs.empty() ? 0 : runs.back().x + runs.back().width;
}

void Flow::add_words(const std::vector<StyledWords>& words, float indent, const StyledWords& mark) {
  const std::vector<SetLine> lines = lines_of(fonts_, words, frame_.width() - indent);
  for (size_t i = 0; i < lines.size(); ++i) {
    Tape marks;
    float size = 0;
    if (i == 0 && !mark.text.empty()) marks.put(mark::Words{{0, 0}, mark.style, Align::Left, mark.text});
    for (const SetLine::Placed& placed : lines[i].pieces) {
      marks.put(mark::Words{{indent + placed.x, 0}, placed.piece.style, Align::Left, placed.piece.text});
      size = std::max(size, placed.piece.style.size);
    }
    add(std::move(marks), size * kLeading);
    const bool is_inner = i > 0 && i + 2 < lines.size() && lines.size() > kWholeParagraph;
    blocks_.back().keeps_next = i + 1 < lines.size() && !is_inner;
  }
}

void Flow::add(Tape marks, float height) {
  blocks_.push_back(
      {std::move(marks), height, std::exchange(space_, 0.0f), false, std::exchange(begins_page_, false)});
}

void Flow::add_block(Tape marks, float height) {
  add(std::move(marks), height);
}

void Flow::add_picture(Tape marks, float height) {
  add(std::move(marks), height);
  blocks_.back().is_picture = true;
}

void Flow::keep_with_next() {
  if (!blocks_.empty()) blocks_.back().keeps_next = true;
}

void Flow::keep_together(size_t first) {
  for (size_t i = first; i + 1 < blocks_.size(); ++i) blocks_[i].keeps_next = true;
}

void Flow::keep_scene_together(size_t first) {
  if (first < blocks_.size()) blocks_[first].scene_end = blocks_.size();
}

float Flow::Group::scale_for(float room) const {
  return height <= room || pictures <= 0 ? 1 : 1 - (height - room) / pictures;
}

bool Flow::Group::fits(float room) const {
  return height <= room || (pictures > 0 && scale_for(room) >= kLeastPicture);
}

Flow::Group Flow::group(size_t begin, size_t end) const {
  Group found{end, 0, 0};
  for (size_t i = begin; i < end; ++i) {
    found.height += blocks_[i].height + (i > begin ? blocks_[i].space : 0);
    if (blocks_[i].is_picture) found.pictures += blocks_[i].height;
  }
  return found;
}

/// The first block that need not stand on the page of `begin`.
size_t Flow::end_of_group(size_t begin) const {
  size_t last = begin;
  while (blocks_[last].keeps_next && last + 1 < blocks_.size()) ++last;
  return last + 1;
}

PdfDocument Flow::pages(const std::string& title, ImU32 ground) const {
  PdfDocument document;
  document.title = title;
  std::vector<int> page_of(blocks_.size() + 1);
  float y = 0;
  const auto new_page = [&] {
    document.pages.push_back({{}, {frame_.size, 1, ground, title}});
    y = 0;
  };
  new_page();
  for (size_t at = 0; at < blocks_.size();) {
    if (y > 0 && blocks_[at].begins_page) new_page();
    Group next = group(at, std::max(blocks_[at].scene_end, at + 1));
    const float rest = frame_.height() - (y > 0 ? y + blocks_[at].space : 0);
    const bool is_begun = y > 0 && y < kLeastOfPage * frame_.height();  // such a page is not left
    if (blocks_[at].scene_end == 0 || !next.fits(frame_.height()) || (is_begun && !next.fits(rest)))
      next = group(at, end_of_group(at));
    if (y > 0 && !next.fits(rest)) new_page();
    const float room = frame_.height() - (y > 0 ? y + blocks_[at].space : 0);
    const float scale = std::max(next.scale_for(room), kLeastPicture);
    for (; at < next.end; ++at) {
      const Block& block = blocks_[at];
      const float size = block.is_picture ? scale : 1;
      if (y > 0) y += block.space;
      if (y > 0 && y + block.height * size > frame_.height() + 0.5f)
        new_page();  // the group is higher than a page
      const float left = (1 - size) * frame_.width() / 2;
      document.pages.back().tape.put(block.marks, {frame_.margin.x + left, frame_.margin.y + y}, size);
      page_of[at] = static_cast<int>(document.pages.size()) - 1;
      y += block.height * size;
    }
  }
  page_of.back() = static_cast<int>(document.pages.size()) - 1;
  for (const Bookmark& mark : bookmarks_) document.bookmarks.push_back({mark.words, page_of[mark.block]});
  return document;
}

}  // namespace shardlens::ui
