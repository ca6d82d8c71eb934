/** Finds members that an object of a JSON text has twice: JSON.parse keeps the last one and says nothing. */

const quote = 34;
const backslash = 92;

interface Frame {
  /** Keys of an object, undefined in an array. */
  readonly keys: Set<string> | undefined;
  key: string;
  index: number;
}

function pathOf(frames: readonly Frame[]): string {
  let path = '';
  for (const frame of frames) {
    if (frame.keys === undefined) path += `[${frame.index}]`;
    else path += path === '' ? frame.key : `.${frame.key}`;
  }
  return path;
}

/** Index behind the string that starts at `at`. */
function endOfString(text: string, at: number): number {
  let i = at + 1;
  while (i < text.length) {
    const code = text.charCodeAt(i);
    if (code === backslash) i += 2;
    else if (code === quote) return i + 1;
    else i++;
  }
  return i;
}

/** Paths (`spec.containers[0].name`) of members that repeat, at most `limit`. The text must be valid JSON. */
export function duplicateKeys(text: string, limit: number): string[] {
  const found: string[] = [];
  const frames: Frame[] = [];
  let expectsKey = false;
  for (let at = 0; at < text.length && found.length < limit; at++) {
    const code = text.charCodeAt(at);
    const top = frames.at(-1);
    if (code === quote) {
      const end = endOfString(text, at);
      if (expectsKey && top?.keys !== undefined) {
        const raw = text.slice(at, end);
        top.key = raw.includes('\\') ? (JSON.parse(raw) as string) : raw.slice(1, -1);
        if (top.keys.has(top.key)) found.push(pathOf(frames));
        top.keys.add(top.key);
        expectsKey = false;
      }
      at = end - 1;
    } else if (code === 123 || code === 91) {
      expectsKey = code === 123;
      frames.push({ keys: expectsKey ? new Set() : undefined, key: '', index: 0 });
    } else if (code === 125 || code === 93) {
      frames.pop();
      expectsKey = false;
    } else if (code === 44 && top !== undefined) {
      expectsKey = top.keys !== undefined;
      top.index++;
    }
  }
  return found;
}
