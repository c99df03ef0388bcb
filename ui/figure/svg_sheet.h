// Figures in one page of the web. Fonts and pictures of all of them stand in the page once, so a tensor that
// eight figures show costs no more than one.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "ui/figure/vector_file.h"

namespace shardlens::ui {

class SvgSheet {
 public:
  explicit SvgSheet(const Fonts& fonts);
  ~SvgSheet();
  SvgSheet(const SvgSheet&) = delete;
  SvgSheet& operator=(const SvgSheet&) = delete;

  /// The figure as an <svg> element.
  std::string add(const Tape& tape, const Page& page);
  /// The page shows this text too, in a font of the studio.
  void will_show(ImFont* font, std::string_view text);

  /// After all figures: the page's rules of CSS for the fonts, with the used characters.
  std::string styles() const;
  /// After all figures: an <svg> element without size, with the pictures that the figures refer to.
  std::string pictures() const;

 private:
  struct Kept;
  const Fonts& fonts_;
  std::unique_ptr<Kept> kept_;
};

}  // namespace shardlens::ui
