// Lays out --help and adds --version.
#include "app/command_line/help.h"

#include <cstdio>
#include <memory>
#include <sstream>

#include "engine/base/utf8.h"

namespace shardlens::cli {
namespace {

constexpr size_t kColumns = 100;
constexpr size_t kNameColumns = 30;

class Layout : public CLI::Formatter {
 public:
  Layout() { column_width(kNameColumns); }

  std::string make_option_desc(const CLI::Option* option) const override {
    return broken_into_lines(option->get_description(), kColumns - kNameColumns);
  }

  std::string make_description(const CLI::App* app) const override {
    return broken_into_lines(app->get_description(), kColumns) + "\n";
  }

  // Breaks paragraphs into lines again; examples stay as they are.
  std::string make_footer(const CLI::App* app) const override {
    std::string out, paragraph;
    const auto end_paragraph = [&] {
      if (!paragraph.empty()) out += broken_into_lines(paragraph, kColumns) + '\n';
      paragraph.clear();
    };
    std::istringstream lines(app->get_footer());
    for (std::string line; std::getline(lines, line);) {
      if (line.empty() || line[0] == ' ') {
        end_paragraph();
        out += line + '\n';
      } else {
        paragraph += line + ' ';
      }
    }
    end_paragraph();
    return out;
  }

  // Removes the repeated type from "INT:INT in [1 - 9]".
  std::string make_option_opts(const CLI::Option* option) const override {
    std::string text = CLI::Formatter::make_option_opts(option);
    const size_t colon = text.find(':');
    const size_t in = text.find(" in [");
    if (colon != std::string::npos && in != std::string::npos && colon < in) text.erase(colon, in - colon);
    return text;
  }
};

}  // namespace

std::string broken_into_lines(const std::string& text, size_t columns) {
  std::string out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (!out.empty()) out += '\n';
    std::istringstream words(line);
    size_t used = 0;
    for (std::string word; words >> word;) {
      const size_t length = character_count(word);
      if (used > 0 && used + 1 + length > columns) {
        out += '\n';
        used = 0;
      } else if (used > 0) {
        out += ' ';
        ++used;
      }
      out += word;
      used += length;
    }
  }
  return out;
}

std::string hanging(const std::string& lead, const std::string& text, size_t columns) {
  const size_t indent = character_count(lead);
  std::string lines = broken_into_lines(text, columns - indent);
  for (size_t at = 0; (at = lines.find('\n', at)) != std::string::npos; ++at)
    lines.insert(at + 1, indent, ' ');
  return lead + lines;
}

void lay_out_help(CLI::App& app) {
  app.formatter(std::make_shared<Layout>());
}

void add_version(CLI::App& app) {
  app.set_version_flag("--version", app.get_name() + " " SHARDLENS_VERSION);
}

int print_help(const CLI::App& app, const CLI::ParseError& asked) {
  std::ostringstream help;
  const int code = app.exit(asked, help, help);
  std::fputs(help.str().c_str(), stdout);
  return code;
}

}  // namespace shardlens::cli
