// Lists the embedded recordings and writes them as files.
#include "engine/record/gallery.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "engine/base/error.h"
#include "engine/base/suggest.h"
#include "engine/config/assets.h"
#include "engine/io/atomic_file.h"
#include "engine/io/file_problem.h"
#include "engine/io/hash_of_version_1.h"
#include "engine/io/json.h"
#include "engine/io/user_folder.h"
#include "engine/record/gallery_beside.h"

namespace shardlens {
namespace {

namespace fs = std::filesystem;

std::string_view contents_of(const std::string& name) {
  return asset("gallery/" + name + ".shardlens");
}

// A page has a part of the gallery only.
bool is_embedded(const std::string& name) {
  const std::span<const EmbeddedFile> files = embedded_assets();
  return std::any_of(
      files.begin(), files.end(),
      [path = "gallery/" + name + ".shardlens"](const EmbeddedFile& file) { return file.name == path; });
}

std::vector<GalleryPiece> read_gallery() {
  const nlohmann::json json = parse_json(std::string(asset("gallery/gallery.json")), "gallery.json");
  std::vector<GalleryPiece> pieces;
  for (const nlohmann::json& entry : json) {
    ObjectReader reader(entry, "gallery.json");
    GalleryPiece piece{reader.string("name"), reader.string("title"), reader.string("shows"),
                       reader.string("arguments"), 0};
    reader.finish();
    const bool is_inside = is_embedded(piece.name);
    if (is_inside) piece.file_bytes = static_cast<int64_t>(contents_of(piece.name).size());
    if (is_inside || is_beside(piece.name)) pieces.push_back(std::move(piece));
  }
  return pieces;
}

}  // namespace

const std::vector<GalleryPiece>& gallery() {
  static const std::vector<GalleryPiece> pieces = read_gallery();
  return pieces;
}

std::string gallery_folder() {
  const std::string folder = user_folder("XDG_CACHE_HOME", ".cache");
  return (folder.empty() ? private_folder() : fs::path(folder)) / "gallery";
}

std::string gallery_file(const std::string& name, const std::string& folder) {
  const auto piece =
      std::find_if(gallery().begin(), gallery().end(), [&](const auto& one) { return one.name == name; });
  if (piece == gallery().end()) {
    std::vector<std::string> names;
    for (const GalleryPiece& one : gallery()) names.push_back(one.name);
    throw unknown_name("recording of the gallery", name, names);
  }
  if (!is_embedded(name)) {
    fetch_from_beside(name);
    throw request_error(
        fmt::format("{} is on its way from beside this page: it opens when it is here", name));
  }
  const std::string_view bytes = contents_of(name);
  // Each version of a recording has its own folder, so that notes written into an older file stay. The old
  // hash names the folder, so that a recording which an older Shardlens unpacked is found.
  const fs::path path = fs::path(folder) /
                        fmt::format("{:08x}", hash_of_version_1(bytes.data(), bytes.size()) & 0xffffffff) /
                        (name + ".shardlens");
  std::error_code error;
  if (fs::exists(path, error)) return path.string();
  try {
    make_folder(path.parent_path());
    write_file_atomically(path.string(), kOwnFile, std::string(bytes));
  } catch (const Error& problem) {
    throw Error(problem.kind(),
                fmt::format("{}. Set XDG_CACHE_HOME to a folder that can be written to", problem.what()));
  }
  return path.string();
}

std::string recording_path(const std::string& path_or_piece) {
  constexpr std::string_view kPiece = "gallery:";
  if (!path_or_piece.starts_with(kPiece)) return path_or_piece;
  return gallery_file(path_or_piece.substr(kPiece.size()));
}

}  // namespace shardlens
