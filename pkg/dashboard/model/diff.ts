/** The difference of two texts by lines: the shortest (Myers 1986), bounded for texts that have little in common. Pure. */

export interface DiffLine {
  readonly type: 'same' | 'removed' | 'added';
  readonly text: string;
}

/** More differences than these are shown as one replaced block. */
const maxDifferences = 1500;

export function diffLines(before: string, after: string): DiffLine[] {
  const a = before.split('\n');
  const b = after.split('\n');
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end++;
  const same = (text: string): DiffLine => ({ type: 'same', text });
  return [
    ...a.slice(0, start).map(same),
    ...middle(a.slice(start, a.length - end), b.slice(start, b.length - end)),
    ...a.slice(a.length - end).map(same),
  ];
}

function middle(a: readonly string[], b: readonly string[]): DiffLine[] {
  const replaced = (): DiffLine[] => [
    ...a.map((text): DiffLine => ({ type: 'removed', text })),
    ...b.map((text): DiffLine => ({ type: 'added', text })),
  ];
  if (a.length === 0 || b.length === 0) return replaced();
  const offset = a.length + b.length + 1;
  const furthest = new Int32Array(2 * offset + 1);
  const trace: Int32Array[] = [];
  for (let d = 0; d <= Math.min(maxDifferences, a.length + b.length); d++) {
    trace.push(furthest.slice(offset - d - 1, offset + d + 2));
    for (let k = -d; k <= d; k += 2) {
      const down = k === -d || (k !== d && at(furthest, offset + k - 1) < at(furthest, offset + k + 1));
      let x = down ? at(furthest, offset + k + 1) : at(furthest, offset + k - 1) + 1;
      while (x < a.length && x - k < b.length && a[x] === b[x - k]) x++;
      furthest[offset + k] = x;
      if (x >= a.length && x - k >= b.length) return walkBack(a, b, trace);
    }
  }
  return replaced();
}

function walkBack(a: readonly string[], b: readonly string[], trace: readonly Int32Array[]): DiffLine[] {
  const lines: DiffLine[] = [];
  let x = a.length;
  let y = b.length;
  for (let d = trace.length - 1; d >= 0; d--) {
    const furthest = trace[d] as Int32Array;
    const value = (k: number) => at(furthest, k + d + 1);
    const k = x - y;
    const before = k === -d || (k !== d && value(k - 1) < value(k + 1)) ? k + 1 : k - 1;
    const beforeX = d === 0 ? 0 : value(before);
    const beforeY = beforeX - before;
    while (x > Math.max(0, beforeX) && y > Math.max(0, beforeY) && a[x - 1] === b[y - 1]) {
      lines.push({ type: 'same', text: a[x - 1] as string });
      x--;
      y--;
    }
    if (d === 0) break;
    if (x === beforeX) lines.push({ type: 'added', text: b[--y] as string });
    else lines.push({ type: 'removed', text: a[--x] as string });
  }
  return lines.reverse();
}

function at(values: Int32Array, index: number): number {
  return values[index] ?? 0;
}
