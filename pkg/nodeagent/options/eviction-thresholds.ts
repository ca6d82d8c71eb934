/** Parses eviction thresholds, such as the value of `--eviction-hard`. */

/** Parses `memory.available<100Mi,nodefs.available<10%`; thresholds are by signal. */
export function parseEvictionThresholds(text: string): { thresholds: Record<string, string>; errors: string[] } {
  const thresholds: Record<string, string> = {};
  const errors: string[] = [];
  for (const part of text.split(',').filter((item) => item !== '')) {
    const match = /^([a-zA-Z.]+)<([0-9.]+(%|[a-zA-Z]*))$/.exec(part);
    if (match?.[1] === undefined || match[2] === undefined)
      errors.push(`${JSON.stringify(part)} is not of the form signal<quantity`);
    else thresholds[match[1]] = match[2];
  }
  return { thresholds, errors };
}
