// Judges answers by the key of a question, as the studio and the command line do: engine/lesson/answer_key.cpp
// and written_answer.cpp have the same rules, and the tests compare the two. `rules` are the tables of
// rules_of_writing(), `key` is a key_as_json().
"use strict";
const answersBy = (rules) => {
  const kSameNumber = 1e-9;
  const kShownDigits = 3;
  const kLongest = 300;
  const kLargestExponent = 308;
  const kMostNamed = 3;
  const kLongestGuessed = 60;
  const bytes = (text) => new TextEncoder().encode(text).length;
  const replaced = (text, pairs) => pairs.reduce((all, [from, to]) => all.split(from).join(to), text);
  const withoutSpaces = (text) =>
    replaced(text.replace(/[A-Z]/g, (letter) => letter.toLowerCase()), [...rules.spaces, ...rules.signs]);
  const plain = (text) => replaced(withoutSpaces(text), rules.replaced);

  // "4.5 KiB", "1,024", "0,5", "1e6 bytes"; null: it is no number.
  function writtenNumber(words) {
    if (bytes(words) > kLongest) return null;
    const form = /^([+-]?)([1-9]\d{0,2}(?:,\d{3})+(?!\d)(?:\.\d*)?|\d*(?:[.,]\d*)?)(?:e([+-]?\d+))?([^\d.,]*)$/;
    const parts = form.exec(withoutSpaces(words));
    if (!parts) return null;
    const [, sign, number, exponent, unit] = parts;
    const grouped = /^\d{1,3}(,\d{3})+(\.|$)/.test(number) && number[0] !== "0";
    const digits = grouped ? number.replace(/,/g, "") : number.replace(",", ".");
    if (!/\d/.test(digits) || Math.abs(Number(exponent || 0)) > kLargestExponent) return null;
    const value = Number(sign + digits + (exponent ? "e" + Number(exponent) : ""));
    if (!Number.isFinite(value)) return null;
    const point = digits.indexOf(".");
    return {
      value, unit,
      decimals: (point < 0 ? 0 : digits.length - point - 1) - Number(exponent || 0),
      digits: digits.replace(".", "").replace(/^0+/, "").length,
    };
  }

  // The number in another unit; null: they measure different things.
  function converted(number, unit, wanted) {
    const meaning = (word) => (Object.hasOwn(rules.units, word) ? rules.units[word] : null);
    const to = meaning(wanted.toLowerCase());
    const from = unit === "" ? to : meaning(unit);
    if (!from || !to) return null;
    const counts = wanted === "" && (from[0] === "ranks" || from[0] === "heads");
    return from[0] === to[0] || counts ? (number * from[1]) / to[1] : null;
  }

  function saysNumber(given, right, key) {
    const number = converted(given.value, given.unit, key.unit);
    if (number === null) return false;
    const away = Math.abs(number - right);
    if (away <= Math.max(key.tolerance, kSameNumber) * Math.abs(right)) return true;
    const lastDigit = converted(Math.pow(10, -given.decimals), given.unit, key.unit);
    return given.digits >= kShownDigits && away <= (lastDigit / 2) * (1 + kSameNumber);
  }

  const known = new WeakMap();  // by key: its words, made plain
  function knownWords(key) {
    if (!known.has(key)) known.set(key, new Map(key.words.map((word) => [plain(word[0]), word])));
    return known.get(key);
  }

  function namedCandidates(key, words) {
    if (bytes(words) > kLongest) return [];
    const name = words.replace(/^[ \t\r\n]+|[ \t\r\n]+$/g, "");
    const all = key.names.map((_, place) => place);
    const exact = all.filter((place) => key.names[place] === name);
    if (exact.length > 0) return exact;
    const found = knownWords(key).get(plain(words));
    if (found) return found[1];
    const given = key.kind === "choice" && key.numbers ? writtenNumber(words) : null;
    if (!given) return [];
    return all.filter((place) => {
      if (!key.numbers[place]) return false;
      const [number, unit] = key.numbers[place];
      const value = given.unit === "" ? given.value : converted(given.value, given.unit, unit);
      return value !== null && Math.abs(value - number) <= kSameNumber * Math.abs(number);
    });
  }

  function editDistance(a, b) {
    const row = [...Array(b.length + 1).keys()];
    for (let i = 1; i <= a.length; ++i) {
      let diagonal = row[0];
      row[0] = i;
      for (let j = 1; j <= b.length; ++j) {
        const substituted = diagonal + (a[i - 1] === b[j - 1] ? 0 : 1);
        diagonal = row[j];
        row[j] = Math.min(substituted, row[j] + 1, row[j - 1] + 1);
      }
    }
    return row[b.length];
  }

  // The word that is meant by one with a typing error; "": none is near.
  function nearWord(key, words) {
    const wanted = plain(words);
    let near = "", least = Infinity;
    if (wanted === "" || wanted.length > kLongestGuessed) return near;
    for (const [word, [written]] of knownWords(key)) {
      const away = editDistance(wanted, word);
      if (away <= (word.length + 1) / 2 && away < least) [near, least] = [written, away];
    }
    return near;
  }

  const wrong = (problem, hint) => ({ right: false, problem: problem || "", hint: hint || "" });
  const right = { right: true, problem: "", hint: "" };

  function unknown(key, words) {
    if (key.kind === "choice") return wrong("is none of the choices: " + key.names.join(", "));
    if (key.what === "rank") return wrong(`must be a rank, a number from 0 to ${key.names.length - 1}`);
    const near = nearWord(key, words);
    const remedy = near === "" ? `write the ${key.what} as the page does` : `did you mean "${near}"?`;
    return wrong(`is an unknown ${key.what} (${remedy})`);
  }

  function judgeName(key, words) {
    const named = namedCandidates(key, words);
    if (named.length === 0) return unknown(key, words);
    if (named.every((place) => key.right.includes(place))) return right;
    if (named.length === 1) return wrong("", (key.hints || {})[named[0]]);
    const names = named.slice(0, kMostNamed).map((place) => key.names[place]).join(", ");
    const more = named.length > kMostNamed ? ` and ${named.length - kMostNamed} more` : "";
    return wrong(`names ${names}${more}: say which`);
  }

  function judgeNumber(key, words) {
    const given = writtenNumber(words);
    if (!given) return wrong("is no number: write one such as 12, 1.5 or 1,024");
    if (converted(given.value, given.unit, key.unit) === null)
      return wrong(`has the unit "${given.unit}": write the number ` + (key.unit ? "in " + key.unit : "alone"));
    if (key.numbers.some((number) => saysNumber(given, number, key))) return right;
    const hint = key.hints.find(([at]) => saysNumber(given, at, key));
    return wrong("", hint && hint[1]);
  }

  // The names of all items, in the order that was given.
  function judgeOrder(key, items) {
    const order = items.map((name) => key.names.indexOf(name));
    // Of several right orders, the one that is followed longest says which item comes too early.
    const followed = Math.max(...key.orders.map((places) => {
      const end = places.flatMap((place) => place.map(() => place)).findIndex((place, at) => !place.includes(order[at]));
      return end < 0 ? order.length : end;
    }));
    return followed === order.length ? right : wrong("", (key.hints || {})[order[followed]]);
  }

  return {
    plain, writtenNumber,
    judge(key, given) {
      if (key.kind === "number") return judgeNumber(key, given);
      return key.kind === "order" ? judgeOrder(key, given) : judgeName(key, given);
    },
  };
};
if (typeof module !== "undefined") module.exports = { answersBy };
