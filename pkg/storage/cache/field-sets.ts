/**
 * Field sets of managers, parsed once: all objects of one template have the same, they are half of what a small object
 * holds, and whoever compares them is done at once when they are one object.
 */
import { parseJSONText } from '#apimachinery/codec/json/text.js';

/** Characters of texts that a generation holds at most; parsed they take several times as much. */
const generationChars = 512 * 1024;
/** Longer ones are hardly ever shared. */
const maxChars = 16 * 1024;

export class FieldSets {
  #recent = new Map<string, object>();
  #older = new Map<string, object>();
  #recentChars = 0;

  /** What the JSON says; shared, not to be modified. */
  of(bytes: Buffer): object {
    const text = bytes.toString('utf8');
    if (text.length > maxChars) return parseJSONText(text) as object;
    const known = this.#recent.get(text);
    if (known !== undefined) return known;
    const set = this.#older.get(text) ?? (parseJSONText(text) as object);
    if (this.#recentChars + text.length > generationChars) {
      this.#older = this.#recent;
      this.#recent = new Map();
      this.#recentChars = 0;
    }
    this.#recent.set(text, set);
    this.#recentChars += text.length;
    return set;
  }
}
