/** Lines of Markdown tables between two marks of a page. Pure. */

/**
 * Replaces the row whose first cells are `key`, or inserts it at its place in alphabetical order.
 * @throws Error: the page lacks the marks.
 */
export function withRow(page: string, mark: string, key: readonly string[], cells: readonly string[]): string {
  const row = (words: readonly string[]) => `| ${words.join(' | ')} |`;
  return withSection(page, mark, (lines) => {
    const beginning = `| ${key.join(' | ')} | `;
    const [title = '', rule = '', ...rows] = lines;
    const others = rows.filter((line) => !line.startsWith(beginning));
    return [title, rule, ...[...others, row([...key, ...cells])].sort()];
  });
}

/** Replaces the lines between the marks. */
function withSection(page: string, mark: string, change: (lines: readonly string[]) => readonly string[]): string {
  const lines = page.split('\n');
  const [begin, end] = [lines.indexOf(`<!-- ${mark}: begin -->`), lines.indexOf(`<!-- ${mark}: end -->`)];
  if (begin < 0 || end < begin) throw new Error(`the page has no section ${mark}`);
  return [...lines.slice(0, begin + 1), ...change(lines.slice(begin + 1, end)), ...lines.slice(end)].join('\n');
}
