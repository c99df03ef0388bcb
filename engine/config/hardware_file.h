// Hardware presets as JSON: the built-in ones, and the one that `bench calibrate` stores for this machine.
// They have one format, so a calibration file can be copied to another machine and used for prices there.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "engine/config/hardware.h"
#include "engine/io/output_file.h"

namespace shardlens {

inline constexpr const char* kThisMachine = "this-machine";  ///< the preset of this machine

/// Throws a request Error that names the wrong key of `source`.
Hardware hardware_from_json(const nlohmann::json& json, const std::string& source);
nlohmann::ordered_json hardware_to_json(const Hardware& hardware);

Hardware read_hardware_file(const std::string& path);
/// Returns this machine from the file `calibration`, or as the operating system describes it. A file that is
/// damaged or comes from another machine must not keep a program from starting: it is ignored, and `basis`
/// says why.
Hardware this_machine(const std::string& calibration);
/// What write_hardware_file() writes at `path`. At calibration_path() it replaces any file: a calibration
/// that cannot be read counts as missing.
OutputKind hardware_output(const std::string& path);
/// Writes atomically; makes the folder if it does not exist.
void write_hardware_file(const Hardware& hardware, const std::string& path);

/// From now on this machine's preset is priced as `calibrated`. References to the old preset stay valid. May
/// be called from any thread.
void adopt_calibration(const Hardware& calibrated);

/// Returns the path of this machine's calibration: $XDG_DATA_HOME/shardlens/this-machine.json, or under
/// ~/.local/share. Empty if the environment names no home.
std::string calibration_path();

}  // namespace shardlens
