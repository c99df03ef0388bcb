// Recordings that travel inside the program: real runs, each short and about one thing, so that there is
// something to replay on a machine that has just been set up. assets/gallery/gallery.json says what they
// are, assets/gallery/make.sh makes them.
#pragma once

#include <string>
#include <vector>

namespace shardlens {

struct GalleryPiece {
  std::string name;       ///< "late-rank"
  std::string title;      ///< "One rank is late"
  std::string shows;      ///< what it is and what to look for
  std::string arguments;  ///< of shardlens-cli, without --record: the run it was
  int64_t file_bytes = 0;
};

/// In the order they are shown. Throws an Error when the assets are damaged.
const std::vector<GalleryPiece>& gallery();

/// Where a piece's file is kept: $XDG_CACHE_HOME/shardlens, or under ~/.cache, or else in the temporary
/// folder.
std::string gallery_folder();

/// The piece as a file that can be opened and written notes into: laid into `folder` where it is not there
/// yet. Throws a request Error that names the piece and those there are, or the folder that cannot be
/// written.
std::string gallery_file(const std::string& name, const std::string& folder = gallery_folder());

/// The file that "gallery:NAME" stands for; any other text is a path, and is returned as it is.
std::string recording_path(const std::string& path_or_piece);

}  // namespace shardlens
