// As generated for a plug-in whose headers are others than the program's.
namespace shardlens {
inline constexpr const char* kPluginInterface = "shardlens 0.1.0, interface 000000000000";
}  // namespace shardlens
