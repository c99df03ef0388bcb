// Reads the text as strictly as Dear ImGui writes it.
#include "ui/frame/layout_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "engine/base/error.h"

namespace shardlens::ui {
namespace {

constexpr size_t kMostBytes = 256 << 10;
constexpr size_t kMostNodes = 256;
constexpr int kMostDepth = 32;
constexpr int kMostPixels = 32767;  ///< Dear ImGui keeps places and sizes in 16 bits

/// What is left of a line.
class LineReader {
 public:
  explicit LineReader(std::string_view line) : rest_(line) {}

  bool is_at_end() const { return rest_.empty(); }
  void skip_blanks() {
    while (!rest_.empty() && rest_.front() == ' ') rest_.remove_prefix(1);
  }
  bool take(std::string_view word) {
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }
  std::optional<int> number(int least, int most) {
    const std::optional<int> value = parse<int>(10);
    return value && *value >= least && *value <= most ? value : std::nullopt;
  }
  /// "0x0000001A"
  std::optional<uint32_t> id() { return take("0x") ? parse<uint32_t>(16) : std::nullopt; }
  bool pair(int least, int most) { return number(least, most) && take(",") && number(least, most); }

 private:
  template <class T>
  std::optional<T> parse(int base) {
    T value{};
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value, base);
    if (error != std::errc()) return {};
    rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
    return value;
  }

  std::string_view rest_;
};

struct Node {
  uint32_t parent = 0;
  int depth = 0, children = 0, line = 0;
  bool splits = false, is_space = false;
  int central = 0;  ///< of a root: the central nodes in its tree
};

struct DockedWindow {
  std::string name;
  uint32_t node = 0;
  int line = 0;
};

class Checker {
 public:
  void read(std::string_view text) {
    while (!text.empty()) {
      ++line_;
      const size_t end = std::min(text.find('\n'), text.size());
      const std::string_view line = text.substr(0, end);
      text.remove_prefix(std::min(end + 1, text.size()));
      if (line.find('\0') != line.npos || line.find('\r') != line.npos) fail("a byte that no layout has");
      if (!line.empty()) read_line(line);
    }
  }

  void check_tree() {
    for (const auto& [id, node] : nodes_) {
      line_ = node.line;
      if (node.splits && node.children != 2)
        fail(fmt::format("dock node 0x{:08X} is split and has {} of its two parts", id, node.children));
      if (!node.splits && node.children > 0)
        fail(fmt::format("dock node 0x{:08X} has parts and is not split", id));
      if (node.parent == 0 && node.central != (node.is_space ? 1 : 0))
        fail(fmt::format("the tree of dock node 0x{:08X} has {} central nodes", id, node.central));
    }
    for (const DockedWindow& window : docked_) {
      line_ = window.line;
      const auto found = nodes_.find(window.node);
      if (found == nodes_.end())
        fail(fmt::format("window {} is docked in node 0x{:08X}, which is missing", window.name, window.node));
      if (found->second.splits)
        fail(fmt::format("window {} is docked in node 0x{:08X}, which is split", window.name, window.node));
    }
  }

 private:
  enum class Section { None, Window, Docking };

  [[noreturn]] void fail(const std::string& what) const {
    throw request_error(fmt::format("line {} of the layout: {}", line_, what));
  }
  [[noreturn]] void fail_to_read(std::string_view line) const {
    fail(fmt::format("cannot read \"{}\"", line.substr(0, 60)));
  }

  void read_line(std::string_view line) {
    if (line.front() == '[') return read_heading(line);
    if (section_ == Section::Window) return read_window(line);
    if (section_ == Section::Docking) return read_node(line);
    fail_to_read(line);
  }

  void read_heading(std::string_view line) {
    constexpr std::string_view kWindow = "[Window][";
    if (line == "[Docking][Data]") {
      section_ = Section::Docking;
    } else if (line.starts_with(kWindow) && line.ends_with(']') && line.size() > kWindow.size() + 1) {
      section_ = Section::Window;
      window_ = line.substr(kWindow.size(), line.size() - kWindow.size() - 1);
    } else {
      fail_to_read(line);
    }
  }

  void read_window(std::string_view line) {
    LineReader words(line);
    bool right = false;
    if (words.take("Pos=")) {
      right = words.pair(-kMostPixels, kMostPixels);
    } else if (words.take("Size=")) {
      right = words.pair(0, kMostPixels);
    } else if (words.take("Collapsed=") || words.take("IsChild=")) {
      right = words.number(0, 1).has_value();
    } else if (words.take("LastUsed=")) {
      right = words.number(0, 99'999'999).has_value();
    } else if (words.take("ClassId=")) {
      right = words.id().has_value();
    } else if (words.take("DockId=")) {
      const std::optional<uint32_t> node = words.id();
      right = node && (words.is_at_end() || (words.take(",") && words.number(-1, kMostPixels)));
      if (right) docked_.push_back({window_, *node, line_});
    }
    if (!right || !words.is_at_end()) fail_to_read(line);
  }

  void read_node(std::string_view line) {
    LineReader words(line);
    words.skip_blanks();
    Node node{.line = line_};
    node.is_space = words.take("DockSpace");
    if (!node.is_space && !words.take("DockNode")) fail_to_read(line);
    words.skip_blanks();
    const std::optional<uint32_t> id = words.take("ID=") ? words.id() : std::nullopt;
    if (!id || *id == 0) fail_to_read(line);
    if (nodes_.contains(*id)) fail(fmt::format("a second dock node 0x{:08X}", *id));
    if (nodes_.size() == kMostNodes) fail(fmt::format("more than {} dock nodes", kMostNodes));
    read_place(words, line, node);
    if (words.take(" Split=")) {
      node.splits = words.take("X") || words.take("Y");
      if (!node.splits) fail_to_read(line);
    }
    bool is_central = false;
    for (const std::string_view flag : {" NoResize=1", " CentralNode=1", " NoTabBar=1", " HiddenTabBar=1",
                                        " NoWindowMenuButton=1", " NoCloseButton=1"})
      if (words.take(flag)) is_central = is_central || flag == " CentralNode=1";
    if (words.take(" Selected=") && !words.id()) fail_to_read(line);
    if (!words.is_at_end()) fail_to_read(line);
    if (is_central && node.splits) fail(fmt::format("the central dock node 0x{:08X} is split", *id));
    if (is_central) ++(node.parent == 0 ? node : nodes_.at(root_of(node.parent))).central;
    nodes_.emplace(*id, node);
  }

  /// The part of a line that says where a node is: below its parent, or of its own.
  void read_place(LineReader& words, std::string_view line, Node& node) {
    if (words.take(" Parent=")) {
      const std::optional<uint32_t> parent = words.id();
      if (!parent || node.is_space) fail_to_read(line);
      const auto found = nodes_.find(*parent);
      if (found == nodes_.end())
        fail(fmt::format("dock node 0x{:08X}, which this one is part of, is not above it", *parent));
      node.parent = *parent;
      node.depth = found->second.depth + 1;
      if (node.depth > kMostDepth) fail("the dock nodes are nested too deeply");
      if (++found->second.children > 2) fail(fmt::format("a third part of dock node 0x{:08X}", *parent));
      if (!words.take(" SizeRef=") || !words.pair(0, kMostPixels)) fail_to_read(line);
      return;
    }
    if (words.take(" Window=") && !words.id()) fail_to_read(line);
    if (!words.take(" Pos=") || !words.pair(-kMostPixels, kMostPixels)) fail_to_read(line);
    if (!words.take(" Size=") || !words.pair(0, kMostPixels)) fail_to_read(line);
  }

  uint32_t root_of(uint32_t id) const {
    while (nodes_.at(id).parent != 0) id = nodes_.at(id).parent;
    return id;
  }

  int line_ = 0;
  Section section_ = Section::None;
  std::string window_;  ///< of the present section
  std::map<uint32_t, Node> nodes_;
  std::vector<DockedWindow> docked_;
};

}  // namespace

void check_layout(const std::string& text) {
  if (text.size() > kMostBytes)
    throw request_error(fmt::format("the layout has {} bytes, more than {}", text.size(), kMostBytes));
  Checker checker;
  checker.read(text);
  checker.check_tree();
}

}  // namespace shardlens::ui
