// Reads Markdown by cmark. Expressions are taken out before it and put back after it, since they may hold
// what Markdown reads as emphasis: each is one character of Unicode's private use meanwhile.
#include "engine/lesson/text.h"

#include <cmark.h>
#include <fmt/format.h>

#include <algorithm>
#include <memory>

namespace shardlens {
namespace {

constexpr unsigned kFirstPlace = 0xE000;
constexpr size_t kMostPlaces = 4000;

struct FreeNode {
  void operator()(cmark_node* node) const { cmark_node_free(node); }
};
struct FreeIterator {
  void operator()(cmark_iter* iterator) const { cmark_iter_free(iterator); }
};

std::string place(size_t index) {
  const auto code = static_cast<unsigned>(kFirstPlace + index);
  return {static_cast<char>(0xE0 | (code >> 12)), static_cast<char>(0x80 | ((code >> 6) & 0x3F)),
          static_cast<char>(0x80 | (code & 0x3F))};
}

// The index of the place that `text` begins with; -1: none.
int place_at(std::string_view text) {
  if (text.size() < 3 || (text[0] != '\xEE' && text[0] != '\xEF')) return -1;
  const unsigned code = (static_cast<unsigned>(text[0]) & 0x0F) << 12 |
                        (static_cast<unsigned>(text[1]) & 0x3F) << 6 |
                        (static_cast<unsigned>(text[2]) & 0x3F);
  return code >= kFirstPlace && code < kFirstPlace + kMostPlaces ? static_cast<int>(code - kFirstPlace) : -1;
}

class Reader {
 public:
  Reader(const std::string& file, int first_line, const Names& own_names)
      : file_(file), first_line_(first_line), own_names_(own_names) {}

  std::vector<MarkdownBlock> read(const std::string& text) {
    const std::string placed = take_expressions_out(text);
    const std::unique_ptr<cmark_node, FreeNode> document(
        cmark_parse_document(placed.data(), placed.size(), CMARK_OPT_DEFAULT));
    for (cmark_node* node = cmark_node_first_child(document.get()); node; node = cmark_node_next(node))
      block(node);
    return std::move(blocks_);
  }

 private:
  int line_of(cmark_node* node) const {
    return first_line_ - 1 + std::max(cmark_node_get_start_line(node), 1);
  }

  Error fail(int line, const std::string& message) const { return lesson_error(file_, line, message); }

  std::string take_expressions_out(const std::string& text) {
    std::string placed;
    int line = first_line_;
    for (size_t at = 0; at < text.size();) {
      if (place_at(std::string_view(text).substr(at)) >= 0)
        throw fail(line, "a character of Unicode's private use cannot be shown; leave it out");
      if (text[at] == '\n') ++line;
      const size_t end = text.compare(at, 2, "{{") == 0 ? text.find("}}", at) : std::string::npos;
      if (end == std::string::npos || text.find('\n', at) < end) {
        placed += text[at++];
        continue;
      }
      if (taken_.size() == kMostPlaces)
        throw fail(line, fmt::format("at most {} {{{{expressions}}}} are read", kMostPlaces));
      placed += place(taken_.size());
      taken_.push_back(text.substr(at, end + 2 - at));
      at = end + 2;
    }
    return placed;
  }

  std::string put_back(std::string_view text) const {
    std::string out;
    for (size_t at = 0; at < text.size();) {
      const int index = place_at(text.substr(at));
      index < 0 ? out += text[at++] : out += taken_[static_cast<size_t>(index)];
      if (index >= 0) at += 3;
    }
    return out;
  }

  static std::string_view literal(cmark_node* node) {
    const char* text = cmark_node_get_literal(node);
    return text ? text : "";
  }

  void block(cmark_node* node) {
    MarkdownBlock block;
    block.line = line_of(node);
    switch (cmark_node_get_type(node)) {
      case CMARK_NODE_HEADING:
        block.kind = MarkdownBlock::Kind::Heading;
        block.level = cmark_node_get_heading_level(node);
        for (const LessonSpan& span : spans(node))
          for (const Template::Piece& piece : span.text.pieces) {
            if (piece.expression)
              throw fail(block.line,
                         "a scene's title names it and cannot change: write it without {{expressions}}");
            block.text += piece.text;
          }
        break;
      case CMARK_NODE_CODE_BLOCK:
        block.info = cmark_node_get_fence_info(node);
        if (!block.info.empty()) {
          block.kind = MarkdownBlock::Kind::Fenced;
          block.text = put_back(literal(node));
          break;
        }
        [[fallthrough]];
      default:
        words(node, block);
    }
    blocks_.push_back(std::move(block));
  }

  // The paragraphs below a node of the top, in order. Lists in lists become one list.
  void words(cmark_node* top, MarkdownBlock& block) {
    const std::unique_ptr<cmark_iter, FreeIterator> iterator(cmark_iter_new(top));
    std::vector<int> numbers;  // of the lists that are open; 0: bullets
    int quotes = 0;
    bool begins_item = false;
    for (cmark_event_type event; (event = cmark_iter_next(iterator.get())) != CMARK_EVENT_DONE;) {
      cmark_node* node = cmark_iter_get_node(iterator.get());
      const bool enters = event == CMARK_EVENT_ENTER;
      switch (cmark_node_get_type(node)) {
        case CMARK_NODE_LIST:
          if (!enters)
            numbers.pop_back();
          else
            numbers.push_back(
                cmark_node_get_list_type(node) == CMARK_ORDERED_LIST ? cmark_node_get_list_start(node) : 0);
          break;
        case CMARK_NODE_ITEM:
          begins_item = enters;
          if (!enters && !numbers.empty() && numbers.back() > 0) ++numbers.back();
          break;
        case CMARK_NODE_BLOCK_QUOTE:
          quotes += enters ? 1 : -1;
          break;
        case CMARK_NODE_PARAGRAPH: {
          if (!enters) break;
          LessonParagraph paragraph;
          if (begins_item && !numbers.empty()) {
            paragraph.kind =
                numbers.back() > 0 ? LessonParagraph::Kind::Numbered : LessonParagraph::Kind::Bullet;
            paragraph.number = numbers.back();
          } else if (quotes > 0) {
            paragraph.kind = LessonParagraph::Kind::Quote;
          }
          begins_item = false;
          paragraph.spans = spans(node);
          block.paragraphs.push_back(std::move(paragraph));
          break;
        }
        case CMARK_NODE_CODE_BLOCK: {
          LessonParagraph paragraph;
          paragraph.kind = LessonParagraph::Kind::Code;
          paragraph.spans.push_back({.text = text_of(literal(node), line_of(node)), .code = true});
          block.paragraphs.push_back(std::move(paragraph));
          break;
        }
        case CMARK_NODE_HEADING:
          throw fail(line_of(node),
                     "a heading inside a list or a quote is not shown: begin it at the line's start");
        case CMARK_NODE_HTML_BLOCK:
          throw fail(line_of(node), "HTML is not shown: write Markdown, or put it in `code`");
        default:
          break;
      }
    }
  }

  Template text_of(std::string_view text, int line) const {
    try {
      return parse_template(put_back(text), line, own_names_);
    } catch (const Error& error) {
      throw fail(line, error.what());
    }
  }

  std::vector<LessonSpan> spans(cmark_node* paragraph) const {
    std::vector<LessonSpan> spans;
    const int line = line_of(paragraph);
    const std::unique_ptr<cmark_iter, FreeIterator> iterator(cmark_iter_new(paragraph));
    int strong = 0, emphasis = 0;
    std::string text;  // of one style, gathered: cmark cuts it where Markdown might have begun
    const auto end_span = [&](bool code = false) {
      if (text.empty()) return;
      spans.push_back(
          {.text = text_of(text, line), .strong = strong > 0, .emphasis = emphasis > 0, .code = code});
      text.clear();
    };
    for (cmark_event_type event; (event = cmark_iter_next(iterator.get())) != CMARK_EVENT_DONE;) {
      cmark_node* node = cmark_iter_get_node(iterator.get());
      const int change = event == CMARK_EVENT_ENTER ? 1 : -1;
      switch (cmark_node_get_type(node)) {
        case CMARK_NODE_TEXT:
          text += literal(node);
          break;
        case CMARK_NODE_SOFTBREAK:
          text += ' ';
          break;
        case CMARK_NODE_LINEBREAK:
          text += '\n';
          break;
        case CMARK_NODE_CODE:
          end_span();
          text = literal(node);
          end_span(true);
          break;
        case CMARK_NODE_STRONG:
          end_span(), strong += change;
          break;
        case CMARK_NODE_EMPH:
          end_span(), emphasis += change;
          break;
        case CMARK_NODE_HTML_INLINE:
          throw fail(line, "HTML is not shown: write Markdown, or put it in `code`");
        case CMARK_NODE_IMAGE:
          throw fail(line, "a lesson shows no pictures of its own: let a scene show the studio's view");
        default:
          break;
      }
    }
    end_span();
    return spans;
  }

  const std::string& file_;
  int first_line_;
  const Names& own_names_;
  std::vector<std::string> taken_;
  std::vector<MarkdownBlock> blocks_;
};

int words_in(const std::string& text) {
  int words = 0;
  bool inside = false;
  for (const char c : text) {
    const bool space = c == ' ' || c == '\n' || c == '\t';
    words += !space && !inside ? 1 : 0;
    inside = !space;
  }
  return words;
}

}  // namespace

std::vector<MarkdownBlock> read_markdown(const std::string& text, const std::string& file, int first_line,
                                         const Names& own_names) {
  return Reader(file, first_line, own_names).read(text);
}

void add(std::vector<LessonParagraph> paragraphs, LessonText& text) {
  for (LessonParagraph& paragraph : paragraphs) {
    std::string plain;
    for (const LessonSpan& span : paragraph.spans)
      for (const Template::Piece& piece : span.text.pieces) plain += piece.expression ? "x" : piece.text;
    text.words += words_in(plain);
    text.paragraphs.push_back(std::move(paragraph));
  }
}

}  // namespace shardlens
