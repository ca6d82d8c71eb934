/** The report at the end of `orch test -- COMMAND`. */
import { writeFile } from 'node:fs/promises';
import type { RunningCluster } from '#testcluster/command/running-cluster.js';
import { reportText } from '#testcluster/report/text.js';

/** Resolves with the exit code: the command's, or 1 if it succeeded and there are findings of `fail-on`. */
export async function reported(
  cluster: Pick<RunningCluster, 'report'>,
  values: { readonly 'fail-on': readonly string[]; readonly report?: string | undefined },
  code: number,
): Promise<number> {
  const failOn = values['fail-on'];
  const file = values.report ?? '';
  if (failOn.length === 0 && file === '') return code;
  const report = await cluster.report(failOn);
  if (file !== '') await writeFile(file, `${JSON.stringify(report, undefined, 2)}\n`);
  if (report.failed.length === 0) return code;
  process.stderr.write(`${reportText(report)}orch test: there are findings of ${report.failed.join(', ')}\n`);
  return code === 0 ? 1 : code;
}
