/** `orch backup`: saves, restores, lists, and makes backups by itself. */

import { rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { stdout } from 'node:process';
import { realClock } from '#apimachinery/clock.js';
import { readManifest, verifyBackup } from '#cmd/orch/backup/contents.js';
import { stepsForOthers } from '#cmd/orch/backup/other-servers.js';
import { dueInMs, readPlan } from '#cmd/orch/backup/plan.js';
import { restoreBackup } from '#cmd/orch/backup/restore.js';
import { type SavedBackup, saveFrom } from '#cmd/orch/backup/save.js';
import { keptBackups, ownBackups } from '#cmd/orch/backup/scheduled.js';
import { dataDir } from '#cmd/orch/context/data-dir.js';
import { etcdOptions } from '#cmd/orch/context/etcd-options.js';
import { type Layout, layoutOf } from '#cmd/orch/context/layout.js';
import { readSettings } from '#cmd/orch/context/settings.js';
import { replaceFile } from '#cmd/orch/process/replace-file.js';
import { chooseEtcd } from '#cmd/orch/store/etcd-access.js';
import { formatBytes } from '#cmd/orch/terminal/bytes.js';
import { progressPrinter, step } from '#cmd/orch/terminal/progress.js';
import { SetupError } from '#cmd/orch/terminal/setup-error.js';
import { runSubcommand } from '#cmd/orch/terminal/subcommand.js';
import type { OptionTable } from '#daemon/options/option.js';

const help = `orch backup keeps what a cluster is in a folder, and makes a cluster of it again.

Usage:
  orch backup save              make a backup of the cluster that runs
  orch backup restore FOLDER    make a cluster of a backup; start it with orch up
  orch backup schedule          let the cluster make backups by itself
  orch backup list              show the backups that there are
  orch backup verify FOLDER     check that a backup is whole

More on one: orch backup save --help
`;

export async function backup(argv: readonly string[]): Promise<number> {
  return runSubcommand('orch backup', help, argv, {
    save: {
      table: saveOptions,
      description: 'Make a backup of the cluster that runs.',
      run: async ({ values }) => {
        const layout = layoutOf(resolve(values['data-dir']));
        const etcd = chooseEtcd(values, layout);
        const to = resolve(values.to ?? layout.backups);
        const sink = progressPrinter(stdout, realClock);
        const note = ({ objects, bytes }: SavedBackup) => `${objects} objects, ${formatBytes(bytes)}`;
        const own = etcd.settings === undefined ? undefined : { layout, dialect: etcd.settings.dialect };
        const { folder } = await step(sink, 'backup saved', () => saveFrom(etcd.access, own, to), note);
        stdout.write(`${folder}\n`);
        return 0;
      },
    },
    restore: {
      table: restoreOptions,
      description: 'Make a cluster of a backup.',
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
      description: 'Let the cluster make backups by itself while it runs.',
      run: async ({ values, given }) => {
        const layout = layoutOf(resolve(values['data-dir']));
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
      description: 'Show the backups that there are, oldest first.',
      run: async ({ values }) => {
        const layout = layoutOf(resolve(values['data-dir']));
        const folder = resolve(values.to ?? readPlan(layout.backupPlan)?.to ?? layout.backups);
        const found = await keptBackups(folder);
        if (found.length === 0) stdout.write(`There are no backups in ${folder}.\n`);
        for (const { name, manifest } of found) {
          const { time, objects, version } = manifest;
          stdout.write(`${join(folder, name)}  ${time}  ${objects} objects  ${version}\n`);
        }
        return 0;
      },
    },
    verify: {
      table: {},
      description: 'Check that a backup is whole.',
      argument: 'FOLDER',
      run: async ({ argument }) => {
        await verifyBackup(resolve(argument));
        const { time, objects } = await readManifest(resolve(argument));
        stdout.write(`${argument} is whole: ${time}, ${objects} objects\n`);
        return 0;
      },
    },
  });
}

async function describePlan(layout: Layout): Promise<string> {
  const plan = readPlan(layout.backupPlan);
  if (plan === undefined) return 'No backups are made by themselves.\n';
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

const saveOptions = {
  ...dataDir,
  to: {
    type: 'string',
    section: 'Backup',
    meaning:
      'Folder in which a folder for the backup is made. Default: the data directory with -backups behind its name.',
  },
  ...etcdOptions,
} as const satisfies OptionTable;

const restoreOptions = {
  ...dataDir,
  replace: {
    type: 'bool',
    section: 'Cluster',
    meaning:
      'A cluster that is in the data directory makes way; its store and its keys are kept beside the restored ones.',
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
  keep: { type: 'int', default: 28, min: 1, section: 'Backup', meaning: 'How many backups are kept.' },
  to: saveOptions.to,
  off: { type: 'bool', section: 'Backup', meaning: 'Make no more backups; those that there are stay.' },
} as const satisfies OptionTable;

const listOptions = { ...dataDir, to: saveOptions.to } as const satisfies OptionTable;
