// Writes tapes as PDF with cairo, which embeds the fonts and stores the text of each glyph.
#include <cairo-ft.h>
#include <cairo-pdf.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numbers>

#include "engine/base/error.h"
#include "ui/figure/typesetter.h"
#include "ui/figure/vector_file.h"

namespace shardlens::ui {
namespace {

constexpr double kPointsOfPdf = 0.75;  // 1/72 inch, in 1/96 inch

using Surface = std::unique_ptr<cairo_surface_t, decltype(&cairo_surface_destroy)>;
using Pen = std::unique_ptr<cairo_t, decltype(&cairo_destroy)>;

cairo_status_t append(void* text, const unsigned char* bytes, unsigned length) {
  static_cast<std::string*>(text)->append(reinterpret_cast<const char*>(bytes), length);
  return CAIRO_STATUS_SUCCESS;
}

void choose(cairo_t* pen, ImU32 colour) {
  const ImVec4 c = ImGui::ColorConvertU32ToFloat4(colour);
  cairo_set_source_rgba(pen, c.x, c.y, c.z, c.w);
}

void add_rectangle(cairo_t* pen, ImVec2 min, ImVec2 max, float rounding) {
  const double width = max.x - min.x, height = max.y - min.y;
  const double r = std::min<double>({rounding, width / 2, height / 2});
  if (r <= 0) return cairo_rectangle(pen, min.x, min.y, width, height);
  constexpr double kQuarter = M_PI / 2;
  cairo_new_sub_path(pen);
  cairo_arc(pen, max.x - r, min.y + r, r, -kQuarter, 0);
  cairo_arc(pen, max.x - r, max.y - r, r, 0, kQuarter);
  cairo_arc(pen, min.x + r, max.y - r, r, kQuarter, 2 * kQuarter);
  cairo_arc(pen, min.x + r, min.y + r, r, 2 * kQuarter, 3 * kQuarter);
  cairo_close_path(pen);
}

void draw(cairo_t* pen, const Fonts&, const mark::Fill& m) {
  choose(pen, m.colour);
  add_rectangle(pen, m.min, m.max, m.rounding);
  cairo_fill(pen);
}

void draw(cairo_t* pen, const Fonts&, const mark::Outline& m) {
  const float half = m.thickness / 2;
  choose(pen, m.colour);
  cairo_set_line_width(pen, m.thickness);
  add_rectangle(pen, {m.min.x + half, m.min.y + half}, {m.max.x - half, m.max.y - half}, m.rounding - half);
  cairo_stroke(pen);
}

void draw(cairo_t* pen, const Fonts&, const mark::Line& m) {
  choose(pen, m.colour);
  cairo_set_line_width(pen, m.thickness);
  cairo_move_to(pen, m.from.x, m.from.y);
  cairo_line_to(pen, m.to.x, m.to.y);
  cairo_stroke(pen);
}

void draw(cairo_t* pen, const Fonts&, const mark::Triangle& m) {
  choose(pen, m.colour);
  cairo_move_to(pen, m.a.x, m.a.y);
  cairo_line_to(pen, m.b.x, m.b.y);
  cairo_line_to(pen, m.c.x, m.c.y);
  cairo_fill(pen);
}

void draw(cairo_t* pen, const Fonts& fonts, const mark::Words& m) {
  choose(pen, m.style.colour);
  cairo_save(pen);
  if (m.upwards) {
    const double x = m.at.x, y = m.at.y + m.style.size / 2;
    cairo_translate(pen, x, y);
    cairo_rotate(pen, -std::numbers::pi / 2);
    cairo_translate(pen, -x, -y);
  }
  for (const TextRun& run : set_line(fonts, m)) {
    cairo_font_face_t* face = cairo_ft_font_face_create_for_ft_face(run.shapes, 0);
    cairo_set_font_face(pen, face);
    cairo_font_face_destroy(face);
    cairo_set_font_size(pen, run.em);
    std::string text;
    std::vector<cairo_glyph_t> glyphs;
    std::vector<cairo_text_cluster_t> clusters;
    for (const TextRun::Glyph& glyph : run.glyphs) {
      glyphs.push_back({glyph.index, run.x + glyph.x, run.baseline});
      clusters.push_back({static_cast<int>(glyph.text.size()), 1});
      text += glyph.text;
    }
    cairo_show_text_glyphs(pen, text.data(), static_cast<int>(text.size()), glyphs.data(),
                           static_cast<int>(glyphs.size()), clusters.data(),
                           static_cast<int>(clusters.size()), static_cast<cairo_text_cluster_flags_t>(0));
  }
  cairo_restore(pen);
}

void draw(cairo_t* pen, const Fonts&, const mark::Pixels& m) {
  const Image& image = *m.image;
  const Surface pixels(cairo_image_surface_create(CAIRO_FORMAT_RGB24, image.size.width, image.size.height),
                       &cairo_surface_destroy);
  unsigned char* data = cairo_image_surface_get_data(pixels.get());
  if (data == nullptr) throw run_error("not enough memory for a picture in the PDF");
  const int stride = cairo_image_surface_get_stride(pixels.get());
  for (int y = 0; y < image.size.height; ++y) {
    auto* row = reinterpret_cast<uint32_t*>(data + static_cast<std::ptrdiff_t>(y) * stride);
    for (int x = 0; x < image.size.width; ++x) {
      const uint8_t* pixel = image.pixel(x, y);
      row[x] = static_cast<uint32_t>(pixel[0] << 16 | pixel[1] << 8 | pixel[2]);
    }
  }
  cairo_surface_mark_dirty(pixels.get());
  cairo_translate(pen, m.min.x, m.min.y);
  cairo_scale(pen, (m.max.x - m.min.x) / image.size.width, (m.max.y - m.min.y) / image.size.height);
  cairo_set_source_surface(pen, pixels.get(), 0, 0);
  cairo_pattern_set_filter(cairo_get_source(pen), m.smooth ? CAIRO_FILTER_GOOD : CAIRO_FILTER_NEAREST);
  if (m.opacity < 1) {
    cairo_paint_with_alpha(pen, m.opacity);
  } else {
    cairo_paint(pen);
  }
}

}  // namespace

std::string to_pdf(const PdfDocument& document, const Fonts& fonts) {
  std::string file;
  {
    const Surface surface(cairo_pdf_surface_create_for_stream(&append, &file, 1, 1), &cairo_surface_destroy);
    cairo_pdf_surface_set_metadata(surface.get(), CAIRO_PDF_METADATA_TITLE, document.title.c_str());
    cairo_pdf_surface_set_metadata(surface.get(), CAIRO_PDF_METADATA_CREATOR, "Shardlens");
    cairo_status_t status = CAIRO_STATUS_SUCCESS;
    for (const DrawnPage& one : document.pages) {
      const Page& page = one.page;
      const double scale = kPointsOfPdf / page.pixels;
      cairo_pdf_surface_set_size(surface.get(), page.size.x * scale, page.size.y * scale);
      const Pen pen(cairo_create(surface.get()), &cairo_destroy);
      cairo_scale(pen.get(), scale, scale);
      choose(pen.get(), page.ground);
      cairo_paint(pen.get());
      for (const TapeMark& mark : one.tape.marks()) {
        cairo_save(pen.get());
        if (mark.clipped) {
          add_rectangle(pen.get(), mark.clip_min, mark.clip_max, 0);
          cairo_clip(pen.get());
        }
        std::visit([&](const auto& m) { draw(pen.get(), fonts, m); }, mark.what);
        cairo_restore(pen.get());
      }
      cairo_show_page(pen.get());
      status = std::max(status, cairo_status(pen.get()));
    }
    for (const PdfBookmark& mark : document.bookmarks)
      cairo_pdf_surface_add_outline(surface.get(), CAIRO_PDF_OUTLINE_ROOT, mark.words.c_str(),
                                    fmt::format("page={}", mark.page + 1).c_str(),
                                    CAIRO_PDF_OUTLINE_FLAG_OPEN);
    cairo_surface_finish(surface.get());
    status = std::max(status, cairo_surface_status(surface.get()));
    if (status != CAIRO_STATUS_SUCCESS)
      throw run_error(fmt::format("cannot make the PDF: {}", cairo_status_to_string(status)));
  }
  return file;
}

std::string to_pdf(const Tape& tape, const Page& page, const Fonts& fonts) {
  return to_pdf({page.title, {{tape, page}}, {}}, fonts);
}

}  // namespace shardlens::ui
