/** Wraps descriptions as kubectl's explain does: paragraphs, lists and code keep their lines. Pure. */

/** @param columns Longest line; a longer word stays whole. */
export function wrapped(text: string, columns: number): string[] {
  const lines: string[] = [];
  let words: string[] = [];
  let lastWord = '';
  const flush = () => {
    if (words.length === 0) return;
    lastWord = '';
    lines.push(words.join(' '));
    words = [];
  };
  for (const line of text.split('\n')) {
    if (line.startsWith('    ')) {
      flush();
      lines.push(line);
      continue;
    }
    const isEmpty = line.trim() === '';
    if (lines.length > 0 && isEmpty) {
      flush();
      lines.push('');
      continue;
    }
    if (lastWord.endsWith(':') || isEmpty || /^(\d+\.?|-|\*)\s/.test(line.trim())) flush();
    for (const word of line.split(/\s+/).filter((each) => each !== '')) {
      lastWord = word;
      if (words.length > 0 && [...words, word].join(' ').length > columns) {
        flush();
        lastWord = word;
      }
      words.push(word);
    }
  }
  flush();
  return lines;
}
