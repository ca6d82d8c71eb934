/** `orch hosted-etcd`: what the pods and Jobs of a control plane that runs in a cluster do with its etcd. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { env, stdout } from 'node:process';
import { realClock } from '#apimachinery/clock.js';
import { fetchBackup } from '#cluster/backup/places.js';
import { s3Options } from '#cluster/backup/s3/options.js';
import { enterEtcd, enteringPods } from '#cluster/hosted/etcd/enter.js';
import { enterOptions, hostOptions, podOptions, setOptions, shrinkOptions } from '#cluster/hosted/etcd/options.js';
import { etcdPods } from '#cluster/hosted/etcd/pods.js';
import { restoreVolume } from '#cluster/hosted/etcd/restore.js';
import { shrinkEtcd } from '#cluster/hosted/etcd/shrink.js';
import { type RestoreOrder, restoreAttempt, stopForRestore } from '#cluster/hosted/etcd/stop.js';
import { connectHost } from '#cluster/hosted/host-client.js';
import { runSubcommand } from '#cluster/terminal/subcommand.js';
import { OptionsError, type OptionTable, type OptionValues } from '#daemon/options/option.js';

const help = `orch hosted-etcd manages the members of etcd of a control plane that runs in a cluster. The chart's pods and Jobs call it.

Usage:
  orch hosted-etcd enter      let a pod enter the cluster of members, before its etcd starts
  orch hosted-etcd shrink     remove members before their pods stop
  orch hosted-etcd stop       stop the control plane, to restore a backup
  orch hosted-etcd restore    restore a backup into the volume of one member

Help of a command: orch hosted-etcd enter --help
`;

const say = (line: string) => void stdout.write(`${line}\n`);

const orderOptions = {
  set: setOptions.set,
  annotation: {
    type: 'string',
    section: 'Pods',
    meaning: 'Annotation of the StatefulSet with the name of the backup that was restored last.',
  },
  backup: { type: 'string', section: 'Backup', meaning: 'Name of the backup.' },
} as const satisfies OptionTable;

const stopOptions = {
  ...hostOptions,
  ...orderOptions,
  replicas: setOptions.replicas,
  deployments: { type: 'strings', section: 'Pods', meaning: 'Names of the Deployments of the programs.' },
  selector: { type: 'string', section: 'Pods', meaning: 'Label selector of all pods that stop.' },
} as const satisfies OptionTable;

const restoreOptions = {
  ...setOptions,
  ...podOptions,
  ...hostOptions,
  ...orderOptions,
  from: { type: 'string', section: 'Backup', meaning: 'Folder or s3://BUCKET/PREFIX that has the backup.' },
  ...s3Options,
} as const satisfies OptionTable;

/** Throws an OptionsError. */
function orderOf({ set, annotation, backup }: OptionValues<typeof orderOptions>): RestoreOrder {
  if (set === undefined || annotation === undefined || backup === undefined)
    throw new OptionsError(['--set, --annotation and --backup: must be given']);
  return { set, annotation, backup };
}

export async function hostedEtcd(argv: readonly string[]): Promise<number> {
  return runSubcommand('orch hosted-etcd', help, argv, {
    enter: {
      table: enterOptions,
      description: 'Let a pod enter the cluster of members, before its etcd starts.',
      run: async ({ values }) => {
        const stopping = new AbortController();
        for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => stopping.abort());
        await enterEtcd(values, enteringPods(values), { clock: realClock, say, signal: stopping.signal });
        return 0;
      },
    },
    shrink: {
      table: shrinkOptions,
      description: 'Remove members before their pods stop.',
      run: async ({ values }) => {
        const { client, namespace } = await connectHost(values, 'orch hosted-etcd');
        try {
          await shrinkEtcd(values, etcdPods(values), { client, namespace, clock: realClock, say });
        } finally {
          await client.close();
        }
        return 0;
      },
    },
    stop: {
      table: stopOptions,
      description: 'Stop the control plane, to restore a backup.',
      run: async ({ values }) => {
        const { deployments, selector, replicas } = values;
        if (selector === undefined) throw new OptionsError(['--selector: must be given']);
        const order = orderOf(values);
        const { client, namespace } = await connectHost(values, 'orch hosted-etcd');
        try {
          const input = { ...order, deployments, selector, replicas };
          await stopForRestore(input, { client, namespace, clock: realClock, say });
        } finally {
          await client.close();
        }
        return 0;
      },
    },
    restore: {
      table: restoreOptions,
      description: 'Restore a backup into the volume of one member.',
      run: async ({ values }) => {
        const { from, member = '' } = values;
        const ordinal = Number(/-(\d+)$/.exec(member)?.[1] ?? Number.NaN);
        if (from === undefined || Number.isNaN(ordinal)) throw new OptionsError(['--from and --member: must be given']);
        const order = orderOf(values);
        const attempt = await attemptOf(order, values);
        if (attempt === undefined) {
          say(`${order.backup} was restored before`);
          return 0;
        }
        const { backup } = order;
        const work = await mkdtemp(join(tmpdir(), 'restore-'));
        try {
          await restoreVolume({
            ...{ pods: etcdPods(values), ordinal, dataDir: values['data-dir'], backup, attempt, work, say },
            path: env['PATH'] ?? '',
            fetch: (into) => fetchBackup({ place: from, name: backup, into, values, env, clock: realClock }),
          });
        } finally {
          await rm(work, { recursive: true, force: true });
        }
        return 0;
      },
    },
  });
}

async function attemptOf(order: RestoreOrder, values: OptionValues<typeof hostOptions>): Promise<string | undefined> {
  const { client, namespace } = await connectHost(values, 'orch hosted-etcd');
  try {
    return await restoreAttempt(order, { client, namespace });
  } finally {
    await client.close();
  }
}
