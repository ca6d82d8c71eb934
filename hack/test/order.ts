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

/** What takes longest comes first, so that nothing long is left over for the end, when other processors have no work. */
export function longestFirst(files: readonly string[]): string[] {
  const rank = (file: string) => {
    const found = longest.findIndex((path) => file.includes(`/${path}`));
    return found === -1 ? longest.length : found;
  };
  return files.toSorted((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1));
}
