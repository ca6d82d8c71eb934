/**
 * Field sets of managers, parsed once: all objects of one template have the same, they are half of what a small object
 * holds, and whoever compares them is done at once when they are one object.
 */

/** Characters of texts that a generation holds at most; parsed they take several times as much. */
const generationChars = 512 * 1024;
/** Longer ones are hardly ever shared. */
const maxChars = 16 * 1024;

let recent = new Map<string, object>();
let older = new Map<string, object>();
let recentChars = 0;

/** What the JSON says; shared, not to be modified. */
export function fieldSetOf(bytes: Buffer): object {
  const text = bytes.toString('utf8');
  if (text.length > maxChars) return JSON.parse(text) as object;
  const known = recent.get(text);
  if (known !== undefined) return known;
  const set = older.get(text) ?? (JSON.parse(text) as object);
  if (recentChars + text.length > generationChars) {
    older = recent;
    recent = new Map();
    recentChars = 0;
  }
  recent.set(text, set);
  recentChars += text.length;
  return set;
}
