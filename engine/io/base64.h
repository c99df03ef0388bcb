// Bytes as text, for files that hold only text: base64 (RFC 4648).
#pragma once

#include <string>
#include <string_view>

namespace shardlens {

std::string base64(std::string_view bytes);

}  // namespace shardlens
