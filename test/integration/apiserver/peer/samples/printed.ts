/** Objects for tables: states, times, truncated lists, and unset fields. */
import { printedAdministration } from '#test/integration/apiserver/peer/samples/printed-administration.js';
import { printedCore } from '#test/integration/apiserver/peer/samples/printed-core.js';
import { printedPods } from '#test/integration/apiserver/peer/samples/printed-pods.js';
import { printedWorkloads } from '#test/integration/apiserver/peer/samples/printed-workloads.js';
import type { PrintedSamples } from '#test/integration/apiserver/peer/samples/sample.js';

const all: Readonly<Record<string, PrintedSamples>> = {
  ...printedCore,
  ...printedWorkloads,
  ...printedAdministration,
  'core.pods': printedPods,
};

/** `file` is the kind's: `core.v1.pods`. */
export function printedSamples(file: string): PrintedSamples {
  const [group = '', , resource = ''] = file.split('.');
  return all[file] ?? all[`${group}.${resource}`] ?? {};
}
