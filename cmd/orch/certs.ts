/** `orch certs`: the certificates of a cluster of this machine, and how long they last. */
import { existsSync, readdirSync } from 'node:fs';
import { resolve } from 'node:path';
import { stderr, stdout } from 'node:process';
import { realClock } from '#apimachinery/clock.js';
import { dataDir } from '#cmd/orch/context/data-dir.js';
import { layoutOf } from '#cmd/orch/context/layout.js';
import { type CertificateReport, reportCertificates } from '#cmd/orch/pki/report.js';
import { formatColumns } from '#cmd/orch/terminal/columns.js';
import { outputOption } from '#cmd/orch/terminal/output-option.js';
import { SetupError } from '#cmd/orch/terminal/setup-error.js';
import { helpText } from '#daemon/options/help.js';
import type { OptionTable } from '#daemon/options/option.js';
import { parseOptions } from '#daemon/options/parse.js';
import { defaultRenewBeforeMs } from '#pki/ensure.js';

const program = 'orch certs';
const renewBeforeDays = defaultRenewBeforeMs / (24 * 3600_000);

const certsOptions = { ...dataDir, ...outputOption } as const satisfies OptionTable;

/** Exit code 1 when one has ended or cannot be read: for scripts that watch over them. */
export async function certs(argv: readonly string[]): Promise<number> {
  const parsed = parseOptions(certsOptions, argv, { program });
  if (parsed.kind !== 'run') {
    const description = 'Show the certificates of a cluster of this machine, and how long they last.';
    stdout.write(helpText(certsOptions, { program, description }));
    return 0;
  }
  const layout = layoutOf(resolve(parsed.values['data-dir']));
  if (!existsSync(layout.pki)) throw new SetupError(`${layout.root} holds no certificates: give the --data-dir`);
  const files = readdirSync(layout.pki).filter((name) => name.endsWith('.crt'));
  const found = reportCertificates(layout.pki, files, realClock.now());
  stdout.write(parsed.values.output === 'json' ? `${JSON.stringify(found, null, 2)}\n` : tableOf(found));
  const soon = found.filter(({ daysLeft = 0 }) => daysLeft < renewBeforeDays);
  if (soon.length > 0) {
    stderr.write(
      `${soon.length} of them end in less than ${renewBeforeDays} days: orch down and orch up renew them.\n`,
    );
  }
  return found.some(({ daysLeft = -1 }) => daysLeft < 0) ? 1 : 0;
}

function tableOf(found: readonly CertificateReport[]): string {
  const rows = found.map(({ file, subject, issuer, notAfter = '', daysLeft, problem }) => [
    file,
    daysLeft === undefined ? (problem ?? '') : daysLeft < 0 ? 'ended' : String(daysLeft),
    notAfter.slice(0, 10),
    subject,
    issuer,
  ]);
  return formatColumns([['FILE', 'DAYS LEFT', 'ENDS', 'SUBJECT', 'ISSUER'], ...rows]);
}
