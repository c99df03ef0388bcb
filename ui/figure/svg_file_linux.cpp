// Writes a tape as SVG 1.1 by hand, because cairo's SVG would turn text into outlines. HarfBuzz reduces the
// fonts to the used characters. Every run of text has its width, so it keeps its place if another font must
// replace it.
#include "ui/figure/svg_sheet.h"

#include <fmt/format.h>
#include <hb-subset.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <set>
#include <string_view>

#include "engine/base/error.h"
#include "engine/io/base64.h"
#include "ui/figure/markup.h"
#include "ui/figure/typesetter.h"
#include "ui/figure/vector_file.h"

namespace shardlens::ui {

namespace svg {
struct ByFile {
  bool operator()(const FontFace* a, const FontFace* b) const {
    return std::pair(a->file, a->index) < std::pair(b->file, b->index);
  }
};
/// The characters that are shown in each face.
using UsedFaces = std::map<const FontFace*, std::set<char32_t>, ByFile>;
}  // namespace svg

namespace {

using svg::UsedFaces;

/// Returns the font with only these characters; `characters` must not be empty.
std::string cut_down(const FontFace& face, const std::set<char32_t>& characters) {
  using Blob = std::unique_ptr<hb_blob_t, decltype(&hb_blob_destroy)>;
  using Face = std::unique_ptr<hb_face_t, decltype(&hb_face_destroy)>;
  using Input = std::unique_ptr<hb_subset_input_t, decltype(&hb_subset_input_destroy)>;
  const Blob blob(hb_blob_create(face.data.data(), static_cast<unsigned>(face.data.size()),
                                 HB_MEMORY_MODE_READONLY, nullptr, nullptr),
                  &hb_blob_destroy);
  const Face whole(hb_face_create(blob.get(), static_cast<unsigned>(face.index)), &hb_face_destroy);
  const Input input(hb_subset_input_create_or_fail(), &hb_subset_input_destroy);
  if (!input) throw run_error("not enough memory to embed a font in the SVG");
  for (const char32_t character : characters) hb_set_add(hb_subset_input_unicode_set(input.get()), character);
  const Face part(hb_subset_or_fail(whole.get(), input.get()), &hb_face_destroy);
  if (!part) throw run_error(fmt::format("cannot embed the font {} in the SVG", face.file));
  const Blob bytes(hb_face_reference_blob(part.get()), &hb_blob_destroy);
  unsigned length = 0;
  const char* data = hb_blob_get_data(bytes.get(), &length);
  return {data, length};
}

std::string font_faces_of(const UsedFaces& used) {
  std::string rules;
  for (const auto& [face, characters] : used)
    rules += fmt::format(
        "@font-face{{font-family:{};font-weight:{};font-style:{};src:url(data:font/ttf;base64,{})}}\n",
        face->family, face->bold ? 700 : 400, face->italic ? "italic" : "normal",
        base64(cut_down(*face, characters)));
  return rules;
}

std::string png_of(const Image& image) {
  const std::vector<uint8_t> png = encode_png(image);
  return base64({reinterpret_cast<const char*>(png.data()), png.size()});
}

class SvgFile {
 public:
  /// `prefix`: before the names of what the figure refers to. `pictures`: where its pictures are kept, by
  /// their contents; null: in the figure.
  SvgFile(const Page& page, const Fonts& fonts, UsedFaces& used, std::string prefix = "",
          std::map<std::string, size_t>* pictures = nullptr)
      : page_(page), fonts_(fonts), used_(used), prefix_(std::move(prefix)), pictures_(pictures) {}

  std::string file(const Tape& tape) {
    draw(tape);
    return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n" +
           element(
               "xmlns=\"http://www.w3.org/2000/svg\" xmlns:xlink=\"http://www.w3.org/1999/xlink\" "
               "version=\"1.1\"",
               fmt::format("<style>\n{}{}</style>\n", kGlyphByGlyph, font_faces_of(used_)));
  }

  std::string element_of_page(const Tape& tape) {
    draw(tape);
    return element("role=\"img\"", "");
  }

 private:
  void draw(const Tape& tape) {
    for (const TapeMark& mark : tape.marks()) std::visit([&](const auto& m) { add(mark, m); }, mark.what);
  }

  std::string element(const char* attributes, const std::string& styles) const {
    const std::string width = number(page_.size.x), height = number(page_.size.y);
    return fmt::format(
        "<svg {} width=\"{}\" height=\"{}\" viewBox=\"0 0 {} {}\">\n<title>{}</title>\n"
        "<defs>\n{}{}</defs>\n<rect width=\"{}\" height=\"{}\"{}/>\n{}</svg>\n",
        attributes, width, height, width, height, escaped(page_.title), styles, clip_paths(), width, height,
        paint("fill", page_.ground), body_);
  }

  /// Writes a length in points of the page, rounded to a hundredth.
  std::string number(float pixels) const {
    const double hundredths = std::round(static_cast<double>(pixels) / page_.pixels * 100);
    return fmt::format("{}", hundredths / 100 + 0.0);  // no negative zero
  }

  static std::string paint(const char* what, ImU32 colour) {
    const unsigned alpha = colour >> IM_COL32_A_SHIFT & 255;
    std::string text = fmt::format(" {}=\"#{:02x}{:02x}{:02x}\"", what, colour >> IM_COL32_R_SHIFT & 255,
                                   colour >> IM_COL32_G_SHIFT & 255, colour >> IM_COL32_B_SHIFT & 255);
    if (alpha < 255) text += fmt::format(" {}-opacity=\"{:.3g}\"", what, alpha / 255.0);
    return text;
  }

  /// Returns the attribute that cuts a mark to its clip rectangle; empty if the mark is inside.
  std::string clip(const TapeMark& mark) {
    if (!mark.clipped) return {};
    const std::string rect = place(mark.clip_min, mark.clip_max);
    const auto [found, added] = clips_.try_emplace(rect, clips_.size());
    return fmt::format(" clip-path=\"url(#{}c{})\"", prefix_, found->second);
  }

  std::string place(ImVec2 min, ImVec2 max) const {
    return fmt::format(" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"", number(min.x), number(min.y),
                       number(max.x - min.x), number(max.y - min.y));
  }

  std::string rounded(float rounding) const {
    return rounding > 0 ? fmt::format(" rx=\"{}\"", number(rounding)) : std::string();
  }

  void add(const TapeMark& mark, const mark::Fill& m) {
    if (m.rounding > 0) {
      body_ +=
          "<rect" + place(m.min, m.max) + rounded(m.rounding) + paint("fill", m.colour) + clip(mark) + "/>\n";
      return;
    }
    // Without rounded corners the rectangle itself can be cut.
    const ImVec2 min(std::max(m.min.x, mark.clip_min.x), std::max(m.min.y, mark.clip_min.y)),
        max(std::min(m.max.x, mark.clip_max.x), std::min(m.max.y, mark.clip_max.y));
    body_ += "<rect" + place(min, max) + paint("fill", m.colour) + "/>\n";
  }

  void add(const TapeMark& mark, const mark::Outline& m) {
    if (std::min(m.max.x - m.min.x, m.max.y - m.min.y) <= m.thickness)  // nothing is inside of the line
      return add(mark, mark::Fill{m.min, m.max, m.colour, 0});
    const float half = m.thickness / 2;
    body_ += "<rect" + place({m.min.x + half, m.min.y + half}, {m.max.x - half, m.max.y - half}) +
             rounded(std::max(0.0f, m.rounding - half)) + " fill=\"none\"" + paint("stroke", m.colour) +
             fmt::format(" stroke-width=\"{}\"", number(m.thickness)) + clip(mark) + "/>\n";
  }

  void add(const TapeMark& mark, const mark::Line& m) {
    body_ += fmt::format("<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\"{} stroke-width=\"{}\"{}/>\n",
                         number(m.from.x), number(m.from.y), number(m.to.x), number(m.to.y),
                         paint("stroke", m.colour), number(m.thickness), clip(mark));
  }

  void add(const TapeMark& mark, const mark::Triangle& m) {
    body_ += fmt::format("<polygon points=\"{},{} {},{} {},{}\"{}{}/>\n", number(m.a.x), number(m.a.y),
                         number(m.b.x), number(m.b.y), number(m.c.x), number(m.c.y), paint("fill", m.colour),
                         clip(mark));
  }

  void add(const TapeMark& mark, const mark::Words& m) {
    const std::vector<TextRun> runs = set_line(fonts_, m);
    std::string spans;
    for (const TextRun& run : runs) {
      for (const TextRun::Glyph& glyph : run.glyphs) used_[run.face].insert(glyph.drawn);
      const std::string attributes =
          fmt::format(" x=\"{}\" y=\"{}\" font-size=\"{}\" textLength=\"{}\"{}", number(run.x),
                      number(run.baseline), number(run.em), number(run.width), family(*run.face));
      spans += fmt::format("<tspan{}>{}</tspan>", attributes, escaped(run.drawn_text()));
    }
    const std::string fill = paint("fill", m.style.colour);
    if (m.upwards)  // the rectangle that clips it is not turned
      body_ +=
          fmt::format("<g{}><text xml:space=\"preserve\" transform=\"rotate(-90 {} {})\"{}>{}</text></g>\n",
                      clip(mark), number(m.at.x), number(m.at.y + m.style.size / 2), fill, spans);
    else
      body_ += fmt::format("<text xml:space=\"preserve\"{}{}>{}</text>\n", fill, clip(mark), spans);
  }

  void add(const TapeMark& mark, const mark::Pixels& m) {
    const std::string where = place(m.min, m.max) + clip(mark);
    const std::string opacity = m.opacity < 1 ? fmt::format(" opacity=\"{:.3g}\"", m.opacity) : std::string();
    if (pictures_ == nullptr) {
      body_ += fmt::format(
          "<image{}{} preserveAspectRatio=\"none\" style=\"image-rendering:pixelated\" "
          "xlink:href=\"data:image/png;base64,{}\"/>\n",
          where, opacity, png_of(*m.image));
      return;
    }
    const size_t id = pictures_->try_emplace(png_of(*m.image), pictures_->size()).first->second;
    body_ += fmt::format("<use href=\"#p{}\"{}{}/>\n", id, where, opacity);
  }

  static std::string family(const FontFace& face) {
    const char* others =
        face.family == "Inconsolata" ? "Consolas, monospace" : "Helvetica, Arial, sans-serif";
    return fmt::format(" font-family=\"{}, {}\"{}{}", face.family, others,
                       face.bold ? " font-weight=\"700\"" : "", face.italic ? " font-style=\"italic\"" : "");
  }

  std::string clip_paths() const {
    std::map<size_t, std::string> ordered;
    for (const auto& [rect, id] : clips_) ordered[id] = rect;
    std::string text;
    for (const auto& [id, rect] : ordered)
      text += fmt::format("<clipPath id=\"{}c{}\"><rect{}/></clipPath>\n", prefix_, id, rect);
    return text;
  }

  const Page& page_;
  const Fonts& fonts_;
  UsedFaces& used_;
  const std::string prefix_;
  std::map<std::string, size_t>* const pictures_;
  std::string body_;
  std::map<std::string, size_t> clips_;
};

}  // namespace

std::string to_svg(const Tape& tape, const Page& page, const Fonts& fonts) {
  UsedFaces used;
  return SvgFile(page, fonts, used).file(tape);
}

struct SvgSheet::Kept {
  UsedFaces used;
  std::map<std::string, size_t> pictures;
  int figures = 0;
};

SvgSheet::SvgSheet(const Fonts& fonts) : fonts_(fonts), kept_(std::make_unique<Kept>()) {}
SvgSheet::~SvgSheet() = default;

std::string SvgSheet::add(const Tape& tape, const Page& page) {
  const std::string prefix = fmt::format("f{}", kept_->figures++);
  return SvgFile(page, fonts_, kept_->used, prefix, &kept_->pictures).element_of_page(tape);
}

void SvgSheet::will_show(ImFont* font, std::string_view text) {
  mark::Words words;
  words.style.font = font;
  words.text = text;
  for (const TextRun& run : set_line(fonts_, words))
    for (const TextRun::Glyph& glyph : run.glyphs) kept_->used[run.face].insert(glyph.drawn);
}

std::string SvgSheet::styles() const {
  return kGlyphByGlyph + font_faces_of(kept_->used);
}

std::string SvgSheet::pictures() const {
  std::map<size_t, const std::string*> ordered;
  for (const auto& [png, id] : kept_->pictures) ordered[id] = &png;
  std::string symbols;
  // A symbol's picture fills whatever rectangle it is used in.
  for (const auto& [id, png] : ordered)
    symbols += fmt::format(
        "<symbol id=\"p{}\" viewBox=\"0 0 1 1\" preserveAspectRatio=\"none\"><image width=\"1\" height=\"1\" "
        "preserveAspectRatio=\"none\" style=\"image-rendering:pixelated\" "
        "href=\"data:image/png;base64,{}\"/></symbol>\n",
        id, *png);
  return fmt::format("<svg width=\"0\" height=\"0\" aria-hidden=\"true\"><defs>\n{}</defs></svg>\n", symbols);
}

}  // namespace shardlens::ui
