// Replaces the generated file, for a plug-in whose headers differ from the program's.
namespace shardlens {
inline constexpr const char* kPluginInterface = "shardlens 0.1.0, interface 000000000000";
}  // namespace shardlens
