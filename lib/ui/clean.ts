// Text of models, tools and extensions is somebody else's: nothing in it may move the cursor, set the title, write the
// clipboard or hide a part of what is shown. Everything goes through here before it reaches a terminal.

/** A string sequence (OSC, DCS, …) longer than this is not taken for one: its text stays visible. */
const maxStringSequence = 4096;
const csi = '(?:\\x1b\\[|\\x9b)[0-?]*[ -/]*';
const string = `(?:\\x1b[\\]PX^_]|[\\x90\\x98\\x9d-\\x9f])[^\\x07\\x1b\\x9c]{0,${maxStringSequence}}`;
const complete = new RegExp(`${csi}[@-~]|${string}(?:\\x07|\\x1b\\\\|\\x9c)|\\x1b[ -/]*[0-OQ-WYZ\\\\\`-~]`, 'g');
const incomplete = new RegExp(`(?:${csi}|${string}\\x1b?|\\x1b[ -/]*|\\r)$`);
/** Control characters of C0 and C1 without tab and newline; what is left of a broken sequence goes with its ESC only. */
const controls = /[\x00-\x08\x0b-\x1f\x7f-\x9f]/g;
/** Characters that reorder or hide text without being control characters (bidirectional controls, zero width). */
const deceptive = /[\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g;

function strip(text: string): string {
  return text.replace(complete, '').replace(/\r\n?/g, '\n').replace(controls, '');
}

/** The text without control sequences; tabs and newlines stay, a lone carriage return becomes a newline. */
export function cleanText(text: string): string {
  return strip(text);
}

/** The text as ONE line for a label or a question: newlines become "⏎", what could reorder or hide text is written as `\u{…}`. */
export function cleanLine(text: string): string {
  return strip(text)
    .trim()
    .replace(/\n/g, ' ⏎ ')
    .replace(/\t/g, ' ')
    .replace(deceptive, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`);
}

/** cleanText for text that arrives in pieces: a sequence cut by the border of two pieces is still recognised. */
export function createCleaner(): { push(piece: string): string; end(): string } {
  let pending = '';
  return {
    push(piece) {
      const text = (pending + piece).replace(complete, '');
      const cut = incomplete.exec(text)?.index ?? text.length;
      pending = text.slice(cut);
      return strip(text.slice(0, cut));
    },
    end() {
      const rest = strip(pending);
      pending = '';
      return rest;
    },
  };
}
