// The inverse of WikiText's tokenisation. Its files hold words, not text: " @-@ " for a hyphen between words,
// " @,@ " inside a number, spaces around punctuation and brackets, "don 't", " = Heading = ". A model that
// learned from text has never seen that, so the text is put together again before it is cut into the model's
// own tokens (Appendix E.1 of the Megatron-LM paper); the perplexity's normaliser counts the words of the
// file (original_tokens() in engine/train/evaluation.h).
#pragma once

#include <string>
#include <string_view>

namespace shardlens {

/// The text behind one line or a whole file of WikiText. Word for word, so it can be undone:
///   " @-@ ", " @,@ ", " @.@ "        the sign alone, with nothing beside it
///   , . ; : ! ? %                  joined to the word before
///   's 're n't and the like          joined to the word before
///   ( [ { and opening quotes         joined to the word after; their partners to the word before
///   $ # and a heading's runs of =    joined to what follows; "= = Early life = =" becomes "== Early life =="
///   spaces at a line's ends          gone
/// `<unk>` stays: it stands for a word that nobody knows any more. Straight quotes open and close in turn
/// within a line; a ' that finds no partner is a plural's and joins the word before, a " stands as it is.
std::string undo_wikitext(std::string_view text);

}  // namespace shardlens
