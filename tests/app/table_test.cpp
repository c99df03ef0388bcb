// The tables that shardlens-cli prints: aligned columns, at most a hundred characters wide.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>
#include <string>

#include "engine/base/utf8.h"
#include "tests/app/process.h"

namespace shardlens {
namespace table_test {

// Where a column begins, it begins in every line.
TEST(CliTables, TheStepsOfAPlanStandUnderEachOther) {
  std::istringstream lines(run_cli("plan --model gpt2 --tp 4 --split reversed").out);
  size_t begins = 0, steps = 0;
  for (std::string line; std::getline(lines, line);) {
    EXPECT_TRUE(line.empty() || line.back() != ' ') << line;
    const size_t at =
        line.find("[global shape]") != std::string::npos ? line.find("output [") : line.find(" h.0.");
    if (at == std::string::npos) continue;
    const size_t column = character_count(line.substr(0, at)) + (line[at] == ' ' ? 1 : 0);
    if (begins == 0) begins = column;
    EXPECT_EQ(column, begins) << line;
    ++steps;
  }
  EXPECT_GE(steps, 15u);
}

// The tables, not the sentences about them: what stands between the title and the first sentence.
TEST(CliTables, TablesFitAHundredColumns) {
  const std::string verify = "verify --batch 2 --seq 16 --threads 1 ";
  for (const std::string& arguments :
       {std::string("plan --model gpt2-tiny --tp 2 --dp 2"),
        std::string("plan --model bert-tiny --tp 2 --split megatron-sp"),
        std::string("plan --model gpt2 --tp 4 --split reversed"),
        std::string("plan --model gpt2 --tp 4 --kv-heads 2"),
        std::string("plan --model megatron-8.3b --tp 8 --dtype fp16 --seq 1024 --recompute full"),
        std::string("plan --tournament --model gpt2-10m --ranks 2 --top 4 --hardware v100-32gb"),
        verify + "--model gpt2-tiny --dp 2", verify + "--model bert-tiny",
        verify + "--model gpt2-tiny --sweep 1,2", verify + "--model gpt2-tiny --break all"}) {
    const Ended ended = run_cli(arguments);
    EXPECT_LE(ended.code, 1) << ended.err;
    const size_t sentences = std::min(ended.out.find("\nCollectives"), ended.out.find("\nSharded equals"));
    std::istringstream lines(ended.out.substr(0, sentences));
    std::string line;
    std::getline(lines, line);  // the title
    int rows = 0;
    for (; std::getline(lines, line); ++rows)
      EXPECT_LE(character_count(line), 100u) << arguments << "\n" << line;
    EXPECT_GT(rows, 5) << arguments;
  }
}

// Its sentences go on below their first words, and lose none.
TEST(CliTables, TheSentencesOfAPlanFitAHundredColumns) {
  for (const std::string& arguments :
       {std::string("plan --model gpt2 --tp 4 --split reversed"),
        std::string("plan --model gpt2 --tp 5 --heads-policy uneven --hardware a100-80gb"),
        std::string("plan --model gpt2 --tp 2 --pp 2 --dtype fp16 --hardware v100-32gb")}) {
    const Ended ended = run_cli(arguments);
    EXPECT_EQ(ended.code, 0) << ended.err;
    std::istringstream lines(ended.out);
    for (std::string line; std::getline(lines, line);)
      EXPECT_LE(character_count(line), 100u) << arguments << "\n" << line;
  }
  const std::string arguments = "plan --model gpt2 --tp 4 --layer ";
  const std::string text =
      std::regex_replace(run_cli(arguments).out, std::regex("\n {13}(?! )"), " ");  // below the first word
  const nlohmann::json plan = nlohmann::json::parse(run_cli(arguments + "--json").out);
  for (const auto& collective : plan["collectives"])
    EXPECT_TRUE(contains(text, " bytes: " + collective["why"].get<std::string>() + "\n")) << text;
}

// Words of a name go, the figures stay.
TEST(CliTables, AShortenedNameKeepsItsFigures) {
  const std::string wide = "--model bert-tiny --tp 2 --split megatron-sp --seq 32 ";
  const nlohmann::json plan = nlohmann::json::parse(run_cli("plan --json " + wide).out);
  const std::string table = run_cli("plan " + wide).out;
  EXPECT_TRUE(contains(table, "….dense.weight")) << table;
  int shown = 0;
  for (const auto& tensor : plan["program"]["tensors"]) {
    const std::string name = tensor["name"];
    if (!contains(name, "grad.bert.encoder.layer.0.") || !name.ends_with(".weight")) continue;
    std::string shape;
    for (const auto& extent : tensor["shape"]) shape += (shape.empty() ? "" : ",") + extent.dump();
    const std::regex row("grad\\.….*\\b0\\..*\\.weight \\[" +
                         std::regex_replace(shape, std::regex(","), ", ?") + "\\]");
    EXPECT_TRUE(std::regex_search(table, row)) << name << " [" << shape << "]\n" << table;
    ++shown;
  }
  EXPECT_GE(shown, 5);
}

}  // namespace table_test
}  // namespace shardlens
