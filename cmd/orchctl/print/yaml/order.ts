/** The order of keys in go-yaml: letters after other characters, and numbers by their value. Pure. */

const letter = /^\p{L}$/u;
const digit = /^\p{Nd}$/u;

export function keysInOrder(keys: readonly string[]): string[] {
  return keys.toSorted(compare);
}

function compare(a: string, b: string): number {
  const [left, right] = [[...a], [...b]];
  for (let i = 0; i < left.length && i < right.length; i += 1) {
    const [x = '', y = ''] = [left[i], right[i]];
    if (x === y) continue;
    const [xIsLetter, yIsLetter] = [letter.test(x), letter.test(y)];
    if (xIsLetter && yIsLetter) return x < y ? -1 : 1;
    if (xIsLetter || yIsLetter) return yIsLetter ? -1 : 1;
    return compareNumbers(left, right, i) || (x < y ? -1 : 1);
  }
  return left.length - right.length;
}

/** The numbers that begin at the place where the texts differ; zero if there are none, or equal ones of one length. */
function compareNumbers(left: readonly string[], right: readonly string[], at: number): number {
  let start = 0;
  if (left[at] === '0' || right[at] === '0') {
    for (let j = at - 1; j >= 0 && digit.test(left[j] ?? ''); j -= 1) if (left[j] !== '0') start = 1;
  }
  const [a, b] = [numberAt(left, at, start), numberAt(right, at, start)];
  return a.value - b.value || a.end - b.end;
}

function numberAt(text: readonly string[], at: number, start: number): { value: number; end: number } {
  let value = start;
  let end = at;
  for (; end < text.length && digit.test(text[end] ?? ''); end += 1) value = value * 10 + Number(text[end]);
  return { value, end };
}
