// Hardware presets as JSON: the built-in ones, and what `bench calibrate` stores of this machine. One format,
// so that a calibration can be carried to another machine and priced there.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "engine/config/hardware.h"

namespace shardlens {

inline constexpr const char* kThisMachine = "this-machine";  ///< the preset of the machine at hand

/// Throws a request Error that names the key of `source` that is wrong.
Hardware hardware_from_json(const nlohmann::json& json, const std::string& source);
nlohmann::ordered_json hardware_to_json(const Hardware& hardware);

Hardware read_hardware_file(const std::string& path);
/// This machine as the file `calibration` has it, or as the operating system states it. A file that is
/// damaged or of another machine must not keep a program from starting: it is left out, and `basis` says why.
Hardware this_machine(const std::string& calibration);
/// Atomically; makes the folder it lies in.
void write_hardware_file(const Hardware& hardware, const std::string& path);

/// Makes the folder, and throws what writing there would: before minutes of measuring.
void make_place_for(const std::string& path);

/// From now on that preset is priced as `calibrated`, what it was until now stays valid for who
/// still reads it. Any thread.
void adopt_calibration(const Hardware& calibrated);

/// Where this machine's calibration lies: $XDG_DATA_HOME/shardlens/this-machine.json, or under
/// ~/.local/share; empty when the environment names no home.
std::string calibration_path();

}  // namespace shardlens
