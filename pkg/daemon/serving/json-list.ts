/** The strings of a JSON list; none where the text is absent or something else. */
export function parseJsonList(text: string | undefined): string[] {
  if (text === undefined || text === '') return [];
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [];
  } catch {
    // Published by another program: what cannot be read allows nobody.
    return [];
  }
}
