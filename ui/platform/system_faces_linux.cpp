// Asks fontconfig for all fonts, best first, and maps the files of those that are used into memory.
#include "ui/platform/system_faces.h"

#include <fcntl.h>
#include <fontconfig/fontconfig.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace shardlens {
namespace {

using Pattern = std::unique_ptr<FcPattern, decltype(&FcPatternDestroy)>;
using FontSet = std::unique_ptr<FcFontSet, decltype(&FcFontSetDestroy)>;

/// A font of the system. Its file is opened when it is first used.
struct Listed {
  const FcCharSet* characters = nullptr;  ///< belongs to the list
  std::string file, family;
  int index = 0;
  bool opened = false;
  std::optional<FontFace> face = {};  ///< none: the file cannot be read
};

/// Maps a file into memory until the program ends; empty if that is not possible.
std::string_view mapped(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return {};
  struct stat facts {};
  const bool has_bytes = fstat(file, &facts) == 0 && facts.st_size > 0;
  const auto bytes = has_bytes ? static_cast<size_t>(facts.st_size) : 0;
  void* const data = has_bytes ? mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, file, 0) : MAP_FAILED;
  close(file);
  if (data == MAP_FAILED) return {};
  return {static_cast<const char*>(data), bytes};
}

/// The system's fonts, those of its plain text first; only fonts that add characters to those before them.
class SystemFonts {
 public:
  SystemFonts() {
    const Pattern wish(FcNameParse(reinterpret_cast<const FcChar8*>("sans-serif")), &FcPatternDestroy);
    if (!wish) return;
    FcConfigSubstitute(nullptr, wish.get(), FcMatchPattern);
    FcDefaultSubstitute(wish.get());
    FcResult result = FcResultNoMatch;
    sorted_.reset(FcFontSort(nullptr, wish.get(), FcTrue, nullptr, &result));
    for (int i = 0; sorted_ && i < sorted_->nfont; ++i) add(*sorted_->fonts[i]);
  }

  const FontFace* find(char32_t character) {
    for (Listed& font : fonts_) {
      if (FcCharSetHasChar(font.characters, character) == FcFalse) continue;
      if (!std::exchange(font.opened, true))
        if (const std::string_view data = mapped(font.file); !data.empty())
          font.face = FontFace{font.file, font.family, false, false, data, font.index};
      if (font.face) return &*font.face;
    }
    return nullptr;
  }

 private:
  void add(const FcPattern& font) {
    FcCharSet* characters = nullptr;
    FcChar8 *file = nullptr, *family = nullptr;
    int index = 0;
    if (FcPatternGetCharSet(&font, FC_CHARSET, 0, &characters) != FcResultMatch ||
        FcPatternGetString(&font, FC_FILE, 0, &file) != FcResultMatch ||
        FcPatternGetString(&font, FC_FAMILY, 0, &family) != FcResultMatch)
      return;
    FcPatternGetInteger(&font, FC_INDEX, 0, &index);
    fonts_.push_back({characters, reinterpret_cast<const char*>(file), reinterpret_cast<const char*>(family),
                      index & 0xFFFF});
  }

  FontSet sorted_{nullptr, &FcFontSetDestroy};
  std::deque<Listed> fonts_;  // faces refer to their texts
};

}  // namespace

const FontFace* system_face_for(char32_t character) {
  static SystemFonts* const fonts = new SystemFonts;  // its faces are valid until the program ends
  return fonts->find(character);
}

}  // namespace shardlens
