// Writes a preset as JSON and reads it back.
#include "engine/config/hardware_file.h"

#include <fmt/format.h>

#include <filesystem>

#include "engine/base/error.h"
#include "engine/base/shown.h"
#include "engine/io/atomic_file.h"
#include "engine/io/file_problem.h"
#include "engine/io/json.h"
#include "engine/io/json_text.h"
#include "engine/io/user_folder.h"

namespace shardlens {
namespace {

// Limits far beyond any machine. Within them every price stays a finite number.
constexpr double kHighestRate = 1e30, kLongestLatency = 3600;

void check_rate(const std::string& where, const char* key, double rate) {
  if (rate == 0 || (rate >= 1 && rate <= kHighestRate)) return;
  throw request_error(
      fmt::format("{}: \"{}\" = {} is not possible. Give from 1 to {} a second, or 0 if it is not known.",
                  where, key, rate, kHighestRate));
}

void check_latency(const std::string& where, const char* key, double seconds) {
  if (seconds >= 0 && seconds <= kLongestLatency) return;
  throw request_error(fmt::format("{}: \"{}\" = {} is not possible. Give from 0 to {} seconds.", where, key,
                                  seconds, kLongestLatency));
}

void read_rates(const nlohmann::json& json, const std::string& source, Hardware& hardware) {
  for (const nlohmann::json& entry : json) {
    ObjectReader reader(entry, source + ", \"rates\"");
    RateKey key{reader.string("op"), reader.word("dtype", parse_dtype), reader.small_integer("ranks")};
    const RatePoint point{reader.number("work"), reader.number("per_second")};
    reader.finish();
    if (!(point.work > 0 && point.per_second > 0))
      throw request_error(source + ": a rate of " + shown(key.op) + " must be above 0, and so must its work");
    std::vector<RatePoint>& points = hardware.rates[std::move(key)];
    if (!points.empty() && points.back().work >= point.work)
      throw request_error(source + ": rates of one kind of step must be sorted by ascending work");
    points.push_back(point);
  }
}

void read_links(const nlohmann::json& json, const std::string& source, Hardware& hardware) {
  for (const nlohmann::json& entry : json) {
    ObjectReader reader(entry, source + ", \"links\"");
    const std::string collective = reader.string("collective");
    const int ranks = reader.small_integer("ranks");
    const LinkRate link{reader.number("latency_seconds"), reader.number("bytes_per_second")};
    reader.finish();
    check_latency(reader.where(), "latency_seconds", link.latency_seconds);
    check_rate(reader.where(), "bytes_per_second", link.bytes_per_second);
    hardware.links[{collective, ranks}] = link;
  }
}

}  // namespace

Hardware hardware_from_json(const nlohmann::json& json, const std::string& source) {
  ObjectReader reader(json, source);
  Hardware hardware;
  hardware.name = reader.string("name");
  hardware.title = reader.string("title");
  hardware.basis = reader.string("basis");
  hardware.memory_bytes = reader.integer("memory_bytes");
  hardware.ranks_per_node = reader.small_integer("ranks_per_node");
  hardware.nodes = reader.has("nodes") ? reader.small_integer("nodes") : 0;
  hardware.fp16_flops = reader.number_or("fp16_flops", 0);
  hardware.bf16_flops = reader.number_or("bf16_flops", 0);
  hardware.fp32_flops = reader.number_or("fp32_flops", 0);
  hardware.fp64_flops = reader.number_or("fp64_flops", 0);
  hardware.memory_bytes_per_second = reader.number("memory_bytes_per_second");
  hardware.link_latency_seconds = reader.number_or("link_latency_seconds", 0);
  hardware.link_bytes_per_second = reader.number_or("link_bytes_per_second", 0);
  hardware.node_latency_seconds = reader.number_or("node_latency_seconds", 0);
  hardware.node_bytes_per_second = reader.number_or("node_bytes_per_second", 0);
  for (const auto& [figure, from] : reader.child("sources").items()) {
    if (!from.is_string())
      throw request_error(source + ": the source of " + shown(figure) + " must be a text");
    hardware.sources.emplace_back(figure, from.get<std::string>());
  }
  if (reader.has("rates")) read_rates(reader.child("rates"), source, hardware);
  if (reader.has("links")) read_links(reader.child("links"), source, hardware);
  reader.finish();
  if (hardware.memory_bytes < 1 || hardware.ranks_per_node < 1 || hardware.nodes < 0)
    throw request_error(source + ": memory_bytes and ranks_per_node must be 1 or more, nodes 0 or more");
  for (const auto& [key, rate] : {std::pair{"fp16_flops", hardware.fp16_flops},
                                  {"bf16_flops", hardware.bf16_flops},
                                  {"fp32_flops", hardware.fp32_flops},
                                  {"fp64_flops", hardware.fp64_flops},
                                  {"memory_bytes_per_second", hardware.memory_bytes_per_second},
                                  {"link_bytes_per_second", hardware.link_bytes_per_second},
                                  {"node_bytes_per_second", hardware.node_bytes_per_second}})
    check_rate(source, key, rate);
  check_latency(source, "link_latency_seconds", hardware.link_latency_seconds);
  check_latency(source, "node_latency_seconds", hardware.node_latency_seconds);
  return hardware;
}

nlohmann::ordered_json hardware_to_json(const Hardware& hardware) {
  nlohmann::ordered_json json = {{"name", hardware.name},
                                 {"title", hardware.title},
                                 {"basis", hardware.basis},
                                 {"memory_bytes", hardware.memory_bytes},
                                 {"ranks_per_node", hardware.ranks_per_node},
                                 {"nodes", hardware.nodes},
                                 {"fp16_flops", hardware.fp16_flops},
                                 {"bf16_flops", hardware.bf16_flops},
                                 {"fp32_flops", hardware.fp32_flops},
                                 {"fp64_flops", hardware.fp64_flops},
                                 {"memory_bytes_per_second", hardware.memory_bytes_per_second},
                                 {"link_latency_seconds", hardware.link_latency_seconds},
                                 {"link_bytes_per_second", hardware.link_bytes_per_second},
                                 {"node_latency_seconds", hardware.node_latency_seconds},
                                 {"node_bytes_per_second", hardware.node_bytes_per_second},
                                 {"sources", nlohmann::ordered_json::object()}};
  for (const auto& [figure, source] : hardware.sources) json["sources"][figure] = source;
  if (!hardware.rates.empty()) json["rates"] = nlohmann::ordered_json::array();
  for (const auto& [key, points] : hardware.rates) {
    for (const RatePoint& point : points) {
      json["rates"].push_back({{"op", key.op},
                               {"dtype", to_string(key.dtype)},
                               {"ranks", key.ranks},
                               {"work", point.work},
                               {"per_second", point.per_second}});
    }
  }
  if (!hardware.links.empty()) json["links"] = nlohmann::ordered_json::array();
  for (const auto& [key, link] : hardware.links) {
    json["links"].push_back({{"collective", key.first},
                             {"ranks", key.second},
                             {"latency_seconds", link.latency_seconds},
                             {"bytes_per_second", link.bytes_per_second}});
  }
  return json;
}

Hardware read_hardware_file(const std::string& path) {
  return hardware_from_json(read_json_file(path), path);
}

OutputKind hardware_output(const std::string& path) {
  if (path == calibration_path()) return kOwnFile;
  // Its owner may have written it by hand: "figures of other dtypes in the file stay".
  const auto is_hardware = [](std::string_view beginning, std::string_view) {
    try {
      hardware_from_json(nlohmann::json::parse(beginning), "");
      return true;
    } catch (const std::exception&) {
      return false;
    }
  };
  return {"a description of hardware that calibrate wrote", is_hardware, Existing::Replaced, true};
}

void write_hardware_file(const Hardware& hardware, const std::string& path) {
  make_folder(std::filesystem::path(path).parent_path());
  write_file_atomically(path, hardware_output(path), json_text(hardware_to_json(hardware), 2) + "\n");
}

std::string calibration_path() {
  const std::string folder = user_folder("XDG_DATA_HOME", ".local/share");
  return folder.empty() ? folder : fmt::format("{}/{}.json", folder, kThisMachine);
}

}  // namespace shardlens
