/** Folders and files of tests that take minutes, the longest first. */
const longest = [
  'test/e2e/kubectl/session',
  'test/e2e/chaos',
  'test/e2e/clients-that-leave',
  'test/e2e/kubectl',
  'test/e2e/faults',
  'test/e2e/streaming',
  'test/e2e',
  'test/integration',
];

/** Folders whose tests share nothing and are short: starting a process for each file took most of their time. */
const together = ['pkg/api', 'pkg/apimachinery'];

/**
 * What is run by one process each. What takes longest comes first, so that nothing long is left over for the end, when
 * other processors have no work; the rest is sorted by name.
 */
export function inOrder(files: readonly string[]): string[][] {
  const rank = (file: string) => {
    const found = longest.findIndex((path) => file.includes(`/${path}`));
    return found === -1 ? longest.length : found;
  };
  const sorted = files.toSorted((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1));
  const batches = new Map<string, string[]>();
  for (const file of sorted) {
    const key = together.find((folder) => file.includes(`/${folder}/`)) ?? file;
    batches.set(key, [...(batches.get(key) ?? []), file]);
  }
  return [...batches.values()];
}
