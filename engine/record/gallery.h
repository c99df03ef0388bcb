// Recordings that are embedded in the program, so that a new machine has something to replay. They are real
// runs, each short and about one topic. assets/gallery/gallery.json describes them, and
// assets/gallery/make.sh makes them.
#pragma once

#include <string>
#include <vector>

namespace shardlens {

struct GalleryPiece {
  std::string name;        ///< "late-rank"
  std::string title;       ///< "One rank is late"
  std::string shows;       ///< what it is and what to look for
  std::string arguments;   ///< the arguments of shardlens-cli for this run, without --record
  int64_t file_bytes = 0;  ///< 0: it lies beside the page (gallery_beside.h)
};

/// The recordings of the gallery, in the order in which they are shown. Throws an Error if the assets are
/// damaged.
const std::vector<GalleryPiece>& gallery();

/// The folder of the gallery's files: under $XDG_CACHE_HOME/shardlens, otherwise under ~/.cache, otherwise
/// under private_folder(), and throws what that throws.
std::string gallery_folder();

/// The path of a recording's file, which can be opened and can hold notes. Writes the file into `folder` if
/// it does not exist yet. Throws a request Error that names the recording and lists the existing ones, or
/// that names the folder that cannot be written, or that says that it is on its way.
std::string gallery_file(const std::string& name, const std::string& folder = gallery_folder());

/// Returns the file for "gallery:NAME". Any other text is a path and is returned unchanged.
std::string recording_path(const std::string& path_or_piece);

}  // namespace shardlens
