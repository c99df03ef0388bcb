// Calls the readers.
#include "tests/fuzz/readers.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <numeric>
#include <stop_token>
#include <thread>
#include <vector>

#include "engine/config/hardware_file.h"
#include "engine/config/presets.h"
#include "engine/config/splits.h"
#include "engine/config/weights_of_model.h"
#include "engine/io/npy.h"
#include "engine/planner/parameters.h"
#include "engine/runtime/checksum.h"
#include "engine/runtime/stored_weights.h"
#include "engine/train/checkpoint.h"
#include "engine/train/data/corpus.h"
#include "engine/train/data/documents.h"
#include "engine/train/data/train_data.h"
#include "engine/train/tokenizer/tokenizer.h"

namespace shardlens::fuzz {
namespace {

namespace fs = std::filesystem;

// The only file in the folder; `name` if there is none.
std::string the_file_in(const std::string& folder, const std::string& name) {
  const fs::directory_iterator first(folder);
  return first == fs::directory_iterator() ? (fs::path(folder) / name).string() : first->path().string();
}

// Every tensor that can be read as numbers, and a corner of it.
void read_tensors(const SafetensorsFile& file) {
  for (const StoredTensor& tensor : file.tensors()) {
    file.find(tensor.name);
    if (tensor.dtype != "F32" && tensor.dtype != "F64" && tensor.dtype != "F16" && tensor.dtype != "BF16")
      continue;
    const int64_t count = element_count(tensor.shape);
    std::vector<double> values(static_cast<size_t>(count));
    file.read(tensor, DType::Fp64, values.data());
    std::vector<Range> corner;
    for (const int64_t extent : tensor.shape) corner.push_back({0, std::min<int64_t>(extent, 2)});
    file.read(tensor, tensor.shape, corner, DType::Fp32, values.data());
  }
}

// Ends a pipe as soon as somebody reads it. A text may be a pipe, and its reader waits for a writer.
std::jthread writer_of_nothing(const std::string& pipe) {
  return std::jthread([pipe](const std::stop_token& stop) {
    for (; !stop.stop_requested(); std::this_thread::sleep_for(std::chrono::milliseconds(1)))
      if (const int file = open(pipe.c_str(), O_WRONLY | O_NONBLOCK); file >= 0) close(file);
  });
}

void use(const Tokenizer& tokenizer) {
  static const std::string kTexts[] = {
      "In the beginning, 1 + 1 = 2!\n", "na\xc3\xafve \xe6\x97\xa5\xe6\x9c\xac \xf0\x9f\x98\x80",
      "[CLS]<|endoftext|>[MASK]</s>",   std::string("\xff\x00\x1b[0m\xc3", 7),
      std::string(20'000, 'a'),         ""};
  for (const std::string& text : kTexts) tokenizer.decode(tokenizer.encode(text));
  for (int32_t id = 0; id < std::min(tokenizer.vocab_size(), 2000); ++id) tokenizer.piece(id);
  tokenizer.end_of_text();
  for (const char* token : {"<|endoftext|>", "[CLS]", "[MASK]", "</s>"}) tokenizer.special(token);
  tokenizer.fingerprint();
  tokenizer.files();
}

void use(const TokenFile& file) {
  for (int64_t i = 0; i < file.documents(); ++i) file.document(i);
  unigram_entropy_nats(file);
}

}  // namespace

void read_config(const std::string& folder) {
  const Model model = find_model(folder);
  parameter_count(model);
  weights_of_model(folder);
}

void read_weights(const std::string& folder) {
  Settings settings;
  settings.model = find_model(folder);
  settings.weights_path = weights_of_model(folder);
  if (settings.weights_path.empty()) return;
  fit_to_weights(settings);
  const StoredWeights weights(settings.weights_path, settings);
  weights.missing_heads();
  read_tensors(weights.file());
}

void read_tokenizer(const std::string& folder) {
  has_tokenizer(folder);
  use(*load_tokenizer(folder));
}

void read_array(const std::string& folder) {
  const NpyFile file(the_file_in(folder, "x.npy"));
  if (file.type() == NpyType::Int32 || file.type() == NpyType::Int64) {
    file.read_integers();
    return;
  }
  std::vector<double> values(static_cast<size_t>(element_count(file.shape())));
  file.read_floats(DType::Fp32, values.data());
  file.read_floats(DType::Fp64, values.data());
}

void read_split(const std::string& folder) {
  find_split(the_file_in(folder, "split.json"));
}

void read_hardware(const std::string& folder) {
  const std::string path = the_file_in(folder, "machine.json");
  this_machine(path);  // takes anything
  read_hardware_file(path);
}

void read_text(const std::string& folder) {
  // A folder with one file is read as the file, too.
  const bool one = std::distance(fs::directory_iterator(folder), fs::directory_iterator()) <= 1;
  const std::string source = one ? the_file_in(folder, "a.txt") : folder;
  const std::jthread writer = fs::is_fifo(source) ? writer_of_nothing(source) : std::jthread();
  int64_t bytes = 0;
  read_documents(
      source, [&](const std::string& document, int64_t) { bytes += static_cast<int64_t>(document.size()); });
  const Model model = model_preset("gpt2-tiny");
  for (const char* tokenizer : {"bytes", "wordpiece:300", "sentencepiece:400"})
    use(*open_train_data(source, tokenizer, model).train);
}

void read_corpus(const std::string& folder) {
  const Corpus corpus = open_corpus(folder);
  use(*corpus.train);
  if (corpus.validation) use(*corpus.validation);
  use(*corpus.tokenizer);
}

void read_checkpoint(const std::string& folder) {
  const TrainingState state = read_training_state(folder);
  read_tensors(SafetensorsFile(checkpoint_weights(folder, state)));
  for (const char* name : {"model.safetensors", "optimizer.safetensors"})
    require_as_saved((fs::path(folder) / name).string());
  find_model(folder);
}

}  // namespace shardlens::fuzz
