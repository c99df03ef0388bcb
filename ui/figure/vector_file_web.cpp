// A page cannot write figures for paper: cutting fonts and PDF need libraries that it does not have.
#include "engine/base/error.h"
#include "ui/figure/vector_file.h"

namespace shardlens::ui {
namespace {

[[noreturn]] void refuse_figure() {
  throw request_error("a page cannot write SVG and PDF files");
}

}  // namespace

std::string to_svg(const Tape&, const Page&, const Fonts&) {
  refuse_figure();
}

std::string to_pdf(const PdfDocument&, const Fonts&) {
  refuse_figure();
}

std::string to_pdf(const Tape&, const Page&, const Fonts&) {
  refuse_figure();
}

}  // namespace shardlens::ui
