/** `orch certs`: shows the certificates of this machine, and renews them. */
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { stderr, stdout } from 'node:process';
import { realClock } from '#apimachinery/clock.js';
import { type Layout, layoutOf } from '#cluster/config/layout.js';
import { dataDir, outputOption } from '#cluster/config/options.js';
import { readSettings } from '#cluster/config/settings.js';
import { renewCertificates } from '#cluster/pki/renew-certificates.js';
import { type CertificateReport, reportCertificates } from '#cluster/pki/report.js';
import { readIdentity } from '#cluster/process/identity.js';
import { formatColumns } from '#cluster/terminal/format.js';
import { SetupError } from '#cluster/terminal/setup-error.js';
import { commandOptions } from '#cluster/terminal/subcommand.js';
import type { OptionTable } from '#daemon/options/option.js';
import { defaultRenewBeforeMs } from '#pki/ensure.js';

const program = 'orch certs';
const renewBeforeDays = defaultRenewBeforeMs / (24 * 3600_000);

const certsOptions = { ...dataDir, ...outputOption } as const satisfies OptionTable;

const renewOptions = {
  ...dataDir,
  force: {
    type: 'bool',
    section: 'Certificates',
    meaning: `Renew certificates that end later than in ${renewBeforeDays} days too.`,
  },
} as const satisfies OptionTable;

/** Exit code 1, for scripts, when a certificate has expired, is unreadable, or cannot be renewed. */
export async function certs(argv: readonly string[]): Promise<number> {
  const [first, ...rest] = argv;
  if (first === 'renew') return renew(rest);
  const description =
    'Show the certificates of this machine and how long they last. A running cluster renews them by itself; to renew them now: orch certs renew';
  const parsed = commandOptions(certsOptions, argv, { program, description });
  if (parsed === undefined) return 0;
  const layout = layoutOf(resolve(parsed.values['data-dir']));
  const reports = reportCertificates(checked(layout), realClock.now());
  stdout.write(parsed.values.output === 'json' ? `${JSON.stringify(reports, null, 2)}\n` : formatTable(reports));
  const soon = reports.filter(({ daysLeft = 0 }) => daysLeft < renewBeforeDays);
  if (soon.length > 0) {
    const renewing =
      readIdentity(layout.process) !== undefined
        ? 'the running cluster renews them within a day; to renew them at once:'
        : 'to renew them:';
    stderr.write(
      `${soon.length} certificates end in less than ${renewBeforeDays} days; ${renewing} orch certs renew\n`,
    );
  }
  return reports.some(({ daysLeft = -1 }) => daysLeft < 0) ? 1 : 0;
}

async function renew(argv: readonly string[]): Promise<number> {
  const description = `Renew certificates now: those that end within ${renewBeforeDays} days, or all with --force; with names, as orch certs shows them, only these. Running programs use the new certificates within a minute, without a restart.`;
  const parsed = commandOptions(renewOptions, argv, {
    ...{ program: `${program} renew`, synopsis: `${program} renew [NAME...]`, description, allowArgs: true },
  });
  if (parsed === undefined) return 0;
  const layout = checked(layoutOf(resolve(parsed.values['data-dir'])));
  const settings = readSettings(layout.settings);
  const renewBeforeMs = parsed.values.force ? Number.POSITIVE_INFINITY : defaultRenewBeforeMs;
  const options = { now: realClock.now(), renewBeforeMs, names: parsed.args };
  const joinedNode = settings?.joined === undefined ? undefined : settings.nodes[0];
  const { failed, renewed } =
    settings === undefined || joinedNode === undefined
      ? await renewCertificates(layout, options)
      : await (await import('#cluster/pki/renew-node.js')).renewNodeCertificates(layout, settings, {
          ...{ ...options, clock: realClock },
        });
  for (const file of renewed) stdout.write(`${file} renewed\n`);
  for (const [file, why] of failed) stderr.write(`${file} cannot be renewed: ${why}\n`);
  if (renewed.length === 0 && failed.size === 0)
    stdout.write(`No certificate ends within ${renewBeforeDays} days; --force renews them anyway.\n`);
  else if (renewed.length > 0 && readIdentity(layout.process) !== undefined)
    stdout.write('Running programs use them within a minute; no restart is needed.\n');
  return failed.size === 0 ? 0 : 1;
}

function checked(layout: Layout): Layout {
  if (!existsSync(layout.pki)) throw new SetupError(`${layout.root} holds no certificates; give the --data-dir`);
  return layout;
}

function formatTable(reports: readonly CertificateReport[]): string {
  const rows = reports.map(({ file, subject, issuer, notAfter = '', daysLeft, problem }) => [
    file,
    daysLeft === undefined ? (problem ?? '') : daysLeft < 0 ? 'ended' : String(daysLeft),
    notAfter.slice(0, 10),
    subject,
    issuer,
  ]);
  return formatColumns([['FILE', 'DAYS LEFT', 'ENDS', 'SUBJECT', 'ISSUER'], ...rows]);
}
