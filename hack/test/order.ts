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

/**
 * Folders whose tests share nothing but the programs they load, which took most of their time in a process for each file,
 * and how many files share one: few enough that none takes as long as the last of the long ones, and that what fails is found.
 */
const together: Readonly<Record<string, number>> = {
  'pkg/api': 16,
  'pkg/apimachinery': 16,
  'pkg/apiserver': 16,
  'pkg/client': 16,
  'pkg/cloud': 16,
  'pkg/controllers': 16,
  'pkg/dns': 16,
  'pkg/http': 16,
  'pkg/ingress': 16,
  'pkg/nodeagent': 16,
  'pkg/proxy': 16,
  'pkg/scheduler': 16,
  'pkg/storage': 16,
  'test/integration/apiserver': 6,
};

/**
 * What is run by one process each. What takes longest comes first, so that nothing long is left over for the end, when
 * other processors have no work; the rest is sorted by name.
 */
export function inOrder(files: readonly string[]): string[][] {
  const rank = (file: string) => {
    const place = longest.findIndex((path) => file.includes(`/${path}`));
    return place === -1 ? longest.length : place;
  };
  const batches: string[][] = [];
  let last: string | undefined;
  for (const file of files.toSorted((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1))) {
    const folder = Object.keys(together).find((path) => file.includes(`/${path}/`));
    const batch = folder !== undefined && folder === last ? batches.at(-1) : undefined;
    if (batch !== undefined && folder !== undefined && batch.length < (together[folder] ?? 1)) batch.push(file);
    else batches.push([file]);
    last = folder;
  }
  return batches;
}
