/** `orch backup`: saves, restores, lists, schedules and verifies backups. */

import { rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { stdout } from 'node:process';
import { realClock } from '#apimachinery/clock.js';
import { readManifest, verifyBackup } from '#cluster/backup/contents.js';
import { stepsForOthers } from '#cluster/backup/other-servers.js';
import { fetchBackup, pruneBackups, saveTo } from '#cluster/backup/places.js';
import { dueInMs, readPlan } from '#cluster/backup/plan.js';
import { isBucketAddress, RemoteBackups } from '#cluster/backup/remote-backups.js';
import { restoreBackup } from '#cluster/backup/restore.js';
import { s3Options } from '#cluster/backup/s3/options.js';
import type { SavedBackup } from '#cluster/backup/save.js';
import { listBackups, ownBackups } from '#cluster/backup/scheduled.js';
import { type Layout, layoutOf } from '#cluster/config/layout.js';
import { dataDir, etcdOptions } from '#cluster/config/options.js';
import { readSettings } from '#cluster/config/settings.js';
import { chooseEtcd } from '#cluster/etcd/access.js';
import { replaceFile } from '#cluster/process/replace-file.js';
import { formatBytes } from '#cluster/terminal/format.js';
import { progressPrinter, step } from '#cluster/terminal/progress.js';
import { SetupError } from '#cluster/terminal/setup-error.js';
import { runSubcommand } from '#cluster/terminal/subcommand.js';
import { OptionsError, type OptionTable } from '#daemon/options/option.js';

const help = `orch backup saves a cluster to a folder, and restores it.

Usage:
  orch backup save              back up the running cluster
  orch backup fetch NAME        copy a backup out of a bucket
  orch backup restore FOLDER    restore a cluster; start it with orch up
  orch backup schedule          make backups regularly while the cluster runs
  orch backup list              list the backups
  orch backup verify FOLDER     check that a backup is complete

Help of a command: orch backup save --help
`;

export async function backup(argv: readonly string[]): Promise<number> {
  return runSubcommand('orch backup', help, argv, {
    save: {
      table: saveOptions,
      description: 'Back up the running cluster.',
      run: async ({ values }) => {
        const layout = layoutOf(resolve(values['data-dir']));
        const etcd = chooseEtcd(values, layout);
        const place = values.to ?? layout.backups;
        const sink = progressPrinter(stdout, realClock);
        const note = ({ objects, bytes }: SavedBackup) => `${objects} objects, ${formatBytes(bytes)}`;
        const own = etcd.settings === undefined ? undefined : { layout, dialect: etcd.settings.dialect };
        const context = { values, env: process.env, clock: realClock, place };
        const saved = await step(sink, 'backup saved', () => saveTo({ access: etcd.access, own, ...context }), note);
        stdout.write(`${saved.folder}\n`);
        if (values.keep > 0)
          for (const name of await pruneBackups({ ...context, keep: values.keep, saved }))
            stdout.write(`removed ${name}\n`);
        return 0;
      },
    },
    fetch: {
      table: fetchOptions,
      description: 'Copy a backup out of a bucket, and check it.',
      argument: 'NAME',
      run: async ({ values, argument }) => {
        const { from, into } = values;
        if (from === undefined || !isBucketAddress(from))
          throw new OptionsError(['--from: must be s3://BUCKET/PREFIX']);
        const context = { values, env: process.env, clock: realClock };
        stdout.write(`${await fetchBackup({ place: from, name: argument, into: resolve(into), ...context })}\n`);
        return 0;
      },
    },
    restore: {
      table: restoreOptions,
      description: 'Restore a cluster from a backup.',
      argument: 'FOLDER',
      run: async ({ values, argument }) => {
        const layout = layoutOf(resolve(values['data-dir']));
        const { time, objects, others } = await restoreBackup({
          from: resolve(argument),
          layout,
          replace: values.replace,
          path: process.env['PATH'] ?? '',
          progress: progressPrinter(stdout, realClock),
        });
        stdout.write(`\n${layout.root} holds the cluster of ${time} with ${objects} objects. Start it:\n\n`);
        stdout.write(`  orch up --data-dir=${layout.root}\n`);
        const steps = stepsForOthers(others, layout.root);
        if (steps.length > 0) stdout.write(`\n${steps.join('\n')}\n`);
        return 0;
      },
    },
    schedule: {
      table: scheduleOptions,
      description: 'Make backups regularly while the cluster runs.',
      run: async ({ values, given }) => {
        const layout = layoutOf(resolve(values['data-dir']));
        if (isBucketAddress(values.to ?? ''))
          throw new OptionsError([
            '--to: the cluster makes its backups in a folder; a timer may copy them to a bucket',
          ]);
        if (readSettings(layout.settings) === undefined) throw new SetupError(`${layout.root} holds no cluster`);
        if (values.off) rmSync(layout.backupPlan, { force: true });
        else if (['every', 'keep', 'to'].some((name) => given.has(name)) || readPlan(layout.backupPlan) === undefined) {
          const plan = { everyMs: values.every, keep: values.keep, to: resolve(values.to ?? layout.backups) };
          replaceFile(layout.backupPlan, `${JSON.stringify(plan, null, 2)}\n`);
        }
        stdout.write(await describePlan(layout));
        return 0;
      },
    },
    list: {
      table: listOptions,
      description: 'List the backups, oldest first.',
      run: async ({ values }) => {
        const layout = layoutOf(resolve(values['data-dir']));
        if (isBucketAddress(values.to ?? '')) {
          const remote = new RemoteBackups(values.to ?? '', values, { env: process.env, clock: realClock });
          for (const name of await remote.names()) stdout.write(`${name}\n`);
          return 0;
        }
        const folder = resolve(values.to ?? readPlan(layout.backupPlan)?.to ?? layout.backups);
        const backups = await listBackups(folder);
        if (backups.length === 0) stdout.write(`There are no backups in ${folder}.\n`);
        for (const { name, manifest } of backups) {
          const { time, objects, version } = manifest;
          stdout.write(`${join(folder, name)}  ${time}  ${objects} objects  ${version}\n`);
        }
        return 0;
      },
    },
    verify: {
      table: {},
      description: 'Check that a backup is complete.',
      argument: 'FOLDER',
      run: async ({ argument }) => {
        await verifyBackup(resolve(argument));
        const { time, objects } = await readManifest(resolve(argument));
        stdout.write(`${argument} is complete: ${time}, ${objects} objects\n`);
        return 0;
      },
    },
  });
}

async function describePlan(layout: Layout): Promise<string> {
  const plan = readPlan(layout.backupPlan);
  if (plan === undefined) return 'No backups are scheduled.\n';
  const own = await ownBackups(layout, plan.to);
  const minutes = Math.ceil(dueInMs(plan, own, realClock.now()) / 60_000);
  const next = minutes === 0 ? 'as soon as the cluster runs' : `in ${minutes} minutes, if the cluster runs`;
  const last = own.at(-1);
  return [
    `Every ${plan.everyMs / 60_000} minutes, into ${plan.to}; the newest ${plan.keep} are kept.`,
    `The last one: ${last === undefined ? 'none yet' : `${last.name}, of ${last.manifest.time}`}.`,
    `The next one: ${next}.`,
    '',
  ].join('\n');
}

const hourMs = 3_600_000;

const to = {
  type: 'string',
  section: 'Backup',
  meaning:
    'Folder in which each backup gets its own folder, or s3://BUCKET/PREFIX. Default: the data directory with -backups after its name.',
} as const;

const saveOptions = {
  ...dataDir,
  to,
  keep: {
    type: 'int',
    default: 0,
    min: 0,
    section: 'Backup',
    meaning: 'Number of backups of this cluster to keep there, in a bucket of all with that prefix; 0: all.',
  },
  ...etcdOptions,
  ...s3Options,
} as const satisfies OptionTable;

const fetchOptions = {
  from: { type: 'string', section: 'Backup', meaning: 'Address of the backups, s3://BUCKET/PREFIX.' },
  into: { type: 'string', default: '.', section: 'Backup', meaning: 'Folder for the copy.' },
  ...s3Options,
} as const satisfies OptionTable;

const restoreOptions = {
  ...dataDir,
  replace: {
    type: 'bool',
    section: 'Cluster',
    meaning: 'Replace the cluster in the data directory; its store and keys are kept beside the restored ones.',
  },
} as const satisfies OptionTable;

const scheduleOptions = {
  ...dataDir,
  every: {
    type: 'duration',
    default: 6 * hourMs,
    min: 60_000,
    section: 'Backup',
    meaning: 'Time between two backups.',
  },
  keep: { type: 'int', default: 28, min: 1, section: 'Backup', meaning: 'Number of backups to keep.' },
  to: { ...to, meaning: 'Folder of the backups. Default: the data directory with -backups after its name.' },
  off: { type: 'bool', section: 'Backup', meaning: 'Stop making backups; existing ones stay.' },
} as const satisfies OptionTable;

const listOptions = { ...dataDir, to, ...s3Options } as const satisfies OptionTable;
