// Formats numbers for people: three significant digits and a unit. Every number on the screen comes from
// here, or from engine/base/units.h if the command line prints it too, so the same number looks the same
// everywhere.
#pragma once

#include <cstdint>
#include <string>

#include "engine/base/units.h"

namespace shardlens::ui {

/// "840 ns", "12.3 µs", "1.10 ms", "2.50 s".
std::string format_seconds(double seconds);
/// The same for a tick of an axis, without zeros at the end: "5 ms", "12.5 ms", "0".
std::string format_tick(double seconds);
/// Floating-point operations per second: "1.44 TFLOP/s".
std::string format_flops(double flops_per_second);
/// An amount of floating-point operations: "4.83 GFLOP".
std::string format_flop_count(double flops);
/// Counts in decimal units: "768", "50.3 k", "8.30 B" (billion), "1.01 T" (trillion).
std::string format_count(double count);
/// Bytes per second in decimal units, as in data sheets of links: "12.4 GB/s".
std::string format_bandwidth(double bytes_per_second);
/// A value of a tensor: "0.317", "-1.41", "2.1e-7", "0".
std::string format_value(double value);
/// An error or a bound in two digits: "2.1e-7"; exactly zero is "0".
std::string format_error(double error);
/// The error of a tensor that may be wrong: "1.8", "0.033", "2.1e-7"; "not zero" if its right value is zero.
std::string relative_error_text(double error);
/// A step or a pass and the range of all: "4 (0–37)". Steps and passes count from 0 on the screen, on the
/// command line and in files; the steps of a training count from 1 everywhere.
std::string number_of(int64_t number, size_t count);
/// A share in [0, 1] as a percentage: "82 %", "0.4 %".
std::string format_percent(double share);

}  // namespace shardlens::ui
