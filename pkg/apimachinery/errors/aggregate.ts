/** One message for several errors, each once, as 1.24 joins them: `[a, b]`, and a single one as it is. Pure. */
export function aggregate(messages: readonly string[]): string {
  const distinct = [...new Set(messages)];
  return distinct.length === 1 ? (distinct[0] ?? '') : `[${distinct.join(', ')}]`;
}
