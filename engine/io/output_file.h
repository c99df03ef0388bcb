// What an output may replace, and who may write it. One rule for every file that one of the programs writes:
//
//   * Never an input: not a file that this program has read, by whatever name (engine/io/inputs.h).
//   * Never a file of another kind. A table, a trace, a figure, a handout or a log counts as of the same kind
//     only if this program wrote it, as far as its first and last bytes tell; a picture, a video, tensors and
//     tokens if they have the form. An empty file holds nothing, and anything may replace it.
//   * A file of the same kind is replaced. Only what a run took long to find out is kept, so that a second
//   run
//     does not cost the first: recordings, dumps, logs and checkpoints. --overwrite replaces these too,
//     --no-overwrite keeps everything that exists.
//   * What takes time has one writer: a second one is refused by name (OutputPlace).
//
// AtomicFile applies the rule and cannot be made without a kind, so that no output can forget it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "engine/io/sole_writer.h"

namespace shardlens {

/// What happens to a file of the same kind that exists.
enum class Existing { Replaced, Kept };

/// A kind of file that this program writes. Each writer has one, in its header.
struct OutputKind {
  const char* title;  ///< as in "it is a text, not …": "a table that export wrote"
  /// True if a file with this beginning and this end, of kLookBytes at most, is of the kind.
  bool (*is_one)(std::string_view beginning, std::string_view end);
  Existing habit = Existing::Replaced;  ///< if neither --overwrite nor --no-overwrite was given
  /// The writer reads the file that is there and writes it again with what was added (a log, a calibration, a
  /// lesson). So the file may be an input, and whether it is kept is asked only where a run begins.
  bool is_updated = false;
};

inline constexpr size_t kLookBytes = size_t{1} << 20;

/// Any file that is there may be replaced: for the program's own files, at a place that it chose itself.
inline constexpr OutputKind kOwnFile{"a file of the program's own",
                                     [](std::string_view, std::string_view) { return true; },
                                     Existing::Replaced, true};

/// A picture. Whether this program drew it cannot be told.
inline constexpr OutputKind kPicture{"a picture (PNG)", [](std::string_view beginning, std::string_view) {
                                       return beginning.starts_with("\x89PNG");
                                     }};

/// Sets what --overwrite (Replaced) or --no-overwrite (Kept) asks for all outputs of this process.
void set_existing_outputs(std::optional<Existing> wish);

/// True if a file that exists must be kept: `habit`, unless one of the two options was given.
bool are_existing_kept(Existing habit);

/// Throws a request Error that names the file, what it is and what would work, if an output of this kind may
/// not replace the file at `path`. `goes_on`: the output goes on with the file of an earlier run, so that a
/// file of the kind need not be asked about.
void require_replaceable(const std::string& path, const OutputKind& kind, bool goes_on = false);

/// The place of an output, taken before the work for it begins and held until it is written. While it exists,
/// nobody else can take it.
class OutputPlace {
 public:
  /// Throws a request Error if nothing can be written there, if what is there may not be replaced, or if
  /// another run writes there.
  OutputPlace(const std::string& path, const OutputKind& kind, bool goes_on = false);

 private:
  SoleWriter owner_;
};

/// A folder for several outputs, taken in the same way.
class OutputFolder {
 public:
  enum class Made { Now, Later };  ///< later: by make_folder(), so that a run that is stopped leaves nothing

  /// Makes the folder and the folders around it if they do not exist. Throws a request Error if it cannot, or
  /// if another run writes there.
  explicit OutputFolder(const std::string& path, Made when = Made::Now);

 private:
  SoleWriter owner_;
};

}  // namespace shardlens
