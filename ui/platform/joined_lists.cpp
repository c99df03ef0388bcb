// Copies the vertices and indices of every command.
#include "ui/platform/joined_lists.h"

#include <algorithm>

namespace shardlens {
namespace {

// WebGL draws only from the first vertex on: there an index is wide enough for all vertices of a frame.
constexpr bool kIndexTellsAll = sizeof(ImDrawIdx) == 4;

// A command's vertices lie close together, so all between its first and its last are taken.
void add(ImDrawList& joined, const ImDrawList& list, ImDrawCmd command) {
  const ImDrawIdx* const from = list.IdxBuffer.Data + command.IdxOffset;
  const auto [first, last] = std::minmax_element(from, from + command.ElemCount);
  const int base = joined.VtxBuffer.Size, count = static_cast<int>(*last - *first) + 1;
  joined.VtxBuffer.resize(base + count);
  std::copy_n(list.VtxBuffer.Data + command.VtxOffset + *first, count, joined.VtxBuffer.Data + base);
  command.VtxOffset = kIndexTellsAll ? 0 : static_cast<unsigned>(base);
  command.IdxOffset = static_cast<unsigned>(joined.IdxBuffer.Size);
  const int shift = (kIndexTellsAll ? base : 0) - static_cast<int>(*first);
  joined.IdxBuffer.resize(joined.IdxBuffer.Size + static_cast<int>(command.ElemCount));
  std::transform(
      from, from + command.ElemCount, joined.IdxBuffer.Data + command.IdxOffset,
      [shift](ImDrawIdx index) { return static_cast<ImDrawIdx>(static_cast<int>(index) + shift); });
  joined.CmdBuffer.push_back(command);
}

}  // namespace

void join_lists(ImDrawData& data, ImDrawList& joined) {
  joined.CmdBuffer.resize(0);
  joined.VtxBuffer.resize(0);
  joined.IdxBuffer.resize(0);
  for (const ImDrawList* const list : data.CmdLists) {
    for (const ImDrawCmd& command : list->CmdBuffer) {
      if (command.UserCallback != nullptr)
        joined.CmdBuffer.push_back(command);
      else if (command.ElemCount > 0)
        add(joined, *list, command);
    }
  }
  data.CmdLists.resize(0);
  data.CmdLists.push_back(&joined);
  data.TotalVtxCount = joined.VtxBuffer.Size;
  data.TotalIdxCount = joined.IdxBuffer.Size;
}

}  // namespace shardlens
