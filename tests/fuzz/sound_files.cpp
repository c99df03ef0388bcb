// Takes and makes sound files.
#include "tests/fuzz/sound_files.h"

#include <fmt/format.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "engine/config/assets.h"
#include "engine/config/hardware.h"
#include "engine/config/hardware_file.h"
#include "engine/config/model_config.h"
#include "engine/config/presets.h"
#include "engine/config/settings_json.h"
#include "engine/io/safetensors.h"
#include "engine/runtime/checksum.h"
#include "engine/train/data/corpus.h"
#include "engine/train/tokenizer/sentencepiece_training.h"
#include "tests/data_folder.h"
#include "tests/fuzz/readers.h"

namespace shardlens::fuzz {
namespace {

namespace fs = std::filesystem;

std::string bytes_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("there is no " + path.string());
  return {std::istreambuf_iterator<char>(file), {}};
}

fs::path data(const std::string& name) {
  return fs::path(test_data_folder()) / name;
}

FileKind kind_of(const fs::path& path) {
  const std::string end = path.extension().string();
  return end == ".json"          ? FileKind::Json
         : end == ".safetensors" ? FileKind::Safetensors
         : end == ".txt"         ? FileKind::Lines
         : end == ".model"       ? FileKind::Protobuf
                                 : FileKind::Bytes;
}

// All files of a folder and below.
SoundFiles files_of(const fs::path& folder) {
  SoundFiles files;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file())
      files.push_back(
          {fs::relative(entry.path(), folder).string(), kind_of(entry.path()), bytes_of(entry.path())});
  if (files.empty()) throw std::runtime_error("there is nothing in " + folder.string());
  return files;
}

SoundFiles some_of(const std::string& folder, const std::vector<std::string>& names) {
  SoundFiles files;
  for (const std::string& name : names) files.push_back({name, kind_of(name), bytes_of(data(folder) / name)});
  return files;
}

const std::string kText =
    "In the beginning God created the heaven and the earth.\nAnd the earth was without form, and void;\nand "
    "darkness "
    "was upon the face of the deep.\n\nAnd the Spirit of God moved upon the face of the waters.\n";

std::string text_of(int repeats) {
  std::string text;
  for (int i = 0; i < repeats; ++i) text += fmt::format("{}Verse {} of the {} chapter.\n", kText, i, i % 7);
  return text;
}

std::string lines_of_json(int documents) {
  std::string lines;
  for (int i = 0; i < documents; ++i)
    lines += nlohmann::json{{"text", fmt::format("{} {}", i, kText)}, {"id", i}}.dump() + "\n";
  return lines;
}

std::string array_of(const std::string& type, const std::string& shape, const std::string& elements) {
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': {}, }}", type, shape);
  header += std::string(64 - (11 + header.size()) % 64, ' ') + "\n";
  std::string bytes("\x93NUMPY\x01\x00", 8);
  bytes += {static_cast<char>(header.size() % 256), static_cast<char>(header.size() / 256)};
  return bytes + header + elements;
}

template <class T>
std::string elements(int count) {
  std::string bytes(sizeof(T) * static_cast<size_t>(count), '\0');
  for (int i = 0; i < count; ++i) {
    const T element = static_cast<T>(i % 7);
    std::memcpy(bytes.data() + static_cast<size_t>(i) * sizeof element, &element, sizeof element);
  }
  return bytes;
}

// A file's tensors as two files, and their index.
SoundFiles in_two_files(const fs::path& whole, const fs::path& scratch) {
  const SafetensorsFile file(whole.string());
  const size_t half = file.tensors().size() / 2;
  SoundFiles files;
  nlohmann::ordered_json map;
  int64_t total = 0;
  for (const int part : {0, 1}) {
    const std::string name = fmt::format("model-0000{}-of-00002.safetensors", part + 1);
    std::vector<TensorToStore> tensors;
    std::vector<std::vector<std::byte>> values;
    values.reserve(file.tensors().size());
    for (size_t i = part == 0 ? 0 : half; i < (part == 0 ? half : file.tensors().size()); ++i) {
      const StoredTensor& tensor = file.tensors()[i];
      std::vector<std::byte>& value =
          values.emplace_back(static_cast<size_t>(element_count(tensor.shape)) * 4);
      file.read(tensor, DType::Fp32, value.data());
      tensors.push_back({tensor.name, DType::Fp32, tensor.shape, value.data(), {}});
      map[tensor.name] = name;
      total += static_cast<int64_t>(value.size());
    }
    write_safetensors((scratch / name).string(), tensors, {{"format", "pt"}});
    files.push_back({name, FileKind::Safetensors, bytes_of(scratch / name)});
  }
  const nlohmann::ordered_json index = {{"metadata", {{"total_size", total}}}, {"weight_map", map}};
  files.push_back({"model.safetensors.index.json", FileKind::Json, index.dump(2)});
  return files;
}

// A scene for each view, with most of what a scene can state.
const char* const kLessonOfScenes = R"lesson(+++
title = "T"
asks = "?"
minutes = 5
sources = ["A text"]
[run]
model = "gpt2-tiny"
tp = 2
batch = 2
seq = 16
[draw]
batch = [2, 4]
matrix = ["mlp.fc", "mlp.proj"]
+++
## A
**{{ranks}}** of {{local_shape(matrix + ".weight")}}, *{{percent(1 / ranks)}}* and `{{bytes()}}`.

- {{with("tp", 4, "micro_batches", 2, "block", "model", sent_bytes(forward))}}
- {{if(ranks > 2, "many", exactly(2 ^ 10))}}
```scene
view = "stage"
page = "number"
select = "mlp.proj"
number = { row = 1, column = 2 }
rank = 1
zoom = 2.0
spotlight = ["mlp.proj", "rank 1"]
callouts = [{ at = "mlp.proj", text = "{{shape('mlp.proj.out')}}" }]
panels = ["setup", "inspector"]
```
```notes
Say {{layers}}.
```
## B
```scene
page = "collective"
select = "all-reduce mlp.proj.sum"
hop = 2
play = true
run = { split = "megatron", hardware = "h100-80gb", delays = ["1:mlp.proj:1"] }
```
## C
```scene
view = "memory"
page = "layer"
run = { block = "model", recompute = "full", update = true, dropout = 0.1, dtype = "bf16", micro_batches = 2 }
```
## D
```scene
view = "compare"
compare = { splits = ["megatron", "reversed"] }
run_to = "mlp.fc"
```
## E
```scene
view = "program"
page = "algebra"
operation = "LayerNorm"
way = 1
```
## F
```scene
view = "break-it"
page = "loss"
mistake = "skip-g"
training_steps = 3
run = { block = "model" }
```
```question
ask = "Which?"
choices = [{ text = "a", right = "ranks == 2" }, { text = "b", right = "ranks > 2", shows = { select = "mlp.fc" } }]
because = "mistake_sentence()"
points = 2
shows = { view = "traffic", page = "times" }
```
## G
```scene
view = "train"
page = "curves"
train = "norms"
training_steps = 3
run = { block = "model", norm = "post" }
```
## H
```scene
recording = "gallery:late-rank"
moment = 0.01
select = "mlp.proj"
```
)lesson";

nlohmann::ordered_json training_json(const Settings& settings) {
  return {{"format", 1},
          {"step", 3},
          {"steps", 10},
          {"iteration", 3},
          {"rows_read", 3 * settings.batch},
          {"schedule", {{"decay", "cosine"}, {"peak", 1e-3}, {"lowest", 1e-4}, {"warmup", 2}, {"steps", 10}}},
          {"loss_scale", 1.0},
          {"scale_good_steps", 0},
          {"text", {{"path", "text.txt"}, {"tokens", 1000}, {"hash", 12345678901234567890ULL}}},
          {"tokenizer", {{"name", "bytes"}, {"fingerprint", 987654321}}},
          {"checksums", nlohmann::ordered_json::object()},
          {"settings", settings_to_json(settings)}};
}

}  // namespace

std::vector<SoundFiles> sound_configs() {
  std::vector<SoundFiles> configs;
  for (const char* golden : {"gpt2-3-heads", "gpt2-untied", "bert-post-3-heads", "bert-pre-5-heads"})
    configs.push_back(some_of(fmt::format("goldens/{}", golden), {"config.json"}));
  configs.push_back(
      {{"config.json", FileKind::Json, hugging_face_config(model_preset("gpt2"), DType::Fp32, 50256)}});
  return configs;
}

std::vector<SoundFiles> sound_weights(const std::string& scratch) {
  std::vector<SoundFiles> weights;
  for (const char* golden : {"gpt2-3-heads", "bert-post-3-heads"}) {
    const std::string folder = fmt::format("goldens/{}", golden);
    weights.push_back(some_of(folder, {"config.json", "model.safetensors"}));
    SoundFiles parts = in_two_files(data(folder) / "model.safetensors", scratch);
    parts.push_back(weights.back().front());
    weights.push_back(std::move(parts));
  }
  return weights;
}

std::vector<SoundFiles> sound_tokenizers() {
  return {some_of("tokenizers/gpt2", {"tokenizer.json"}),
          some_of("tokenizers/gpt2", {"vocab.json", "merges.txt"}),
          some_of("tokenizers/bert-cased", {"tokenizer.json"}),
          some_of("tokenizers/bert-uncased", {"tokenizer.json"}),
          some_of("tokenizers/bert-cased", {"vocab.txt", "tokenizer_config.json"}),
          some_of("tokenizers/bert-uncased", {"vocab.txt"})};
}

std::vector<SoundFiles> sound_sentencepiece(const std::string& scratch) {
  // One that also normalises, which is a trie in the file.
  const fs::path rules = fs::path(scratch) / "rules.tsv";
  std::ofstream(rules) << "C4\t41 308\nE4\t61 308\nFB01\t66 69\n";
  const std::string normalising = train_sentencepiece(
      {text_of(20)}, 120, {{"normalization_rule_tsv", rules.string()}, {"byte_fallback", "false"}});
  return {some_of("tokenizers/sentencepiece", {"tokenizer.model"}),
          {{"tokenizer.model", FileKind::Protobuf, normalising}}};
}

std::vector<SoundFiles> sound_arrays() {
  std::vector<SoundFiles> arrays;
  const auto add = [&](const std::string& bytes) { arrays.push_back({{"x.npy", FileKind::Npy, bytes}}); };
  add(array_of("<f4", "(4, 6)", elements<float>(24)));
  add(array_of("<f8", "(2, 3, 4)", elements<double>(24)));
  add(array_of("<i4", "(2, 9)", elements<int32_t>(18)));
  add(array_of("<i8", "(5,)", elements<int64_t>(5)));
  return arrays;
}

std::vector<SoundFiles> sound_splits() {
  return {{{"split.json", FileKind::Json,
            R"({"attn.qkv": "column", "attn.proj": "row", "mlp.fc": "row", "mlp.proj": "column",)"
            R"( "embedding": "hidden", "norm": "sequence", "loss": "fused"})"}}};
}

std::vector<SoundFiles> sound_hardware() {
  Hardware measured = find_hardware("a100-80gb");
  measured.rates[{"linear", DType::Fp32, 1}] = {{1e6, 1e10}, {1e9, 2e10}};
  measured.rates[{"add", DType::Fp32, 2}] = {{1e3, 1e9}};
  measured.links[{"all-reduce", 2}] = {1e-6, 1e9};
  return {{{"machine.json", FileKind::Json, hardware_to_json(measured).dump(2)}},
          {{"machine.json", FileKind::Json, hardware_to_json(find_hardware("v100-32gb-2-nodes")).dump(2)}}};
}

std::vector<SoundFiles> sound_texts() {
  return {{{"a.txt", FileKind::Lines, text_of(30)}},
          {{"a.jsonl", FileKind::Json, lines_of_json(12)}},
          {{"a.txt", FileKind::Lines, text_of(10)}, {"b/b.ndjson", FileKind::Json, lines_of_json(5)}}};
}

std::vector<SoundFiles> sound_corpora(const std::string& scratch) {
  std::vector<SoundFiles> corpora;
  const fs::path text = fs::path(scratch) / "corpus.txt";
  std::ofstream(text) << text_of(60);
  for (const std::string tokenizer : {"bytes", "wordpiece:200"}) {
    CorpusOptions options;
    options.sources = {text.string()};
    options.tokenizer = tokenizer;
    options.shortest_tokens = 1;
    options.jaccard = 1;
    options.validation = 0.3;
    options.test = 0;
    const fs::path folder = fs::path(scratch) / tokenizer;
    prepare_corpus(options, folder.string());
    corpora.push_back(files_of(folder));
  }
  return corpora;
}

std::vector<SoundFiles> sound_checkpoints(const std::string& scratch) {
  Settings settings;
  const fs::path golden = data("goldens/gpt2-3-heads");
  settings.model = find_model(golden.string());
  settings.block = Block::Model;
  // The weights a second time stand for the optimizer's state: it is opened in the same way.
  const SafetensorsFile file((golden / "model.safetensors").string());
  std::vector<TensorToStore> tensors;
  std::vector<std::vector<std::byte>> values;
  for (const StoredTensor& tensor : file.tensors()) {
    values.emplace_back(static_cast<size_t>(element_count(tensor.shape)) * 4);
    file.read(tensor, DType::Fp32, values.back().data());
    tensors.push_back({tensor.name, DType::Fp32, tensor.shape, values.back().data(), {}});
  }
  const fs::path saved = fs::path(scratch) / "saved.safetensors";
  write_safetensors(saved.string(), tensors, {{"format", "pt"}, {"step", "3"}});
  const std::string bytes = bytes_of(saved);
  return {{{"config.json", FileKind::Json, bytes_of(golden / "config.json")},
           {"model.safetensors", FileKind::Safetensors, bytes},
           {"optimizer.safetensors", FileKind::Safetensors, bytes},
           {kCheckpointState, FileKind::Json, training_json(settings).dump(2)},
           {kCheckpointState, FileKind::Json, training_json(settings).dump(2)}}};
}

std::vector<SoundFiles> sound_lessons() {
  std::vector<SoundFiles> lessons{{{"lesson.md", FileKind::Lesson, answered_lesson()}},
                                  {{"lesson.md", FileKind::Lesson, kLessonOfScenes}}};
  for (const EmbeddedFile& file : embedded_assets())
    if (file.name.starts_with("lessons/"))
      lessons.push_back({{"lesson.md", FileKind::Lesson, std::string(file.contents)}});
  return lessons;
}

std::vector<SoundFiles> sound_answers() {
  const nlohmann::ordered_json right = {{"a/1", "1"},
                                        {"a/2", 36},
                                        {"a/3", "mlp.gelu"},
                                        {"a/4", "rank 3"},
                                        {"a/5", "Sharded(1)"},
                                        {"a/6", {"mlp.fc", "mlp.gelu", "mlp.proj"}},
                                        {"b/1", {{"mlp.fc", "replicated"}, {"mlp.proj", "replicated"}}}};
  const nlohmann::ordered_json wrong = {{"a/1", 4}, {"a/2", "36"},       {"a/3", "mlp.fc.weight"},
                                        {"a/4", 2}, {"a/6", {"mlp.fc"}}, {"c/9", nullptr}};
  std::vector<SoundFiles> answers;
  for (const nlohmann::ordered_json& given : {right, wrong, nlohmann::ordered_json::object()})
    answers.push_back({{"answers.json", FileKind::Json, nlohmann::ordered_json{{"answers", given}}.dump(1)}});
  answers.push_back(
      {{"answers.json", FileKind::Json,
        nlohmann::ordered_json{{"lesson", "answered"}, {"seed", 1}, {"student", "s"}, {"answers", right}}
            .dump(1)}});
  return answers;
}

}  // namespace shardlens::fuzz
