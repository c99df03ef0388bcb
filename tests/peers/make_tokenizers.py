"""Writes tests/data/tokenizers: small vocabularies learned from a public-domain text by the reference
implementations (Hugging Face's tokenizers, SentencePiece), and how these tokenize difficult strings.

    python make_tokenizers.py --text kjv.txt [--out FOLDER]
    python make_tokenizers.py --added                 gives the vocabularies that are there added tokens
    python make_tokenizers.py --record FOLDER...      records thousands of random strings more, into golden.json
                                                      next to an existing tokenizer (GPT-2's own, BERT's own)

The text is what `bible -f gen1:1-rev22:21` prints. SHARDLENS_TOKENIZER_GOLDENS=FOLDER lets the test read the
folders below FOLDER too.
"""

import argparse
import json
import random
import unicodedata
from pathlib import Path

import sentencepiece
import tokenizers
from tokenizers import decoders, models, normalizers, pre_tokenizers, trainers

AWKWARD = [
    "", " ", "  ", "   x", "x   ", " x  y   z ", "\n", "\n\n", " \n \n", "a\nb", "a \n b", "a\n\n\nb", "\t", "a\tb",
    "\t\t\tx", " \t\n\r x", "\r\n", "a\r\nb\r\n", "\v\f", "a\u0085b", "a\u00a0b", "\u00a0 x", " \u00a0x", "\u2003\u2003x",
    "\u2028\u2029", "\u3000中", "\u200b", "a\u200bb", "\ufeffx", "\u180ex",
    "In the beginning God created the heaven and the earth.", "And God said, Let there be light: and there was light.",
    "it's", "it'S", "IT'S", "'s 's 't're've'm'll'd", "'S'T'RE", "''s", "' s", "it’s", "we're they've I'm he'll she'd don't",
    "x'sy", "'", "''", "'''ll", " 's", "  's", "'llama", "o'clock", "'du", "'veil",
    "0", "1234567890", "3.14159", "1,000,000", " 12 34", "x1y2", "²³¹", "½", "٣٤٥", "१२३", "Ⅷ", "①②", "一二三", "1st 2nd",
    "!?.,;:", "...", " ...", "(a)", "a-b_c", "$5 + <3> = `x` ^ ~|", "¡Hola! ¿Qué?", "«x»", "„x“", "——", "。、「」", "@#&%",
    "http://a.b/c?d=e&f#g", "a@b.c", "C:\\x\\y", "#include <vector>", "int main() {\n\treturn 0;\n}\n",
    "é", "e\u0301", "É E\u0301", "naïve café Ångström", "a\u0323\u0307", "\u0301", " \u0301", "n\u0303o", "Việt Nam",
    "İstanbul", "ı I i İ", "ß ẞ", "ΣΊΣΥΦΟΣ Σίσυφος", "ﬁ ﬂ", "Ǆ ǅ ǆ", "ĳ", "Ω Ω", "K K",
    "中文字符", "日本語のテキスト", "한국어 텍스트", "中a文b", "𠀀𠀁", "㐀", "豈", "ひらがな カタカナ", "ｱｲｳ ＡＢＣ １２３",
    "مرحبا بالعالم", "العَرَبِيَّة", "שָׁלוֹם", "नमस्ते", "ไทย", "Привет мир", "Ёлка йод", "Ελληνικά", "አማርኛ", "தமிழ்",
    "😀", "😀😀", " 😀", "👩‍💻", "👨‍👩‍👧‍👦", "👍🏽", "🇩🇪🇫🇷", "❤️", "☃", "🏳️‍🌈", "x😀y", "1️⃣", "🫠",
    "a\u0000b", "\u0000", "\u0001\u001f\u007f", "a\u00adb", "\ufffd", "a\ufffdb", "\ue000", "\U0010ffff", "\u202eabc", "\uffff",
    "<|endoftext|>", "a<|endoftext|>b", "<|endoftext|><|endoftext|>", "<|endoftext", "<|endof<|endoftext|>", " <|endoftext|> ",
    "[MASK]", "a [MASK] b", "[CLS][SEP]", "[mask]", "[MASK", "x[UNK]y", "##ing", "[PAD] [PAD]",
    "a" * 99, "a" * 100, "a" * 101, "ab" * 200, "x" * 2000, "é" * 100, "é" * 101, "e\u0301" * 100, " " * 300, "\n" * 100,
    "antidisestablishmentarianism", "Donaudampfschifffahrtselektrizitätenhauptbetriebswerk", "qzxjqzxj",
    "UPPER lower MiXeD", "HeLLo", "the the the", "unaffable", "Hello, y'all! How are you 😁 ?", "▁x", "a▁b", "<0x0A>", "<unk></s>",
]


# Added tokens: (text, special, normalized). They meet words of the vocabulary, each other and other cases.
ADDED = [
    ("NewTok", False, True), ("OldTok", False, False), ("newtok two", False, True), ("[NEW]", True, False), ("the", False, True),
    ("God", False, False), ("lea", False, True), ("leaded", False, True), ("aded x", False, False), ("  ", False, False),
    ("trail ", False, False), ("q#z", True, False), ("##ing", False, False),
]
ADDED_AWKWARD = [
    "NewTok", "newtok", "NEWTOK", "xNewToky", "NewTok NewTok", "NewTokNewTok", "OldTok", "oldtok", "OLDTOK", "xOldToks",
    "newtok two", "NewTok Two", "NEWTOK  TWO", "newtok\ttwo", "[NEW]", "a [NEW] b", "[new]", "[NEW", "the", "The", "thesis", "bathe",
    "God", "god", "GOD said", "Godly", "lead", "leade", "leaded", "leaded x", "Leaded X", "x leade", "a  b", "a   b", "a    b",
    "trail ", "trail", "trail x", "trailx", "q#z", "Q#Z", "aq#zb", "x##ing", "ing", "doing ##ing", "NewTok[NEW]OldTok",
    "\u0301NewTok", "Ne\u0301wTok", "New\u00adTok", "N\u00e9wtok", "\u4e2dNewTok\u4e2d", "NewTok\u0000", "New\u0000Tok",
]


def random_strings(count, known):
    """Strings of characters that are hard to cut: `known` says which ones the reference knows about."""
    source = random.Random(1909_08053)
    pools = [
        [" ", "  ", "\n", "\t", "\r\n", "\u00a0", "\u3000", "\v"],
        ["'s", "'t", "'re", "'ve", "'m", "'ll", "'d", "'", "'S"],
        list("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"),
        list("0123456789²½Ⅷ٣"),
        list("!\"#$%&()*+,-./:;<=>?@[]^_`{|}~¿«—。"),
        ["the", " the", "ing", " and", "God", " heaven", "un", "er"],
        list("éüñçøåÉÜÑİıßΣςЁй\u0301\u0308\u0323\u20dd"),
        list("中文日本語かなカナ한국어مرحباשלוםहिไท"),
        ["😀", "👩", "\u200d", "💻", "🏽", "\ufe0f", "🇩", "❤"],
        ["\u0000", "\u0001", "\u00ad", "\u200b", "\ufeff", "\u202e"],
        [c for c in map(chr, range(0xA0, 0x30000)) if unicodedata.category(c) not in ("Cn", "Cs") and known(c)],
    ]
    for _ in range(count):
        chosen = source.choices(pools, k=source.randint(1, 4))
        yield "".join(source.choice(source.choice(chosen)) for _ in range(source.randint(1, 30)))


def record(folder, reference, encode, decode, strings):
    cases = []
    for text in strings:
        ids = encode(text)
        cases.append({"text": text, "ids": ids, "decoded": decode(ids)})
    golden = {"reference": reference, "cases": cases}
    # Numbers in a row, one case a line.
    lines = ",\n".join(json.dumps(case, ensure_ascii=True) for case in cases)
    text = json.dumps({"reference": golden["reference"]})[:-1] + ', "cases": [\n' + lines + "\n]}\n"
    (folder / "golden.json").write_text(text)
    print(f"{folder}: {len(cases)} cases by {reference}")


def record_hugging_face(folder, strings):
    tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    if isinstance(tokenizer.model, models.WordPiece):
        tokenizer.decoder = decoders.WordPiece(cleanup=False)  # words with a space between, nothing guessed
    record(folder, f"tokenizers {tokenizers.__version__}",
           lambda text: tokenizer.encode(text, add_special_tokens=False).ids, tokenizer.decode, strings)


def known_to(folder):
    """WordPiece's tables in Rust end at Unicode 8: characters that are newer or changed since are left out for it."""
    kind = json.loads((folder / "tokenizer.json").read_text())["model"]["type"]
    old = unicodedata.ucd_3_2_0
    return (lambda c: old.category(c) == unicodedata.category(c)) if kind == "WordPiece" else (lambda c: True)


def add_tokens(base, folder):
    """The tokenizer of `base` with tokens added to it."""
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = json.loads((base / "tokenizer.json").read_text())
    vocabulary = tokenizer["model"]["vocab"]
    following = len(vocabulary)
    for text, special, normalized in ADDED:
        number = vocabulary.get(text, following)
        following += text not in vocabulary
        tokenizer["added_tokens"].append({"id": number, "content": text, "single_word": False, "lstrip": False,
                                          "rstrip": False, "normalized": normalized, "special": special})
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer, ensure_ascii=False, indent=1) + "\n")
    record_hugging_face(folder, AWKWARD + ADDED_AWKWARD)


def train_gpt2(folder, lines):
    tokenizer = tokenizers.Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator(lines, trainers.BpeTrainer(
        vocab_size=768, special_tokens=["<|endoftext|>"], initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False))
    tokenizer.save(str(folder / "tokenizer.json"))
    tokenizer.model.save(str(folder))
    record_hugging_face(folder, AWKWARD)


def train_bert(folder, lines, lowercase):
    tokenizer = tokenizers.Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.train_from_iterator(lines, trainers.WordPieceTrainer(
        vocab_size=1000, special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"], show_progress=False))
    tokenizer.save(str(folder / "tokenizer.json"))
    vocabulary = tokenizer.get_vocab()
    (folder / "vocab.txt").write_text("\n".join(sorted(vocabulary, key=vocabulary.get)) + "\n")
    (folder / "tokenizer_config.json").write_text(json.dumps({"do_lower_case": lowercase}) + "\n")
    record_hugging_face(folder, AWKWARD)


def train_sentencepiece(folder, lines):
    with open(folder / "tokenizer.model", "wb") as model:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(lines), model_writer=model, model_type="bpe", vocab_size=600, byte_fallback=True,
            normalization_rule_name="identity", add_dummy_prefix=False, remove_extra_whitespaces=False, unk_id=0,
            eos_id=1, bos_id=-1, pad_id=-1, character_coverage=0.9995, minloglevel=2)
    processor = sentencepiece.SentencePieceProcessor(model_file=str(folder / "tokenizer.model"))
    record(folder, f"sentencepiece {sentencepiece.__version__}", processor.encode, processor.decode, AWKWARD)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--text", type=Path)
    parser.add_argument("--out", type=Path, default=Path(__file__).parents[1] / "data" / "tokenizers")
    parser.add_argument("--added", action="store_true")
    parser.add_argument("--record", type=Path, nargs="*", default=[])
    arguments = parser.parse_args()
    for folder in arguments.record:
        if not (folder / "tokenizer.json").exists():
            tokenizer = tokenizers.Tokenizer(models.BPE.from_file(str(folder / "vocab.json"), str(folder / "merges.txt")))
            tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
            tokenizer.decoder = decoders.ByteLevel()
            tokenizer.add_special_tokens(["<|endoftext|>"])
            tokenizer.save(str(folder / "tokenizer.json"))
        record_hugging_face(folder, AWKWARD + list(random_strings(20000, known_to(folder))))
    if arguments.text:
        lines = arguments.text.read_text().splitlines()[:8000] + [s for s in AWKWARD if len(s) < 60] * 3
        for name, train in [("gpt2", train_gpt2), ("bert-uncased", lambda f, t: train_bert(f, t, True)),
                            ("bert-cased", lambda f, t: train_bert(f, t, False)),
                            ("sentencepiece", train_sentencepiece)]:
            folder = arguments.out / name
            folder.mkdir(parents=True, exist_ok=True)
            train(folder, lines)
    if arguments.text or arguments.added:
        for name in ["gpt2", "bert-uncased", "bert-cased"]:
            add_tokens(arguments.out / name, arguments.out / f"{name}-added")


if __name__ == "__main__":
    main()
