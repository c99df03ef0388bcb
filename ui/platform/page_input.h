// What a page of the web has brought for the studio, before a frame takes it.
#pragma once

namespace shardlens {

/// True if there is input that no frame has taken yet: mouse, keys, fingers, files, or another size.
bool page_has_input();

}  // namespace shardlens
