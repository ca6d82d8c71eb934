/** The strings of a JSON list; empty if the text is absent or not a list. */
export function parseJsonList(text: string | undefined): string[] {
  if (text === undefined || text === '') return [];
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [];
  } catch {
    // Another program publishes it: unreadable text allows no name.
    return [];
  }
}
