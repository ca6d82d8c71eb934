/** The entries of the palette that a text means, best first. Pure. */
export interface PaletteEntry {
  readonly title: string;
  /** What it is: a page, a kind, a namespace. */
  readonly what: string;
  /** More words by which it is called. */
  readonly words?: string;
  readonly link: string;
}

export function matchingEntries(entries: readonly PaletteEntry[], text: string, limit: number): PaletteEntry[] {
  const lower = text.trim().toLowerCase();
  const ranked = entries.flatMap((entry) => {
    const rank = rankOf(entry, lower);
    return rank === undefined ? [] : [{ entry, rank }];
  });
  const seen = new Set<string>();
  const best: PaletteEntry[] = [];
  for (const { entry } of ranked.sort((a, b) => a.rank - b.rank)) {
    if (seen.has(entry.link) || best.length >= limit) continue;
    seen.add(entry.link);
    best.push(entry);
  }
  return best;
}

/** The whole name, its beginning, a part of it, its letters in order. */
function rankOf({ title, words = '' }: PaletteEntry, text: string): number | undefined {
  if (text === '') return 0;
  const lower = title.toLowerCase();
  const others = words.split(' ');
  if (lower === text || others.includes(text)) return 0;
  if (lower.startsWith(text)) return 1;
  if (lower.includes(text)) return 2;
  if (others.some((word) => word.startsWith(text))) return 3;
  let at = 0;
  for (const letter of text) {
    at = lower.indexOf(letter, at) + 1;
    if (at === 0) return undefined;
  }
  return 4;
}
