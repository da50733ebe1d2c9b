import fc from 'fast-check';
import t from 'tap';
import { isUnspaced, wordsOf } from '../../src/search/words.ts';

const words = (text: string) => Array.from(wordsOf(text), ({ word }) => word);

t.test('the words of a text', async (t) => {
  const cases: [what: string, text: string, words: string][] = [
    ['nothing', ' \n\t.,;-_"\'*\0\ud800\udfff', ''],
    ['signs between words', 'a_b-c.d/e@f\'g"h\u200fi\u202ej', 'a b c d e f g h i j'],
    ['digits', 'v1.22 3rd ３', 'v1 22 3rd 3'],
    ['upper case', 'Note NOTE ÄÖ äö', 'note note ao ao'],
    ['ß in all its forms', 'Straße STRASSE STRAẞE straſſe', 'strasse strasse strasse strasse'],
    ['ligatures and wide letters', 'ﬁnd oﬃce ＡＢｃ Ⅳ ²', 'find office abc iv 2'],
    ['dots on i', 'İstanbul ISTANBUL ı', 'istanbul istanbul i'],
    ['sigmas', 'ΟΔΟΣ οδος οδοσ', 'οδοσ οδοσ οδοσ'],
    ['accents as one or two characters', '\u00e9 e\u0301 E\u0301\u0323 Ё й', 'e e e е и'],
    ['what is invisible', 'a\u00adb a\u200cb a\u2060b 1\ufe0f\u20e3', 'ab ab ab 1'],
    ['half-width kana', 'ｶﾞｷﾞﾊﾟｱ ガギパア', 'ガ ギ パ ア ガ ギ パ ア'],
    ['voice marks make another word', 'か が か\u3099 カ', 'か が が カ'],
    ['Chinese beside other letters', 'a漢b字1々', 'a 漢 b 字 1 々'],
    ['Japanese', 'コーヒーabcを飲む', 'コ ー ヒ ー abc を 飲 む'],
    ['Thai, with its marks', 'ที่นี่', 'ที่ นี่'],
    ['Korean', '한국어 한글', '한국어 한글'],
    ['Arabic with vowel signs and a stroke', 'مُحَمَّد محمد مـحـمد أب اب', 'محمد محمد محمد اب اب'],
    ['Hebrew with points', 'שָׁלוֹם שלום', 'שלום שלום'],
    ['Hindi keeps its marks', 'हिन्दी हिंदी', 'हिन्दी हिंदी'],
    ['pictographs', '👍🏽a👩‍👩‍👧 ❤️©', '👍 a 👩 👩 👧 ❤ ©'],
    ['flags', '🇩🇪🇫🇷', '🇩🇪 🇫🇷'],
    ['what holds signs when it is folded', '⑴ ½ \u037a \ufdfa', '1 12 صلىاللهعليهوسلم'],
    ['a lone accent', '\u0301 \u0301a', 'a'],
    ['long runs', `${'x'.repeat(100)}y`, 'x'.repeat(64)],
    ['long runs of long characters', `a${'𐌰'.repeat(40)}`, `a${'𐌰'.repeat(31)}`],
  ];
  for (const [what, text, expected] of cases) t.equal(words(text).join(' '), expected, what);
});

t.test('all characters: case, accents and form make no other word', async (t) => {
  const other = /[^\p{L}\p{N}\p{M}\p{Extended_Pictographic}\p{Regional_Indicator}]/u;
  // A letter with an iota below is two letters in upper case, and some signs are letters in one form only.
  const differs = /[\u0345\u1f80-\u1fff\u24c2\u24dc\u21ae]/;
  for (let code = 0; code <= 0x10ffff; code += 1) {
    const character = String.fromCodePoint(code);
    const found = words(character);
    const same = [character.toUpperCase(), character.toLowerCase()];
    if (/\p{L}/u.test(character)) same.push(character.normalize('NFC'), character.normalize('NFD'));
    const fails =
      found.some((word) => word === '' || other.test(word)) ||
      (!differs.test(character) && same.some((form) => words(form).join(' ') !== found.join(' ')));
    if (fails) t.fail(`${code.toString(16)} ${character}: ${found}`);
  }
});

t.test('words are in the text, in order, and are found again by their places', async () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 100 }), (text) => {
      let behind = 0;
      for (const { word, start, end } of wordsOf(text)) {
        if (start < behind || end <= start || end > text.length) throw new Error('misplaced');
        if (words(text.slice(start, end)).join() !== word) throw new Error(`${word} is not found again`);
        if (word.length > 64 || !word.isWellFormed()) throw new Error(`${word} is no word`);
        behind = end;
      }
    }),
    { numRuns: 500 },
  );
});

t.test('which words are one character', async (t) => {
  for (const word of ['漢', 'が', 'ー', 'ที่']) t.ok(isUnspaced(word), word);
  for (const word of ['a', '1', '한', 'ه', 'हि', '👍']) t.notOk(isUnspaced(word), word);
});

t.test('rows of accents take no time', { timeout: 600_000 }, async (t) => {
  for (const letter of ['a', '漢']) {
    const text = `${letter}${'\u0301'.repeat(250_000)}${'\u0323'.repeat(250_000)}`;
    t.equal(words(text).length, 1, letter);
  }
});
