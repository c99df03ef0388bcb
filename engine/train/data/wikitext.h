// Undoes WikiText's tokenisation. Its files hold words instead of text: " @-@ " for a hyphen between words, "
// @,@ " inside a number, spaces around punctuation and brackets, "don 't", " = Heading = ". A model that
// learned from ordinary text has never seen that. So the text is restored before it is cut into the model's
// tokens (Appendix E.1 of the Megatron-LM paper). The perplexity is still normalised by the words of the file
// (original_tokens() in engine/train/evaluation.h).
#pragma once

#include <string>
#include <string_view>

namespace shardlens {

/// Restores the text of one line or of a whole file of WikiText, by these rules:
///   " @-@ ", " @,@ ", " @.@ "        only the sign, without spaces
///   , . ; : ! ? %                  joined to the word before
///   's 're n't and similar           joined to the word before
///   ( [ { and opening quotes         joined to the word after; their partners to the word before
///   $ # and a heading's runs of =    joined to what follows; "= = Early life = =" becomes "== Early life =="
///   spaces at a line's ends          removed
/// `<unk>` stays: the original word is not known. Straight quotes open and close in turn within a line. A '
/// without a partner belongs to a plural and is joined to the word before. A " without a partner stays as it
/// is.
std::string undo_wikitext(std::string_view text);

}  // namespace shardlens
