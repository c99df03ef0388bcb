// Writes a tape as SVG 1.1 by hand, because cairo's SVG would turn text into outlines. HarfBuzz reduces the
// fonts to the used characters. Every run of text has its width, so it keeps its place if another font must
// replace it.
#include <fmt/format.h>
#include <hb-subset.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <set>
#include <string_view>

#include "engine/base/error.h"
#include "ui/figure/typesetter.h"
#include "ui/figure/vector_file.h"

namespace shardlens::ui {
namespace {

std::string base64(std::string_view bytes) {
  static constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t three = 0;
    for (size_t k = 0; k < 3; ++k)
      three = three << 8 | (i + k < bytes.size() ? static_cast<uint8_t>(bytes[i + k]) : 0);
    for (size_t k = 0; k < 4; ++k) text += i + k <= bytes.size() ? kDigits[three >> (18 - 6 * k) & 63] : '=';
  }
  return text;
}

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      default:
        if (static_cast<unsigned char>(c) >= 0x20) result += c;  // control characters are not allowed in XML
    }
  }
  return result;
}

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

class SvgFile {
 public:
  SvgFile(const Page& page, const Fonts& fonts) : page_(page), fonts_(fonts) {}

  std::string write(const Tape& tape) {
    for (const TapeMark& mark : tape.marks()) std::visit([&](const auto& m) { add(mark, m); }, mark.what);
    const std::string width = number(page_.size.x), height = number(page_.size.y);
    return fmt::format(
               "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
               "<svg xmlns=\"http://www.w3.org/2000/svg\" xmlns:xlink=\"http://www.w3.org/1999/xlink\" "
               "version=\"1.1\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\">\n<title>{2}</title>\n",
               width, height, escaped(page_.title)) +
           definitions() +
           fmt::format("<rect width=\"{}\" height=\"{}\"{}/>\n", width, height, paint("fill", page_.ground)) +
           body_ + "</svg>\n";
  }

 private:
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
    return fmt::format(" clip-path=\"url(#c{})\"", found->second);
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
    body_ += fmt::format("<text xml:space=\"preserve\"{}{}>{}</text>\n", paint("fill", m.style.colour),
                         clip(mark), spans);
  }

  void add(const TapeMark& mark, const mark::Pixels& m) {
    const std::vector<uint8_t> png = encode_png(*m.image);
    body_ += fmt::format(
        "<image{} preserveAspectRatio=\"none\" style=\"image-rendering:pixelated\"{}{} "
        "xlink:href=\"data:image/png;base64,{}\"/>\n",
        place(m.min, m.max), m.opacity < 1 ? fmt::format(" opacity=\"{:.3g}\"", m.opacity) : std::string(),
        clip(mark), base64({reinterpret_cast<const char*>(png.data()), png.size()}));
  }

  static std::string family(const FontFace& face) {
    const char* others =
        face.family == "Inconsolata" ? "Consolas, monospace" : "Helvetica, Arial, sans-serif";
    return fmt::format(" font-family=\"{}, {}\"{}{}", face.family, others,
                       face.bold ? " font-weight=\"700\"" : "", face.italic ? " font-style=\"italic\"" : "");
  }

  std::string definitions() const {
    // As on the screen, glyphs are placed one by one: no kerning, no ligatures.
    std::string text = "<defs>\n<style>\ntext{font-kerning:none;font-variant-ligatures:none}\n";
    for (const auto& [face, characters] : used_)
      text += fmt::format(
          "@font-face{{font-family:{};font-weight:{};font-style:{};src:url(data:font/ttf;base64,{})}}\n",
          face->family, face->bold ? 700 : 400, face->italic ? "italic" : "normal",
          base64(cut_down(*face, characters)));
    text += "</style>\n";
    std::map<size_t, std::string> ordered;
    for (const auto& [rect, id] : clips_) ordered[id] = rect;
    for (const auto& [id, rect] : ordered)
      text += fmt::format("<clipPath id=\"c{}\"><rect{}/></clipPath>\n", id, rect);
    return text + "</defs>\n";
  }

  struct ByFile {
    bool operator()(const FontFace* a, const FontFace* b) const {
      return std::pair(a->file, a->index) < std::pair(b->file, b->index);
    }
  };

  const Page& page_;
  const Fonts& fonts_;
  std::string body_;
  std::map<const FontFace*, std::set<char32_t>, ByFile> used_;
  std::map<std::string, size_t> clips_;
};

}  // namespace

std::string to_svg(const Tape& tape, const Page& page, const Fonts& fonts) {
  return SvgFile(page, fonts).write(tape);
}

}  // namespace shardlens::ui
